"""Functions that are traced once, with the dependence of their results on the argument."""

from collections.abc import Callable
from itertools import chain
from typing import Any, Generic, TypeVar

import jax
from jax import Array

from structbo.models.foundation.upstream import ClosedJaxpr, Literal, jaxpr_as_fun

Result = TypeVar("Result")


class Traced(Generic[Result]):
    """A function that is traced once for all calls of a program.

    A program evaluates a model in several places: before, inside and after a loop. Each evaluation
    repeats the operations of one trace that depend on the argument. All others are done once, where
    the function is traced: a loop over trajectories does not repeat what follows from the graph.

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

    dependent: Any
    """A pytree like the result, with True for each array that can depend on the argument.

    An output counts as dependent if any operation on its path reads the argument. All other outputs
    are constant.
    """

    def __init__(self, function: Callable[[Array], Result], value: Array) -> None:
        traced, shapes = jax.make_jaxpr(function, return_shape=True)(value)
        self._tree = jax.tree.structure(shapes)
        self._type = value.dtype
        program = traced.jaxpr
        found = set(program.invars)

        def depends(variable: Any) -> bool:
            return not isinstance(variable, Literal) and variable in found

        once, again = [], []
        for equation in program.eqns:
            if any(map(depends, equation.invars)):
                found.update(equation.outvars)
                again.append(equation)
            else:
                once.append(equation)
        self.dependent = jax.tree.unflatten(self._tree, [*map(depends, program.outvars)])
        read = [*chain.from_iterable(e.invars for e in again), *program.outvars]
        fixed = list(
            dict.fromkeys(v for v in read if not isinstance(v, Literal) and v not in found)
        )
        first = program.replace(invars=[], outvars=fixed, eqns=once)
        values = jaxpr_as_fun(ClosedJaxpr(first, traced.consts))()
        self._rest = jaxpr_as_fun(ClosedJaxpr(program.replace(constvars=fixed, eqns=again), values))

    def __call__(self, value: Array) -> Result:
        result: Result = jax.tree.unflatten(self._tree, self._rest(value.astype(self._type)))
        return result
