"""Two tests of uniform ranks, and a simultaneous band of their distribution function.

`calibration.py` keeps counts of ranks in a table; this file tests and draws them.
"""

from functools import lru_cache

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from ranks import NUM_DRAWS
from scipy.stats import binom, chi2

NUM_BINS = 8
"""Number of bins, a divisor of the number of ranks (one more than the number of draws)."""
NUM_SIMULATIONS = 20_000


def p_values(found: np.ndarray) -> tuple[float, float]:
    """P-values of ranks under uniformity.

    Args:
        found: ranks, shape (replications,).

    Returns:
        P-values of the chi-square test with `NUM_BINS` bins, and of the least probable deviation of
        the empirical distribution function (Saeilynoja, Buerkner and Vehtari 2022, "Graphical test
        for discrete uniformity").
    """
    counts = np.bincount(found, minlength=NUM_DRAWS + 1)
    expected = len(found) / NUM_BINS
    statistic = np.square(counts.reshape(NUM_BINS, -1).sum(1) - expected).sum() / expected
    least = _least_tail(counts.cumsum(), len(found))
    return float(chi2.sf(statistic, NUM_BINS - 1)), float((_simulated(len(found)) <= least).mean())


def summary(found: np.ndarray) -> dict[str, str]:
    """The entries of the table: both p-values, and the counts of ranks."""
    p_chi_square, p_ecdf = (f"{p:.4f}" for p in p_values(found))
    counts = " ".join(map(str, np.bincount(found, minlength=NUM_DRAWS + 1)))
    numbers = {"replications": str(len(found)), "p_chi_square": p_chi_square, "p_ecdf": p_ecdf}
    return numbers | {"rank counts": counts}


def picture(rows: list[dict[str, str]]) -> Figure:
    """Empirical minus uniform distribution functions, in simultaneous bands of 95 %.

    The first seed of a case has thick lines; the band of more replications is darker.

    Args:
        rows: at most 20 cases and 20 quantities; each row has its case, seed and quantity besides
            its `summary`.

    Returns:
        One panel per case.
    """
    figure, levels = Figure(figsize=(12, 12), layout="constrained"), _levels()
    quantities = dict.fromkeys(row["quantity"] for row in rows)
    colors = dict(zip(quantities, colormaps["tab20"](range(20)), strict=False))
    panels = figure.subplots(5, 4, sharex=True, sharey=True).flat
    cases = list(dict.fromkeys(row["case"] for row in rows))
    for axes, case in zip(panels, cases, strict=False):
        ours = [row for row in rows if row["case"] == case]
        for num_replications in {int(row["replications"]) for row in ours}:
            low, high = (side - levels for side in ecdf_band(num_replications))
            axes.fill_between(levels, low, high, color="k", alpha=0.08, lw=0, step="post")
        for row in ours:
            counts = np.array(row["rank counts"].split(), int)
            is_first = row["seed"] == ours[0]["seed"]
            departure, color = counts.cumsum() / counts.sum() - levels, colors[row["quantity"]]
            axes.step(levels, departure, color=color, lw=1.3 if is_first else 0.4, where="post")
        axes.set_title(case, fontsize=9)
    for axes in panels[len(cases) :]:
        axes.set_visible(False)
    lines = [Line2D([], [], color=color, label=quantity) for quantity, color in colors.items()]
    figure.legend(handles=lines, loc="outside upper center", ncols=8, frameon=False)
    figure.supxlabel("rank of the truth, as a fraction")
    figure.supylabel("ECDF minus uniform; gray: simultaneous 95 % band")
    return figure


def ecdf_band(num_replications: int, coverage: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Simultaneous bounds of the empirical distribution function, shape (ranks,)."""
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
