"""Functions of models, evaluated or compiled once for every value of the model."""

import ctypes
import inspect
import sys
from collections.abc import Callable
from functools import cache, lru_cache, partial, wraps
from typing import Any, ParamSpec, TypeVar

import jax

from structbo.models.values import content

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

FAST_COMPILATION: dict[str, bool | int] = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_backend_optimization_level": 1,
}
"""Programs for processors compile in little more than half of the time, and run as fast. JAX 0.12
has no other way to emit fusions, and does not know the first one."""
NUM_KEPT = 32
"""For how many values a function keeps its results or programs: those used last."""


def remembered(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Remembers the last results of a function, by the content of its positional arguments.

    Unlike in `functools.lru_cache`, models, partial functions and arrays count by their content.

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


def compiled(
    *constants: str,
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Compiles a function, once for every value of its first arguments and shapes of the others.

    Constants are compared by `content`: a fresh but equal model shares the programs of the first.

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
    count = len(constants)

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        if tuple(inspect.signature(function).parameters)[:count] != constants:
            raise TypeError(f"the first arguments of {function.__name__} must be {constants}.")

        @remembered
        def program(*constants: Any) -> Callable[..., Result]:
            return jax.jit(partial(function, *constants), compiler_options=compiler_options())

        @wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            return program(*args[:count])(*args[count:], **kwargs)

        return call

    return decorate


@cache
def compiler_options() -> dict[str, bool | int]:
    """Options for `jax.jit` of large programs: those of `FAST_COMPILATION` that XLA knows.

    Only what is called outside of other compiled functions may have options.
    """
    if jax.default_backend() != "cpu":
        return {}
    return {name: value for name, value in FAST_COMPILATION.items() if _is_option(name, value)}


def _is_option(name: str, value: bool | int) -> bool:
    try:
        jax.jit(lambda x: x, compiler_options={name: value}).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True


class ByContent:
    """Arguments that are equal where they have the same content."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values
        self._content = content(values)
        self._hash = hash(self._content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByContent) and self._content == other._content

    def __hash__(self) -> int:
        return self._hash


def return_freed_memory() -> None:
    """Hands memory that is free, but still the process's, back to the system, where C can.

    To compile takes hundreds of megabytes, which glibc keeps for the next time.
    """
    if sys.platform == "linux" and hasattr(c := ctypes.CDLL(None), "malloc_trim"):
        c.malloc_trim(0)
