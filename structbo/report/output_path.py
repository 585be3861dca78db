"""Paths of files that are written at the end of long computations."""

from pathlib import Path


def checked_output(path: str | Path) -> Path:
    """A path at which a file can be made.

    Args:
        path: of a file, which need not exist.

    Returns:
        The path.

    Raises:
        OSError: if there is no such folder, or a folder has the name of the file.

    Example:
        >>> checked_output("report.html").name
        'report.html'
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: there is no folder {path.parent}; create it, or choose "
            "another path."
        )
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: add the name of a file.")
    return path
