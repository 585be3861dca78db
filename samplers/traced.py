"""Functions that are traced once, with the dependence of their results on the argument."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import jax
from jax import Array

from structbo.models.foundation.upstream import Literal, jaxpr_as_fun

Result = TypeVar("Result")


class Traced(Generic[Result]):
    """A function that is traced once for all calls of a program.

    A program evaluates a model in several places: before, inside and after a loop. Each evaluation
    repeats the operations of one trace.

    Args:
        function: a JAX function from an array to a pytree. Values that it closes over are fixed.
        value: an example argument; only its shape and type matter.

    Example:
        >>> import jax.numpy as jnp
        >>> both = Traced(lambda x: {"twice": 2.0 * x, "one": jnp.ones(())}, jnp.zeros(()))
        >>> float(both(jnp.array(3.0))["twice"])
        6.0
        >>> both.dependent
        {'one': False, 'twice': True}
    """

    def __init__(self, function: Callable[[Array], Result], value: Array) -> None:
        self._jaxpr, shapes = jax.make_jaxpr(function, return_shape=True)(value)
        self._tree = jax.tree.structure(shapes)
        self._type = value.dtype

    def __call__(self, value: Array) -> Result:
        outputs = jaxpr_as_fun(self._jaxpr)(value.astype(self._type))
        result: Result = jax.tree.unflatten(self._tree, outputs)
        return result

    @property
    def dependent(self) -> Any:
        """A pytree like the result, with True for each array that can depend on the argument.

        An output counts as dependent if any operation on its path reads the argument. All other
        outputs are constant.
        """
        program = self._jaxpr.jaxpr
        dependent = set(program.invars)
        for equation in program.eqns:
            if any(not isinstance(v, Literal) and v in dependent for v in equation.invars):
                dependent.update(equation.outvars)
        found = [not isinstance(v, Literal) and v in dependent for v in program.outvars]
        return jax.tree.unflatten(self._tree, found)
