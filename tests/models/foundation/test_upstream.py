"""Expected behavior of private names of JAX and NumPyro."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import HMC

from structbo.models.foundation import upstream

ROOT = Path(__file__).parents[3]
MODULES = (
    r"(from|import) (numpyro\.(infer\.gibbs|distributions\.util|primitives)"
    r"|jax\.(core|extend\.core))"
)


def model(x, y=None):
    a = numpyro.sample("a", dist.Normal())
    numpyro.sample("y", dist.Normal(a, 1.0), obs=x if y is None else y)


def test_values_of_traces():
    program = jax.make_jaxpr(lambda x: (x + 1.0, 2.0))(0.0).jaxpr
    assert [isinstance(v, upstream.Literal) for v in program.outvars] == [False, True]
    jax.jit(lambda x: check(isinstance(x, upstream.Tracer)))(0.0)
    assert not isinstance(jnp.zeros(1), upstream.Tracer)


def test_traces_can_be_divided():
    """The first operation alone, and the others given its result."""
    program = jax.make_jaxpr(lambda x: jnp.sin(x) + 1.0)(0.0).jaxpr
    first, *others = program.eqns
    one = program.replace(outvars=first.outvars, eqns=[first])
    (sine,) = upstream.jaxpr_as_fun(upstream.ClosedJaxpr(one, ()))(0.5)
    rest = program.replace(constvars=first.outvars, invars=[], eqns=others)
    (total,) = upstream.jaxpr_as_fun(upstream.ClosedJaxpr(rest, [sine]))()
    assert float(total) == float(jnp.sin(0.5) + 1.0)


def check(is_true: bool) -> None:
    assert is_true


def test_runs_of_models():
    trace = upstream.prototype_trace(model, jax.random.key(0), (1.0,), None)
    assert list(trace) == ["a", "y"]
    assert list(upstream.latent_sample_sites(trace)) == ["a"]


def test_conditioning_of_blocks():
    """`Gibbs` wraps the model of a block, so that it reads conditioned values from arguments."""
    kernel = numpyro.infer.Gibbs([(HMC(model), ["a"])])
    state = kernel.init(jax.random.key(0), 1, {"a": jnp.array(0.5)}, (1.0,), {})
    assert set(state.z) == {"a"}
    assert set(upstream.with_conditioning({"y": 1.0}, {"a": 0.5})) > {"y"}


def test_distributions_and_handlers():
    assert isinstance(vars(dist.MultivariateNormal)["covariance_matrix"], upstream.lazy_property)
    assert issubclass(numpyro.handlers.seed, upstream.Messenger)

    class Positive(dist.Normal):
        support = dist.constraints.positive
        log_prob = upstream.validate_sample(dist.Normal.log_prob)

    with pytest.warns(UserWarning, match="Out-of-support"):
        Positive(0.0, 1.0, validate_args=True).log_prob(-1.0)


def test_no_other_file_imports_them():
    files = [
        p for floor in ("models", "samplers", "structbo") for p in (ROOT / floor).rglob("*.py")
    ]
    found = [p.name for p in files if re.search(f"^{MODULES}", p.read_text(), re.MULTILINE)]
    assert found == ["upstream.py"]
