"""Functions that JAX compiles, ahead of their calls if possible.

Tracing a function takes Python, and NumPyro's handlers are global to all threads. Compilation by
XLA takes several times longer without Python: it runs in a background thread while other programs
are traced or an objective is evaluated. A second thread would take more memory and save no time on
few processors, since XLA itself uses threads. A program on disk, see `keep_programs`, needs
neither: the background thread loads it.
"""

from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import cache, update_wrapper
from pathlib import Path
from threading import RLock
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from structbo.models.foundation.background import Background
from structbo.models.foundation.device import platform
from structbo.models.foundation.kept_programs import KeptProgram, file_of_program, write_program
from structbo.models.foundation.precision import is_double

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Options = dict[str, bool | int | str]
OPTIONS: Options = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_backend_optimization_level": 1,
    "xla_cpu_prefer_vector_width": 512,
}
"""XLA options of programs for processors.

The first two save a third to a half of the compilation time; JAX 0.12 does not have the first one.
The third makes processors use 512-bit vectors, if available: a gradient takes a tenth less time.
"""
SERIAL: Options = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"}
"""Additional options for matrices with few rows.

Split among two cores, their operations take a fifth to a third more processor time, without a gain
in wall time.
"""
MAX_SERIAL_ROWS = 512
"""With more rows, two cores take a fifth less time than one."""


one_trace = RLock()
"""Held while a model runs, in Python or under a trace: NumPyro's handlers are global."""


class Kind(NamedTuple):
    """The structure, shapes and types of arguments; equal kinds share a program.

    Args:
        tree: the pytree structure.
        shapes: shapes of the leaves.
        types: types of the leaves.
        static: arguments that are not traced.
        platform: the kind of device.
    """

    tree: Any
    shapes: tuple[tuple[int, ...], ...]
    types: tuple[Any, ...]
    static: tuple[Any, ...]
    platform: str

    @property
    def is_serial(self) -> bool:
        """Whether all matrices of real numbers are too small for several cores."""
        matrices = zip(self.shapes, self.types, strict=True)
        long = [kind for shape, kind in matrices if len(shape) == 2 and shape[0] > MAX_SERIAL_ROWS]
        return not any([jnp.issubdtype(kind, jnp.floating) for kind in long])


