"""Real tasks to maximize: a folder of the data has a ``task.py`` with its bounds and objective."""

from pathlib import Path
from types import ModuleType

from benchmarks.task_module import task_module
from papers.problem import Problem

FOLDERS = {
    "face cascade": "viola_jones",
    "cosmology": "cosmo_lrg_dr7",
    "matrix completion": "matrix_completion",
}
MINIMIZED = ("matrix completion",)


def real_task(name: str, data: Path | None) -> Problem:
    """The task with this name.

    Args:
        name: one of `FOLDERS`.
        data: the folder with the folders of all tasks.

    Raises:
        FileNotFoundError: if the folder is not given, or lacks the task.
    """
    module = module_in(FOLDERS[name], data)
    sign = -1.0 if name in MINIMIZED else 1.0
    bounds = [(float(low), float(high)) for low, high in module.BOUNDS]
    return Problem(lambda x: sign * float(module.objective(x)), bounds)


def module_in(folder: str, data: Path | None) -> ModuleType:
    """The module ``task.py`` of a folder of the data.

    Args:
        folder: name of the task's folder.
        data: the folder with the folders of all tasks.

    Raises:
        FileNotFoundError: if the folder is not given, or lacks the task.
    """
    if data is None or not (data / folder / "task.py").exists():
        raise FileNotFoundError(
            f"The task needs {folder}/task.py in the folder of the data, got --data {data}."
        )
    return task_module(data / folder)
