"""Compiled programs on disk, for the next process."""

import os
import stat
from pathlib import Path

import jax

from structbo.models.upstream import reset_cache

PRIVATE = 0o700


def keep_programs(folder: str | os.PathLike[str] = "~/.cache/structbo") -> None:
    """Keeps what JAX compiles from now on in a folder, and reads from there what it has.

    It is JAX's persistent cache, for all its programs, also those of other libraries. JAX runs
    whatever lies in the folder: nobody else may have access to it.

    Args:
        folder: where to; made if it does not exist.

    Raises:
        NotADirectoryError: if it is a file.
        PermissionError: if it belongs to somebody else, or others may read or write it.

    Example:
        >>> keep_programs("/etc/passwd/programs")
        Traceback (most recent call last):
        NotADirectoryError: [Errno 20] Not a directory: '/etc/passwd/programs'
    """
    path = Path(folder).expanduser().resolve()
    path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    if os.name == "posix":
        _check_private(path)
    jax.config.update("jax_compilation_cache_dir", str(path))
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
