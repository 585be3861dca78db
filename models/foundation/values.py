"""Values: objects that compare, hash and print by content.

Models, structures and priors are values, so a new but equal model is the same key in every cache of
compiled programs. NumPyro's distributions and arrays, which do not compare by content themselves,
do so here. Functions, such as a user's structure, compare by identity, and `functools.partial` by
its parts.
"""

import dataclasses
import inspect
import weakref
from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions.constraints import Constraint
from numpyro.distributions.transforms import Transform

from structbo.models.foundation.arguments import is_concrete
from structbo.models.foundation.precision import KeepsPrecision
from structbo.models.foundation.upstream import lazy_property

LARGEST_PRINTED = 8
"""Larger arrays are printed as shapes."""


class Value(KeepsPrecision):
    """Objects that are equal if their attributes are, and that print as their constructor call.

    Attributes must have the names of the constructor's arguments, and must not change.

    Example:
        >>> from structbo.models import AdditiveGP, edges
        >>> AdditiveGP(edges(dist.Beta(1.0, 4.0))) == AdditiveGP(edges(dist.Beta(1.0, 4.0)))
        True
        >>> edges(0.2, max_width=1)
        edges(0.2, max_width=1)
    """

    __slots__ = ("_known",)
    _known: tuple[int, Hashable]  # hash and content, in a slot so that `vars` does not include them

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value) or type(self) is not type(other):
            return NotImplemented
        return self is other or self._hash_and_content() == other._hash_and_content()

    def __hash__(self) -> int:
        return self._hash_and_content()[0]

    def _hash_and_content(self) -> tuple[int, Hashable]:
        """Hash and content, computed once because every call of a compiled function needs them."""
        if not hasattr(self, "_known"):
            own = content(vars(self))
            object.__setattr__(self, "_known", (hash((type(self), own)), own))
        return self._known

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))

    def __repr__(self) -> str:
        return printed_call(self)


class ByContent:
    """Arguments that are equal if they have the same content."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values
        self.content = content(values)
        self._hash = hash(self.content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByContent) and self.content == other.content

    def __hash__(self) -> int:
        return self._hash


class _Same:
    """A stand-in for an unhashable object, which only equals itself."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


def content(value: Any) -> Hashable:
    """A hashable stand-in for a value, equal for equal values.

    Args:
        value: numbers, arrays, distributions, functions, and tuples, lists, mappings and frozen
            dataclasses of such.

    Returns:
        Tuples of the content. Other objects stand for themselves, with their own equality if they
        are hashable, else by identity.

    Example:
        >>> content(dist.Normal(0.0, 1.0)) == content(dist.Normal(0.0, 1.0))
        True
        >>> content(dist.Normal(0.0, 1.0)) == content(dist.Normal(0.0, 2.0))
        False
    """
    if isinstance(value, float | complex):  # by representation, so that nan equals nan
        return type(value), repr(value)
    if is_array(value):
        array = np.asarray(value)
        return np.ndarray, array.dtype.str, array.shape, array.tobytes()
    if isinstance(value, partial):
        return partial, content(value.func), content(value.args), content(value.keywords)
    if isinstance(value, tuple | list):
        return type(value), tuple(map(content, value))
    if isinstance(value, Mapping):
        return type(value), tuple((content(k), content(v)) for k, v in value.items())
    if isinstance(value, dist.Distribution | Constraint | Transform):
        return type(value), tuple(sorted(_attributes(value)))
    if _is_plain_dataclass(value):
        return type(value), tuple(content(getattr(value, f.name)) for f in _fields(value))
    try:
        hash(value)
    except TypeError:
        return _Same(value)
    return type(value), value


def _attributes(value: Any) -> Iterator[tuple[str, Hashable]]:
    """The attributes of a NumPyro object, without lazy properties."""
    for name, attribute in vars(value).items():
        is_computed = isinstance(getattr(type(value), name, None), lazy_property)
        if not is_computed and not isinstance(attribute, weakref.ref | None):
            yield name, content(attribute)


def _is_plain_dataclass(value: object) -> bool:
    """Whether a dataclass compares field by field."""
    settings = getattr(type(value), "__dataclass_params__", None)
    return settings is not None and settings.frozen and settings.eq


def _fields(value: Any) -> tuple["dataclasses.Field[Any]", ...]:
    return tuple(field for field in dataclasses.fields(value) if field.compare)


def printed(value: Any) -> str:
    """The text of an argument in the call that a value prints as.

    Example:
        >>> printed([dist.Beta(1.0, 4.0), np.zeros((9, 9)), np.ones(2), content])
        '[Beta(1.0, 4.0), array(9, 9), [1.0, 1.0], content]'
    """
    if is_array(value):
        array = np.asarray(value)
        return str(array.tolist()) if array.size <= LARGEST_PRINTED else f"array{array.shape}"
    if isinstance(value, dist.Distribution | Transform):
        return printed_call(value, with_defaults=True)
    if isinstance(value, partial):
        keywords = [f"{name}={printed(v)}" for name, v in value.keywords.items()]
        return f"partial({', '.join([*map(printed, (value.func, *value.args)), *keywords])})"
    if type(value) in (tuple, list):
        inside = ", ".join(map(printed, value))
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{printed(k)}: {printed(v)}" for k, v in value.items()) + "}"
    if inspect.isroutine(value) or isinstance(value, type):
        return value.__name__
    return repr(value)


def printed_call(value: Any, *, with_defaults: bool = False) -> str:
    """The constructor call of an object whose attributes have the names of the arguments.

    Args:
        value: an instance of a class.
        with_defaults: whether to include arguments with default values.
    """
    written, is_positional = [], True
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    factories = {f.name: f.default_factory for f in fields if callable(f.default_factory)}
    for parameter in inspect.signature(type(value)).parameters.values():
        made = factories.get(parameter.name)
        default = parameter.default if made is None else made()
        given = getattr(value, parameter.name, default)
        is_default = given is default or content(given) == content(default)
        is_left_out = given is None or (is_default and not with_defaults)
        if is_left_out or default is given is parameter.empty or parameter.name == "validate_args":
            is_positional = False
            continue
        is_positional &= parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        name = "" if is_positional else f"{parameter.name}="
        written.append(name + printed(given))
    return f"{type(value).__name__}({', '.join(written)})"


def is_array(value: object) -> bool:
    """Whether a value is a concrete array or NumPy number."""
    if isinstance(value, jax.Array):
        return is_concrete(value)
    return isinstance(value, np.ndarray | np.generic)
