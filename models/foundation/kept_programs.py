"""Compiled programs on disk, for the next process.

JAX's persistent cache saves the work of XLA, but Python still traces every program to find it in
the cache. Programs of this package are therefore stored a second time, under names that do not need
tracing: the contents of their parts. Each combination of installed versions has its own folder.
"""

import hashlib
import importlib.util
import logging
import os
import pickle
import platform
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jaxlib
import numpy as np
import numpyro

from structbo.models.foundation.precision import is_double
from structbo.models.foundation.upstream import deserialize_and_load, reset_cache, serialize
from structbo.models.foundation.values import ByContent, Value, content

PRIVATE = 0o700
PACKAGES = ("structbo", "structbo.models", "structbo.samplers")
"""Packages whose sources determine programs."""
INSTALLED = {"structbo", "jax", "jaxlib", "numpyro", "numpy", *sys.stdlib_module_names}
"""Packages whose functions are identified by name and version; user code may change at any time."""
_logger = logging.getLogger(__name__)
_folder: Path | None = None


def keep_programs(folder: str | os.PathLike[str] = "~/.cache/structbo") -> None:
    """Stores the programs that JAX compiles in a folder, and loads them from there.

    The folder is JAX's persistent cache, for the programs of all libraries. Programs of this
    package are stored beside it and are not traced again, unless they use your own functions. JAX
    runs any program in the folder, so nobody else may have access to it. Programs of older versions
    stay; the folder can be deleted at any time.

    Args:
        folder: path of the folder, which is created if missing.

    Raises:
        NotADirectoryError: if it is a file.
        PermissionError: if it belongs to another user, or others may read or write it.

    Example:
        >>> keep_programs("/etc/passwd/programs")
        Traceback (most recent call last):
        NotADirectoryError: [Errno 20] Not a directory: '/etc/passwd/programs'
    """
    global _folder
    path = Path(folder).expanduser().resolve()
    path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    if os.name == "posix":
        _check_private(path)
    _folder = path / _version()
    _folder.mkdir(mode=PRIVATE, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(_folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    reset_cache()


def _check_private(path: Path) -> None:
    found = path.stat()
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid != os.getuid() or mode & ~PRIVATE:
        raise PermissionError(
            f"the folder {path} of compiled programs must be yours alone, since JAX runs what lies "
            f"in it; its owner is user {found.st_uid}, its mode {mode:o}. Make it private (chmod "
            "700) if you trust what it holds, or give another folder."
        )


class _Hits(threading.local):
    """The number of programs that a thread has read from JAX's cache."""

    number = 0

    def count(self, event: str, **_: Any) -> None:
        self.number += event.endswith("compilation_cache/cache_hits")


_hits_of_thread = _Hits()
jax.monitoring.register_event_listener(_hits_of_thread.count)


class KeptProgram(NamedTuple):
    """A program compiled by an earlier process.

    Args:
        result: the shapes and types of its result.
        load: makes it callable on a kind of device, within a few tenths of a second.
    """

    result: Any
    load: Callable[[str], Callable[..., Any]]

    @classmethod
    def read(cls, path: Path) -> "KeptProgram | None":
        """The program in a file; None if the file is missing or unreadable."""
        try:
            with path.open("rb") as file:
                trees, leaves = pickle.load(file)
                start = file.tell()
        except FileNotFoundError:
            return None
        except Exception:  # a broken file may raise anything
            _discard(path)
            return None

        def load(platform: str) -> Callable[..., Any]:
            _find_linear_algebra()
            with path.open("rb") as file:
                file.seek(start)
                executable = file.read()
            try:
                loaded: Callable[..., Any] = deserialize_and_load(
                    executable, *trees, backend=platform
                )
            except Exception:
                _discard(path)
                raise
            _logger.debug("%s is taken from the programs that are kept", path.name)
            return loaded

        return cls(jax.tree.unflatten(trees[1], leaves), load)


def _discard(path: Path) -> None:
    """Removes a broken file, so that the next process does not try it again."""
    _logger.warning("%s is broken: the program is compiled", path)
    path.unlink(missing_ok=True)


@cache
def _find_linear_algebra() -> None:
    """Makes JAX find LAPACK, as on lowering a call; loading a program does not."""
    jax.jit(jax.lax.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), "float32"))


