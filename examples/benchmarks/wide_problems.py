"""The problems of wide.py by half, family and name."""

import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from papers.problems import functions
from papers.problems.problem import Problem
from wide_functions import Maker, embedded, linear, quadratic, rotated, shifted
from wide_random import additive, tree, unstructured
from wide_tasks import lasso, policy, rover

HARTMANN = partial(
    embedded,
    functions.hartmann6,
    (0.0, 1.0),
    (0.20168951, 0.15001069, 0.47687397, 0.27533243, 0.31165162, 0.65730053),
)
LEVY = partial(embedded, functions.levy, (-10.0, 10.0), (1.0,) * 4)
RANDOM: dict[str, dict[str, Maker]] = {
    "trees": {"tree20": tree(20, 20, has_main=False)},
    "sparse": {"8of40": tree(40, 8), "12of100": tree(100, 12), "20of300": tree(300, 20)},
    "additive": {"additive100": additive(100)},
    "smooth": {"linear200": linear(200), "quadratic200": quadratic(200)},
    "rotated": {"rotated60": rotated(60, 4)},
    "unstructured": {"unstructured8": unstructured(8)},
}
"""Families whose halves differ by the random instances."""
NAMED: dict[str, dict[str, dict[str, Maker]]] = {
    "development": {
        "embedded": {"hartmann6-100": HARTMANN(100), "hartmann6-300": HARTMANN(300)},
        "dense": {"ackley53": shifted(functions.ackley, 15.0, 53)},
    },
    "report": {
        "embedded": {"levy4-100": LEVY(100), "levy4-300": LEVY(300)},
        "dense": {
            "rosenbrock100": embedded(functions.rosenbrock, (-2.0, 2.0), (1.0,) * 100, 100),
        },
    },
}
"""Families of known functions, which are in one half each."""
TASKS: dict[str, dict[str, dict[str, Callable[[int, Path | None], Problem]]]] = {
    "development": {
        "lasso": {
            "lasso60": partial(lasso, "synt_simple", False),
            "lasso60-noisy": partial(lasso, "synt_simple", True),
            "lasso300": partial(lasso, "synt_high", False),
            "lasso300-noisy": partial(lasso, "synt_high", True),
        },
        "policies": {"cheetah": partial(policy, "HalfCheetah-v5")},
    },
    "report": {
        "lasso": {
            "lasso100": partial(lasso, "synt_medium", False),
            "lasso100-noisy": partial(lasso, "synt_medium", True),
            "lasso1000": partial(lasso, "synt_hard", False),
            "lasso1000-noisy": partial(lasso, "synt_hard", True),
        },
        "policies": {"walker": partial(policy, "Walker2d-v5")},
        "rover": {"rover60": rover},
    },
}
"""Families of tasks, which are in one half each."""
SUFFIXES = {"development": "-dev", "report": "-report"}
"""Ends of the names of random problems, as each half draws its own instances."""


def of_half(half: str) -> dict[str, tuple[str, ...]]:
    """Names of the problems of each family.

    Args:
        half: "development", on which settings are chosen, or "report", which evaluates them.
    """
    suffix = SUFFIXES[half]
    return {
        **{family: tuple(name + suffix for name in names) for family, names in RANDOM.items()},
        **{family: tuple(names) for family, names in NAMED[half].items()},
        **{family: tuple(names) for family, names in TASKS[half].items()},
    }


def _makers() -> dict[str, Maker]:
    found = {
        name + suffix: maker
        for suffix in SUFFIXES.values()
        for names in RANDOM.values()
        for name, maker in names.items()
    }
    for half in NAMED.values():
        for names in half.values():
            found |= names
    return found


MAKERS = _makers()
"""Functions by name."""
TASK_MAKERS = {
    name: make for half in TASKS.values() for names in half.values() for name, make in names.items()
}
"""Tasks by name."""


def problem_of(name: str, seed: int, data: Path | None = None) -> Problem:
    """The instance of a problem that a seed draws.

    Args:
        name: name of the problem.
        seed: seed of the instance.
        data: the folder of the tasks.
    """
    if name in TASK_MAKERS:
        return TASK_MAKERS[name](seed, data)
    return MAKERS[name](np.random.default_rng([zlib.crc32(name.encode()), seed]))
