"""Checks arrays against the shapes and types of their annotations, in all tests.

To import this module wraps what is imported afterwards of the modules that compute, every function
and dataclass. Annotations of anything but arrays are left to the type checkers.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args, get_origin

import jax
from beartype import BeartypeConf, beartype
from import_graph import ROOMS, files, module_name, room
from jax.tree_util import GetAttrKey
from jaxtyping import AbstractArray, install_import_hook

Class = TypeVar("Class", bound=type)
ROOMS_OF_ARRAYS = ROOMS[: ROOMS.index("plots")]
WARNING = {
    f"structbo.{name}"
    for name in ("posterior.convergence", "posterior.fitting", "space.rows", "space.space")
}
"""They warn at the line of the caller, which a wrapper would hide."""


def arrays_checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a check of the arguments and results that are annotated as arrays."""
    hints = function.__annotations__
    function.__annotations__ = {name: hint for name, hint in hints.items() if _has_arrays(hint)}
    return beartype(conf=BeartypeConf(is_pep484_tower=True))(function)  # an int is a float, too


def _has_arrays(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return True
    return get_origin(hint) is not Callable and any(map(_has_arrays, get_args(hint)))


def register_dataclass(
    nodetype: Class, data_fields: Sequence[str], meta_fields: Sequence[str]
) -> Class:
    """Registers a dataclass that JAX rebuilds without its constructor, which checks shapes.

    JAX rebuilds it from stacked arrays and placeholders too.
    """

    def values(node: Any, fields: Sequence[str]) -> tuple[Any, ...]:
        return tuple(getattr(node, name) for name in fields)

    def flatten(node: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return values(node, data_fields), values(node, meta_fields)

    def flatten_with_keys(node: Any) -> tuple[list[tuple[GetAttrKey, Any]], tuple[Any, ...]]:
        data, meta = flatten(node)
        return list(zip(map(GetAttrKey, data_fields), data, strict=True)), meta

    def unflatten(meta: Sequence[Any], data: Sequence[Any]) -> Any:
        node = object.__new__(nodetype)
        for name, value in zip((*data_fields, *meta_fields), (*data, *meta), strict=True):
            object.__setattr__(node, name, value)
        return node

    jax.tree_util.register_pytree_with_keys(nodetype, flatten_with_keys, unflatten, flatten)
    return nodetype


jax.tree_util.register_dataclass = register_dataclass  # type: ignore[assignment]
modules = {module_name(path) for path in files() if path.name != "__init__.py"}
checked = [name for name in modules - WARNING if room(name) in ROOMS_OF_ARRAYS]
install_import_hook(checked, f"{__name__}.{arrays_checked.__name__}")
