"""Checks arrays against the shapes and types of their annotations, in all tests.

This module wraps the modules that compute and are imported after it: every function, dataclass and
named tuple with arrays. All other annotations are left to the type checkers.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args, get_origin

import jax
import jaxtyping
from beartype import BeartypeConf, beartype
from import_graph import ROOMS, files, module_name, room
from jax.tree_util import GetAttrKey
from jaxtyping import AbstractArray, install_import_hook, jaxtyped

Class = TypeVar("Class", bound=type)
ROOMS_OF_ARRAYS = ROOMS[: ROOMS.index("plots")]


def arrays_checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a check of the arguments and results that are annotated as arrays."""
    hints = function.__annotations__
    function.__annotations__ = {name: hint for name, hint in hints.items() if _has_arrays(hint)}
    return beartype(conf=BeartypeConf(is_pep484_tower=True))(function)  # an int is a float, too


def _has_arrays(hint: Any) -> bool:
    """Whether an annotation contains arrays; a function's arguments and results do not count."""
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return True
    parts = get_args(hint)
    # The arguments of a `Program` are a tuple.
    is_function = get_origin(hint) is Callable or any(isinstance(part, tuple) for part in parts)
    return not is_function and any(map(_has_arrays, parts))


def where_arrays(*, typechecker: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorates as `jaxtyping.jaxtyped` does, and named tuples too, but no function without arrays.

    A wrapper would hide the line of the caller from functions that warn there.
    """
    check = jaxtyped(typechecker=typechecker)

    def decorated(made: Any) -> Any:
        is_named_tuple = hasattr(made, "_fields")
        is_class = isinstance(made, type)
        function = made.__new__ if is_named_tuple else made.__init__ if is_class else made
        if not any(map(_has_arrays, getattr(function, "__annotations__", {}).values())):
            return made
        return checked_named_tuple(made, check) if is_named_tuple else check(made)

    return decorated


def checked_named_tuple(kind: Any, check: Callable[[Any], Any]) -> Any:
    """The named tuple with checks, which JAX rebuilds without them, as it does dataclasses."""
    kind.__new__ = check(kind.__new__)
    kind._replace = lambda self, **changes: kind(**(self._asdict() | changes))
    jax.tree_util.register_pytree_with_keys(
        kind,
        lambda node: (tuple(zip(map(GetAttrKey, kind._fields), node, strict=True)), None),
        lambda _, values: tuple.__new__(kind, values),
    )
    return kind


def register_dataclass(
    nodetype: Class, data_fields: Sequence[str], meta_fields: Sequence[str]
) -> Class:
    """Registers a dataclass that JAX rebuilds without its constructor, which checks shapes.

    JAX rebuilds it from stacked arrays and placeholders too.
    """

    def flatten(node: Any) -> tuple[list[tuple[GetAttrKey, Any]], tuple[Any, ...]]:
        data = [(GetAttrKey(name), getattr(node, name)) for name in data_fields]
        return data, tuple(getattr(node, name) for name in meta_fields)

    def unflatten(meta: Sequence[Any], data: Sequence[Any]) -> Any:
        node = object.__new__(nodetype)
        for name, value in zip((*data_fields, *meta_fields), (*data, *meta), strict=True):
            object.__setattr__(node, name, value)
        return node

    jax.tree_util.register_pytree_with_keys(nodetype, flatten, unflatten)
    return nodetype


jax.tree_util.register_dataclass = register_dataclass  # type: ignore[assignment]
jaxtyping.jaxtyped = where_arrays  # type: ignore[assignment]
modules = {module_name(path) for path in files() if path.name != "__init__.py"}
checked = [name for name in modules if room(name) in ROOMS_OF_ARRAYS]
install_import_hook(checked, f"{__name__}.{arrays_checked.__name__}")