class Program(Generic[Parameters, Result]):
    """A function that is compiled once for all arguments of the same shapes and types.

    Arrays of its result have strong types, so that functions of the result compile once too. Only
    functions called outside of other compiled functions can be programs.

    Args:
        function: a function that JAX can trace.
        constants: its first arguments.
        static: positions of later arguments that are not traced.
        made_of: for a nested function, everything that it depends on besides its arguments and the
            sources of this package; None if unknown, in which case it cannot be stored on disk.

    Example:
        >>> double = Program(lambda x: 2.0 * x)
        >>> double.prepare(np.ones(3, "float32"))
        array([0., 0., 0.], dtype=float32)
        >>> double(np.ones(3, "float32")).tolist()
        [2.0, 2.0, 2.0]
    """

    def __init__(
        self,
        function: Callable[..., Result],
        constants: tuple[Any, ...] = (),
        static: tuple[int, ...] = (),
        made_of: tuple[Any, ...] | None = None,
    ) -> None:
        update_wrapper(self, function)
        self._static = static
        self._constants = constants
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._made_of = () if made_of is None and "<locals>" not in self._name else made_of

        def traced(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
            return strongly_typed(function(*constants, *args, **kwargs))

        traced.__name__ = function.__name__
        self._traced = traced
        self._jitted: dict[tuple[str, bool], Any] = {}
        self._called: dict[Kind, Callable[..., Result]] = {}
        self._results: dict[Kind, Result] = {}
        self._pending: dict[Kind, Future[None]] = {}
        self._loaded: dict[Kind, Callable[..., Result]] = {}

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        kind = self._kind(args, kwargs)
        if (called := self._called.get(kind)) is not None:
            return called(*args, **kwargs)
        if kind not in self._pending and self._file(kind) is not None:
            self.prepare(*args, **kwargs)
        if (pending := self._pending.get(kind)) is not None:
            wait([pending])
        with one_trace:
            self._pending.pop(kind, None)
            runs = self._loaded.get(kind) or self._jit(kind.platform, kind.is_serial)
            result = runs(*args, **kwargs)
            self._called[kind] = runs
            return result

    def prepare(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Compiles the function in the background; the first call waits until it is done.

        Args:
            args: the arguments of the call, or zeros of the same shapes and types.

        Returns:
            Zeros in the shapes of its result, from which other programs can be prepared; abstract
            shapes for random keys.
        """
        kind = self._kind(args, kwargs)
        if kind not in self._results:
            self._results[kind] = self._begun(kind, args, kwargs)
        return self._results[kind]

    def _begun(self, kind: Kind, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
        """Zeros in the shapes of the result, after it began to compile what has never run."""
        if kind in self._called:
            return _zeros(self.shapes(*args, **kwargs))
        file = self._file(kind)
        kept = None if file is None else KeptProgram.read(file)
        if kept is not None:
            self._pending[kind] = background().submit(self._load, kind, kept, is_double())
            return _zeros(kept.result)
        with one_trace:
            lowered = self._jit(kind.platform, kind.is_serial).lower(*args, **kwargs)
        self._pending[kind] = background().submit(compile_lowered, lowered, is_double(), file)
        return _zeros(lowered.out_info)

    def _jit(self, platform: str, is_serial: bool) -> Any:
        """The function with the compiler options of such arguments."""
        if (platform, is_serial) not in self._jitted:
            self._jitted[platform, is_serial] = jax.jit(
                self._traced,
                static_argnums=self._static,
                compiler_options=compiler_options(platform, is_serial),
            )
        return self._jitted[platform, is_serial]

    def _kind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Kind:
        leaves, tree = jax.tree.flatten((args, kwargs))
        shapes = tuple([getattr(leaf, "shape", ()) for leaf in leaves])
        types = tuple([getattr(leaf, "dtype", type(leaf)) for leaf in leaves])
        static = tuple([args[i] for i in self._static])
        return Kind(tree, shapes, types, static, platform())

    def _file(self, kind: Kind) -> Path | None:
        """The file of the program for such arguments, or None."""
        if self._made_of is None:
            return None
        named = kind._replace(types=tuple(map(str, kind.types)))
        parts = self._constants, self._made_of, self._static, tuple(named)
        options = compiler_options(kind.platform, kind.is_serial)
        return file_of_program(self._name, *parts, options)

    def _load(self, kind: Kind, kept: KeptProgram, is_double: bool) -> None:
        """Loads a program; if this fails, the call compiles it."""
        with jax.enable_x64(is_double):
            program = kept.load(kind.platform)

        def run(*args: Any, **kwargs: Any) -> Result:
            traced = [arg for i, arg in enumerate(args) if i not in self._static]
            result: Result = program(*traced, **kwargs)
            return result

        self._loaded[kind] = run

    def shapes(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
        """The shapes and types of the result, without compilation."""
        with one_trace:
            return self._jit(platform(), True).eval_shape(*args, **kwargs)


def strongly_typed(tree: Any) -> Any:
    """The tree with strong array types, which arithmetic preserves; traceable."""

    def strong(leaf: jax.Array) -> jax.Array:
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return leaf if is_key else jax.lax.convert_element_type(leaf, leaf.dtype)

    return jax.tree.map(strong, jax.tree.map(jnp.asarray, tree))


def _zeros(shapes: Any) -> Any:
    def zeros(leaf: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct | np.ndarray:
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return leaf if is_key else np.zeros(leaf.shape, leaf.dtype)

    return jax.tree.map(zeros, shapes)


def compile_lowered(lowered: jax.stages.Lowered, is_double: bool, file: Path | None) -> None:
    """Fills the cache of the function, for its next call, and the file."""
    with jax.enable_x64(is_double):
        if file is None:
            lowered.compile()
        else:
            write_program(file, lowered)


@cache
def background() -> Background:
    return Background("structbo compiles")


@cache
def compiler_options(platform: str = "cpu", is_serial: bool = True) -> Options:
    """Options for `jax.jit` of large programs: entries of `OPTIONS` and `SERIAL` that XLA has."""
    if platform != "cpu":
        return {}
    wanted = {**OPTIONS, **(SERIAL if is_serial else {})}
    return {name: value for name, value in wanted.items() if _is_option(name, value)}


@cache
def _is_option(name: str, value: bool | int | str) -> bool:
    try:
        with jax.default_device(jax.devices("cpu")[0]):
            jax.jit(lambda x: x, compiler_options={name: value}).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
