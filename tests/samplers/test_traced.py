"""Functions that are traced once, see `structbo.samplers.traced`."""

import jax
import jax.numpy as jnp
import numpy as np

from structbo.samplers.traced import Traced


def primitives(jaxpr: jax.extend.core.Jaxpr) -> set[str]:
    return {equation.primitive.name for equation in jaxpr.eqns}


def test_a_loop_does_not_repeat_what_is_fixed():
    """The sum of the fixed numbers is outside of the loop, the sine of the argument inside."""

    def loop(fixed, start):
        evaluated = Traced(lambda x: jnp.sin(x) + jax.lax.cumsum(fixed)[-1], start)
        return jax.lax.while_loop(lambda x: x < 10.0, lambda x: x + evaluated(x), start)

    program = jax.make_jaxpr(loop)(jnp.arange(3.0), jnp.array(0.0)).jaxpr
    (inside,) = (e.params["body_jaxpr"] for e in program.eqns if e.primitive.name == "while")
    assert "cumsum" in primitives(program) and "sin" in primitives(inside.jaxpr)
    assert "cumsum" not in primitives(inside.jaxpr)
    assert float(jax.jit(loop)(jnp.arange(3.0), jnp.array(0.0))) >= 10.0


def test_results_and_gradients_are_the_functions_own():
    """Also outputs that are the argument, a fixed value, or given twice."""
    fixed = jnp.array([1.0, 2.0])

    def function(x):
        twice = 2.0 * fixed
        return {"argument": x, "fixed": fixed, "both": x * twice, "again": twice, "one": 1.0}

    traced = Traced(function, jnp.zeros(2))
    x = jnp.array([3.0, -1.0])
    jax.tree.map(np.testing.assert_array_equal, traced(x), function(x))
    assert traced.dependent == {
        "argument": True, "fixed": False, "both": True, "again": False, "one": False,
    }  # fmt: skip
    gradient = jax.jit(jax.grad(lambda x: traced(x)["both"].sum()))(x)
    np.testing.assert_array_equal(gradient, [2.0, 4.0])
