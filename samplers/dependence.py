"""Which results of a function depend on its argument, by its trace."""

from collections.abc import Callable
from typing import Any

import jax
from jax import Array

from structbo.models.foundation.upstream import Literal


def dependent_outputs(function: Callable[[Array], Any], value: Array) -> Any:
    """Which outputs of a function can depend on its argument.

    The function is traced, not run. An output counts as dependent if any operation on the way to it
    reads the argument, whatever it does with it. One that does not count is constant for certain.

    Args:
        function: traceable; what it closes over is fixed.
        value: an argument, of which only shape and type matter.

    Returns:
        The structure that the function returns, with True in the place of dependent arrays.

    Example:
        >>> import jax.numpy as jnp
        >>> dependent_outputs(lambda x: {"twice": 2 * x, "one": jnp.ones(3)}, jnp.zeros(()))
        {'one': False, 'twice': True}
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(value)
    program = closed.jaxpr
    dependent = set(program.invars)
    for equation in program.eqns:
        if any(not isinstance(v, Literal) and v in dependent for v in equation.invars):
            dependent.update(equation.outvars)
    found = [not isinstance(v, Literal) and v in dependent for v in program.outvars]
    return jax.tree.unflatten(jax.tree.structure(shapes), found)