def write_program(path: Path, lowered: jax.stages.Lowered) -> None:
    """Compiles a program and stores it in a file, which appears when it is complete.

    Programs in JAX's cache stay there: a program read from the cache cannot be written again.

    Args:
        path: the file.
        lowered: the program.
    """
    before = _hits_of_thread.number
    compiled, result = lowered.compile(), lowered.out_info
    if _hits_of_thread.number > before:
        return
    executable, *trees = serialize(compiled)
    leaves = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(result)]
    described = pickle.dumps((tuple(trees), leaves))
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(described + executable)
    os.replace(file.name, path)


def file_of_program(name: str, *parts: Any) -> Path | None:
    """The file of a stored program.

    Args:
        name: name of the function, with its module.
        parts: everything else that the program depends on, except for installed packages, settings
            of JAX and the processor, which are always included.

    Returns:
        The file, which need not exist; None if programs are not stored, or a part has no name in
        other processes, such as a user's function.
    """
    if _folder is None or not _is_installed(name):
        return None
    settings = sorted((k, str(v)) for k, v in jax.config.values.items() if "cache" not in k)
    try:
        named = settings, os.environ.get("XLA_FLAGS"), is_double(), name, name_of(parts)
    except Unnamed as reason:
        _logger.debug("%s is not kept: %s", name, reason)
        return None
    return _folder / f"structbo-{hashlib.sha256(repr(named).encode()).hexdigest()}"


class Unnamed(ValueError):
    """An object that another process cannot identify."""


def name_of(value: Any) -> Any:
    """The name of a value in all processes: tuples of strings, bytes and integers.

    Args:
        value: any value that `content` supports, and JAX pytree definitions.

    Raises:
        Unnamed: if it holds a function or class outside of the installed packages, or an object
            that only equals itself.

    Example:
        >>> name_of([1.5, np.arange(2)])  # doctest: +ELLIPSIS
        ('builtins.list', (('builtins.float', '1.5'), ('numpy.ndarray', '<i8', (2,), b'...')))
    """
    return _name(content(value))


def _name(known: Any) -> Any:
    """The name of a content."""
    if known is None or type(known) in (str, bytes, int, bool):
        return known
    if type(known) is tuple:
        return tuple(map(_name, known))
    if isinstance(known, Value):
        return _qualified(type(known)), name_of(vars(known))
    if isinstance(known, ByContent):
        return _name(known.content)
    if hasattr(known, "__qualname__"):
        return _qualified(known)
    if isinstance(known, jax.tree_util.PyTreeDef):
        node = known.node_data()
        return node and (*map(name_of, node), *map(name_of, known.children()))
    if isinstance(known, np.dtype):
        return str(known)
    raise Unnamed(f"{known!r} is not known by its content.")


def _qualified(value: Any) -> str:
    """The name by which a class or function of an installed package is found."""
    module, name = value.__module__, value.__qualname__
    if module is None or not _is_installed(module) or "<" in name:
        raise Unnamed(f"{value!r} is not of an installed package.")
    return f"{module}.{name}"


def _is_installed(name: str) -> bool:
    return name.split(".")[0] in INSTALLED


@cache
def _version() -> str:
    """A hash of the sources, the installed versions and the processor."""
    sources = hashlib.sha256()
    for path in sorted(_sources()):
        sources.update(path.read_bytes())
    versions = [module.__version__ for module in (jax, jaxlib, numpyro, np)]
    sources.update(repr((sys.version, versions, _processor())).encode())
    return sources.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        for folder in (found and found.submodule_search_locations) or []:
            yield from Path(folder).rglob("*.py")


def _processor() -> tuple[str, str]:
    """The kind of processor, and its features if the system reports them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return platform.machine(), features or platform.processor()
