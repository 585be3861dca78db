"""Checks of arguments, with messages that name the argument and the given value."""

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeGuard, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from structbo.models.foundation.upstream import Tracer

Choice = TypeVar("Choice")
MAX_SEED = 2**63 - 1


def is_concrete(value: ArrayLike) -> bool:
    """Whether the numbers are concrete, not traced."""
    return not isinstance(value, Tracer)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer of Python or NumPy, not a boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def checked_count(name: str, value: object, *, least: int = 1) -> int:
    """An integer, checked to be at least ``least``.

    Raises:
        ValueError: if it is anything else.

    Example:
        >>> checked_count("n", 3)
        3
    """
    if not is_integer(value) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def checked_bool(name: str, value: object) -> bool:
    """True or False, from Python or NumPy.

    Raises:
        TypeError: if it is anything else.

    Example:
        >>> checked_bool("warp", np.True_)
        True
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def checked_seed(seed: object) -> int:
    """A seed, which JAX holds in 64 bits.

    Raises:
        ValueError: if it is not an integer, negative, or too large.

    Example:
        >>> checked_seed(np.int64(3))
        3
    """
    known = checked_count("seed", seed, least=0)
    if known > MAX_SEED:
        raise ValueError(f"seed must be at most {MAX_SEED}, got {known}.")
    return known


def check_positive(name: str, value: ArrayLike, *, largest: float = np.finfo(float).max) -> None:
    """Checks that numbers are positive, unless they are traced.

    Raises:
        ValueError: if one of them is not positive, or above the maximum.
    """
    if not is_concrete(value):
        return
    try:
        numbers = np.asarray(value, float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {value!r}.") from None
    if not ((numbers > 0.0) & (numbers <= largest)).all():
        kind = "positive" if largest == np.inf else "positive and finite"
        raise ValueError(f"{name} must be {kind}, got {value}.")


def checked_edges(edges: ArrayLike) -> Array:
    """An edge matrix as a boolean array.

    Raises:
        ValueError: if it is not a square matrix, or (unless traced) not a symmetric 0/1 matrix with
            a zero diagonal.
    """
    matrix = jnp.asarray(edges)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"edges must be a matrix of shape (D, D), got shape {matrix.shape}.")
    if is_concrete(matrix):
        known = np.asarray(matrix)
        if not np.isin(known, (0, 1)).all():
            raise ValueError(f"edges must be 0 or 1, got {known}.")
        if (known != known.T).any() or known.diagonal().any():
            raise ValueError(
                "edges must be symmetric, with zeros on the diagonal: an edge matrix has Z[i, j] "
                f"and Z[j, i], as EdgeBernoulli draws them; got {known.astype(int)}."
            )
    return matrix.astype(bool)


def check_vector(name: str, value: Array, size: int | None = None) -> None:
    """Checks the shape of an array of one number per dimension.

    Raises:
        ValueError: if it is not a vector, or not of this size.
    """
    if jnp.ndim(value) != 1 or size not in (None, len(value)):
        shape = f"({'D' if size is None else size},)"
        raise ValueError(f"{name} must have shape {shape}, got {jnp.shape(value)}.")


def check_name(name: str, value: object, known: Collection[str]) -> None:
    """Checks that a name is one of several.

    Raises:
        ValueError: if it is not.
    """
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}.")


def checked_choice(
    name: str, value: Any, known: Mapping[str, Choice], is_instance: bool, example: str
) -> Choice:
    """The entry with a name, or the value itself if it is an instance of the same kind.

    Raises:
        ValueError: if the name is unknown.
        TypeError: if it is neither a name nor an instance.
    """
    if isinstance(value, str) and value in known:
        return known[value]
    if is_instance and not isinstance(value, str | type):
        return value
    error = ValueError if isinstance(value, str) else TypeError
    raise error(
        f"{name} must be one of {', '.join(map(repr, known))}, or an instance such as {example}; "
        f"got {value!r}."
    )


def check_fraction(name: str, value: object) -> None:
    """Checks a number between 0 and 1, both excluded.

    Raises:
        ValueError: if it is anything else.
    """
    if not isinstance(value, int | float | np.number) or not 0.0 < value < 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}.")


def checked_function(name: str, value: Any) -> Callable[..., Any]:
    """Something that can be called.

    Raises:
        TypeError: if it cannot.

    Example:
        >>> checked_function("sampler", max)
        <built-in function max>
    """
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {value!r}.")
    function: Callable[..., Any] = value
    return function


def checked_model(model: Any) -> Any:
    """Something that can be called as a NumPyro model of points and observations.

    Raises:
        TypeError: if it cannot.
    """
    is_model = callable(model) and not isinstance(model, type)
    if is_model:
        try:
            inspect.signature(model).bind("X", "y", mask=None)
        except TypeError:
            is_model = False
    if not is_model:
        raise TypeError(
            "model must be a NumPyro model, model(X, y=None, mask=None), such as AdditiveGP(edges()"
            f"), which makes one of a structure; got {model!r}."
        )
    return model
