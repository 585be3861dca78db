"""Real tasks to maximize: a folder of the data has a ``task.py`` with its bounds and objective."""

from pathlib import Path
from types import ModuleType

import numpy as np
from papers.problems.problem import Problem
from papers.problems.task_module import task_module

FOLDERS = {
    "face cascade": "viola_jones",
    "cosmology": "cosmo_lrg_dr7",
    "kernel ridge": "abalone",
    "matrix completion": "matrix_completion",
}
MINIMIZED = ("matrix_completion",)


def real_task(name: str, data: Path | None) -> Problem:
    """The task with this name.

    Args:
        name: one of `FOLDERS`.
        data: the folder with the folders of all tasks.

    Raises:
        FileNotFoundError: if the folder is not given, or lacks the task.
    """
    module = module_in(FOLDERS[name], data)
    sign = -1.0 if FOLDERS[name] in MINIMIZED else 1.0
    bounds = [(float(low), float(high)) for low, high in module.BOUNDS]
    return Problem(lambda x: sign * float(module.objective(x)), bounds)


def cosmology_among(num_dims: int, seed: int, data: Path | None) -> Problem:
    """The cosmological parameters, mixed with dummy variables (Li et al. 2016, section 5.2).

    Mixed values outside of a parameter's range are moved to its ends.
    """
    task = real_task("cosmology", data)
    low, high = np.transpose(task.bounds)
    mixing = np.random.default_rng([seed, num_dims, 4]).uniform(-0.1, 0.1, (len(low), num_dims))
    mixing += np.eye(len(low), num_dims)

    def function(x: np.ndarray) -> float:
        mixed = np.clip(0.5 + mixing @ (x - 0.5), 0.0, 1.0)
        return float(task.function(low + (high - low) * mixed))

    return Problem(function, [(0.0, 1.0)] * num_dims)


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
