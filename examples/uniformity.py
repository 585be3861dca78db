"""Are ranks uniform? Two tests, and the band in which their distribution function should stay.

`calibration.py` keeps numbers of ranks in a table; what is to be said of them is here.
"""

from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from ranks import NUM_DRAWS
from scipy.stats import binom, chi2

NUM_BINS = 8
"""Divides the number of ranks, which is one more than that of draws."""
NUM_SIMULATIONS = 20_000


def p_values(found: np.ndarray) -> tuple[float, float]:
    """How often ranks that are uniform look worse than these.

    Args:
        found: ranks, shape (replications,).

    Returns:
        By the chi-square test of `NUM_BINS` bins, and by the departure of the empirical
        distribution function where it is the least probable (Saeilynoja, Buerkner and Vehtari
        2022, "Graphical test for discrete uniformity").
    """
    counts = np.bincount(found, minlength=NUM_DRAWS + 1)
    expected = len(found) / NUM_BINS
    statistic = np.square(counts.reshape(NUM_BINS, -1).sum(1) - expected).sum() / expected
    least = _least_tail(counts.cumsum(), len(found))
    return float(chi2.sf(statistic, NUM_BINS - 1)), float((_simulated(len(found)) <= least).mean())


def summary(found: np.ndarray) -> dict[str, str]:
    """What is kept of ranks: both p-values, and how often each rank was found."""
    p_chi_square, p_ecdf = (f"{p:.4f}" for p in p_values(found))
    counts = " ".join(map(str, np.bincount(found, minlength=NUM_DRAWS + 1)))
    numbers = {"replications": str(len(found)), "p_chi_square": p_chi_square, "p_ecdf": p_ecdf}
    return numbers | {"rank counts": counts}


def draw_departures(axes: Axes, rows: list[dict[str, str]], colors: dict[str, str]) -> None:
    """Empirical minus uniform distribution functions, in the band that holds 95 % of such.

    The first seed has thick lines; the band of more replications is darker.
    """
    levels = _levels()
    for num_replications in {int(row["replications"]) for row in rows}:
        low, high = ecdf_band(num_replications)
        axes.fill_between(levels, low - levels, high - levels, color="k", alpha=0.08, step="post")
    for row in rows:
        ecdf = np.array(row["rank counts"].split(), int).cumsum() / int(row["replications"])
        width = 1.3 if row["seed"] == rows[0]["seed"] else 0.4
        color = colors[row["quantity"]]
        axes.step(levels, ecdf - levels, color, lw=width, where="post")


def ecdf_band(num_replications: int, coverage: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Between what bounds all of the empirical distribution function stays, shape (ranks,)."""
    tail = np.quantile(_simulated(num_replications), 1 - coverage) / 2
    sides = (binom.ppf(side, num_replications, _levels()) for side in (tail, 1 - tail))
    low, high = (side / num_replications for side in sides)
    return low, high


def _levels() -> np.ndarray:
    return np.arange(1, NUM_DRAWS + 2) / (NUM_DRAWS + 1)


def _least_tail(counts: np.ndarray, n: int) -> np.ndarray:
    """The smallest two-sided tail probability of cumulative counts, shape (..., ranks)."""
    tails = np.minimum(binom.cdf(counts, n, _levels()), binom.sf(counts - 1, n, _levels()))
    return 2 * tails.min(-1)


@lru_cache
def _simulated(num_replications: int) -> np.ndarray:
    """Smallest tail probabilities of ranks that are uniform."""
    shares = np.full(NUM_DRAWS + 1, 1 / (NUM_DRAWS + 1))
    counts = np.random.default_rng(0).multinomial(num_replications, shares, NUM_SIMULATIONS)
    return _least_tail(counts.cumsum(1), num_replications)
