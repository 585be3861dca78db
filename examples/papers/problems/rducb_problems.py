"""Functions on which random trees beat learned structures (Ziomek and Bou-Ammar 2023).

Values have a deviation of about one. The paper's linear programs and networks are left out, and
its lasso is among the problems of `benchmarks/wide.py`.
"""

from pathlib import Path

import numpy as np
from papers.problems import functions
from papers.problems.problem import Problem

ROSENBROCK_DEVIATION, STYBLINSKI_TANG_DEVIATION, HARTMANN_DEVIATION = 920_000.0, 320.0, 0.4


def hartmann(seed: int, data: Path | None) -> Problem:
    """Hartmann's function of six random parameters among twenty."""
    active = np.random.default_rng([seed, 8]).choice(20, 6, replace=False)
    return Problem(
        lambda x: -float(functions.hartmann6(x[active])) / HARTMANN_DEVIATION,
        [(0.0, 1.0)] * 20,
        maximum=3.32237 / HARTMANN_DEVIATION,
    )


def rosenbrock(seed: int, data: Path | None) -> Problem:
    """A chain of twenty parameters, which a seed does not change."""
    return Problem(
        lambda x: -float(functions.rosenbrock(x)) / ROSENBROCK_DEVIATION,
        [(-5.0, 10.0)] * 20,
        maximum=0.0,
    )


def styblinski_tang(seed: int, data: Path | None) -> Problem:
    """A sum of functions of 100 parameters, which a seed does not change."""
    return Problem(
        lambda x: -float(functions.styblinski_tang(x)) / STYBLINSKI_TANG_DEVIATION,
        [(-5.0, 5.0)] * 100,
        maximum=39.16616570377142 * 100 / STYBLINSKI_TANG_DEVIATION,
    )
