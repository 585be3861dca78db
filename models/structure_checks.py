"""Checks of what a structure samples and returns, whenever a model runs or is traced.

They run while shapes, and untraced values, are known, and are not compiled. An error names the
structure, what it returned, and what to do.
"""

import inspect
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array
from jax.errors import (
    ConcretizationTypeError,
    NonConcreteBooleanIndexError,
    TracerArrayConversionError,
    TracerIntegerConversionError,
)
from jaxtyping import Bool, Float

from structbo.models.decomposition import Decomposition, Structure
from structbo.models.foundation.arguments import checked_count, is_concrete
from structbo.models.foundation.upstream import Messenger
from structbo.models.foundation.values import Value

VALUE_IS_TRACED = (
    ConcretizationTypeError,
    NonConcreteBooleanIndexError,
    TracerArrayConversionError,
    TracerIntegerConversionError,
)
"""Errors of JAX if Python needs the value of a traced array."""
WHAT_TO_RETURN = (
    "A structure returns a Decomposition: pairs(Z) or cliques(Z) of an edge matrix, blocks(labels) "
    "of a partition, subset(active) of an active set, or Decomposition.of(members) of any "
    "components."
)


def check_structure(structure: object) -> None:
    """Checks that an object can be called as a structure.

    Raises:
        TypeError: if it is not a function of one argument.
    """
    takes_one = callable(structure)
    if takes_one:
        try:
            inspect.signature(structure).bind(2)  # type: ignore[arg-type]
        except TypeError:
            takes_one = False
        except ValueError:  # a callable without a signature
            pass
    if not takes_one:
        raise TypeError(
            "structure must be a function of one argument, the number of dimensions, such as "
            f"edges() or one of your own; got {_described(structure)}. {WHAT_TO_RETURN}"
        )


def run_structure(
    structure: Structure, num_dims: int, taken: Collection[str] = ()
) -> Decomposition:
    """Calls a structure and checks what it samples and returns.

    Args:
        structure: the function.
        num_dims: the number of dimensions D, its argument.
        taken: names of sites that the structure may not use.

    Returns:
        Its decomposition.

    Raises:
        TypeError: if it returns anything else, or uses the value of a traced array in Python.
        ValueError: if the decomposition does not have D dimensions or is inconsistent, or a site
            has a taken name. Errors raised by the structure get a note with its name.
    """
    try:
        with _NoSites(taken):
            returned = structure(num_dims)
    except VALUE_IS_TRACED as error:
        raise TypeError(
            f"{_name(structure)} asks for the value of a random variable, by Python's if, while, "
            "int(), an index or the like, but values are not known when the model is compiled. Use "
            "jnp.where, jax.lax.cond or arithmetic instead; shapes may not depend on the value."
        ) from error
    except Exception as error:
        error.add_note(f"Raised in {_name(structure)}, called with num_dims = {num_dims}.")
        raise
    if not isinstance(returned, Decomposition):
        raise TypeError(f"{_name(structure)} returned {_described(returned)}. {WHAT_TO_RETURN}")
    try:
        return _checked(returned, num_dims)
    except ValueError as error:
        raise ValueError(f"{_name(structure)} returned {error}") from None


class _NoSites(Messenger):
    """Rejects sites with taken names, before outer handlers change the names."""

    def __init__(self, taken: Collection[str]) -> None:
        super().__init__()
        self._taken = taken

    def process_message(self, msg: dict[str, Any]) -> None:
        if msg.get("name") in self._taken:
            raise ValueError(
                f"the site {msg['name']!r} is one of the model's own: give the site of the "
                "structure another name."
            )


def _checked(returned: Decomposition, num_dims: int) -> Decomposition:
    """The decomposition with JAX arrays; messages continue after "returned"."""
    members, weights, valid = map(jnp.asarray, (returned.members, returned.weights, returned.valid))
    if members.ndim != 2 or members.dtype != bool or len(members) == 0:
        raise ValueError(
            f"members that are {_described(members)}: they must be bool, of shape (C, D), one row "
            "for each component; members.astype(bool) makes them so."
        )
    if weights.shape != members.shape[:1] or not jnp.isrealobj(weights):
        raise ValueError(
            f"weights that are {_described(weights)}: they must be real numbers, one for each of "
            f"the {len(members)} rows of members."
        )
    for name, value in (("valid", valid), ("is_complete", returned.is_complete)):
        if value is not None and (jnp.shape(value) != () or jnp.asarray(value).dtype != bool):
            raise ValueError(
                f"{name} that is {_described(value)}: it must be one truth value; jnp.all(...) "
                "makes one of several."
            )
    if returned.max_size is not None:
        checked_count("max_size", returned.max_size)
    _check_dimensions(members.shape[1], returned.projection, num_dims)
    if is_concrete(members) and is_concrete(weights):
        _check_table(np.asarray(members), np.asarray(weights))
    return replace(returned, members=members, weights=weights.astype(float), valid=valid)


def _check_dimensions(num_members: int, projection: Array | None, num_dims: int) -> None:
    if projection is None:
        if num_members != num_dims:
            raise ValueError(
                f"components over {num_members} dimensions where there are {num_dims}: make what "
                "it samples for num_dims, the argument of the structure."
            )
    elif jnp.shape(projection) != (num_dims, num_members):
        raise ValueError(
            f"a projection of shape {jnp.shape(projection)}: it must have a row for each of the "
            f"{num_dims} dimensions and a column for each of the {num_members} dimensions of the "
            "components."
        )
    elif is_concrete(projection) and not np.isfinite(projection).all():
        raise ValueError("a projection with elements that are not finite.")


def _check_table(members: Bool[np.ndarray, "C P"], weights: Float[np.ndarray, " C"]) -> None:
    has_members = members.any(1)
    used = weights[has_members] if has_members.any() else weights[:1]
    if not (np.isfinite(used).all() and (used >= 0.0).all() and used.sum() > 0.0):
        raise ValueError(
            f"the weights {weights}: they are relative variances, which must be finite, not "
            "negative, and not all zero."
        )


def _name(structure: Callable[..., Any]) -> str:
    """The name of a structure and the place where it is defined."""
    if isinstance(structure, Value):
        return f"the structure {structure!r}"
    function: Any = structure
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(function, "__code__", None)
    place = "" if code is None else f" ({Path(code.co_filename).name}:{code.co_firstlineno})"
    return f"the structure {name}{place}"


def _described(value: object) -> str:
    """A short description of a value."""
    if value is None:
        return "None; is a return statement missing?"
    if isinstance(value, jax.Array | np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    if isinstance(value, dist.Distribution):
        return f"the distribution {type(value).__name__}; numpyro.sample draws from it"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    if callable(value) and isinstance(value, Value):
        return f"{value!r}; is a call missing?"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"the function {value.__qualname__}; is a call missing?"
    return repr(value) if isinstance(value, str | float) else f"a {type(value).__name__}"
