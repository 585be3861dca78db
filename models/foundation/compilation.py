"""Functions of models, evaluated or compiled once for every value of the model."""

import ctypes
import inspect
import sys
from collections.abc import Callable
from functools import cache, lru_cache, update_wrapper, wraps
from typing import Any, Generic, ParamSpec, TypeVar

from structbo.models.foundation.program import Program
from structbo.models.foundation.values import ByContent

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

NUM_KEPT = 32
"""Number of values for which a function keeps results or programs, the most recently used ones."""


def remembered(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Remembers the last results of a function, by the content of its positional arguments.

    Unlike in `functools.lru_cache`, models, partial functions and arrays compare by content.

    Example:
        >>> import numpyro.distributions as dist
        >>> kept = remembered(lambda prior: object())
        >>> kept(dist.Normal(0.0, 1.0)) is kept(dist.Normal(0.0, 1.0))
        True
    """

    evaluated: Callable[..., Result] = function

    @lru_cache(maxsize=NUM_KEPT)
    def result(arguments: ByContent) -> Result:
        return evaluated(*arguments.values)

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if kwargs:
            raise TypeError(f"{function.__name__} takes positional arguments, got {[*kwargs]}.")
        return result(ByContent(args))

    return call


class Compiled(Generic[Parameters, Result]):
    """A function with one program per value of its first arguments, of which it keeps the last.

    Args:
        function: a function of positional arguments.
        num_constants: number of first arguments that are not traced.
    """

    def __init__(self, function: Callable[Parameters, Result], num_constants: int) -> None:
        update_wrapper(self, function)
        self._num_constants = num_constants

        def program(*constants: Any) -> Program[..., Result]:
            return Program(function, constants)

        self._program = remembered(program) if num_constants else cache(program)

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        count = self._num_constants
        return self._program(*args[:count])(*args[count:], **kwargs)

    def prepare(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Compiles a program in the background, see `Program.prepare`."""
        count = self._num_constants
        return self._program(*args[:count]).prepare(*args[count:], **kwargs)


def compiled(
    *constants: str,
) -> Callable[[Callable[Parameters, Result]], Compiled[Parameters, Result]]:
    """Compiles a function, once for every value of its first arguments and shapes of the others.

    Constants compare by `content`: a new but equal model shares the programs of the first one.

    Args:
        constants: names of the first arguments, which are not traced, such as the model.

    Returns:
        A decorator. The function's other arguments are traced, and all of them are positional.

    Example:
        >>> import numpyro.distributions as dist
        >>> @compiled("prior")
        ... def density(prior, x):
        ...     print("compiles")
        ...     return prior.log_prob(x)
        >>> round(float(density(dist.Normal(0.0, 1.0), 0.0)), 3)
        compiles
        -0.919
        >>> round(float(density(dist.Normal(0.0, 1.0), 1.0)), 3)
        -1.419
    """

    def decorate(function: Callable[Parameters, Result]) -> Compiled[Parameters, Result]:
        if tuple(inspect.signature(function).parameters)[: len(constants)] != constants:
            raise TypeError(f"the first arguments of {function.__name__} must be {constants}.")
        return Compiled(function, len(constants))

    return decorate


def return_freed_memory() -> None:
    """Returns freed memory of the process to the system, if the C library can.

    Compilation takes hundreds of megabytes, which glibc keeps for later use.
    """
    if sys.platform == "linux" and hasattr(c := ctypes.CDLL(None), "malloc_trim"):
        c.malloc_trim(0)
