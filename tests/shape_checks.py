"""Checks arrays against the shapes and types of their annotations, in all tests.

To import this module wraps what is imported of the package afterwards, every function and
dataclass. Annotations of anything but arrays are left to the type checkers.
"""

from collections.abc import Callable
from typing import Any, get_args

from beartype import beartype
from jaxtyping import AbstractArray, install_import_hook


def arrays_checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a check of the arguments and results that are annotated as arrays."""
    hints = function.__annotations__
    function.__annotations__ = {name: hint for name, hint in hints.items() if _has_arrays(hint)}
    return beartype(function)


def _has_arrays(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return True
    return any(map(_has_arrays, get_args(hint)))


install_import_hook("structbo", f"{__name__}.{arrays_checked.__name__}")
