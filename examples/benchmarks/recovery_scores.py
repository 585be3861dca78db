"""Scores of what a method says about main effects and interactions, given the true shares."""

from typing import Any, NamedTuple

import numpy as np

LARGE, SMALL = 0.02, 0.005
"""Shares above which a pair is an edge of the true graph."""
TOLERANCE = 0.001
"""Distance from an interval within which a share counts as covered: intervals of positive numbers
never hold the share of an inert parameter, which is zero."""
CALLED = 0.9
"""Probability from which an edge is called."""
BINS = np.linspace(0.0, 1.0, 11)
"""Ends of the intervals of probability of a reliability curve."""
NUMBERS = ("correlation", "log density", "R-hat", "CPU s")
"""Scores that a run already has."""


def average_precision(is_true: np.ndarray, scores: np.ndarray) -> float:
    """Mean over true items of the precision among all items with scores at least as high.

    Args:
        is_true: which items are true.
        scores: their scores. NaN if there are none.

    Returns:
        The average precision; NaN without true items or scores.
    """
    if not is_true.any() or np.isnan(scores).any():
        return float("nan")
    precisions = [is_true[scores >= score].mean() for score in scores[is_true]]
    return float(np.mean(precisions))


def covered(true: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Fraction of intervals that hold the truth, up to `TOLERANCE`; NaN without intervals."""
    if not len(true) or np.isnan(lower).any():
        return float("nan")
    return float(((lower - TOLERANCE <= true) & (true <= upper + TOLERANCE)).mean())


def log_density(values: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> float:
    """Mean log density of values under normal distributions."""
    return float(-0.5 * np.mean(np.log(2.0 * np.pi * variance) + (values - mean) ** 2 / variance))


class Curve(NamedTuple):
    """Frequency of true items by interval of probability; NaN in empty intervals.

    Args:
        probability: means of the probabilities.
        frequency: fractions of true items.
        num_items: numbers of items.
    """

    probability: np.ndarray
    frequency: np.ndarray
    num_items: np.ndarray

    @classmethod
    def of(cls, is_true: np.ndarray, probabilities: np.ndarray) -> "Curve":
        """The reliability curve of probabilities of items."""
        places = np.clip(np.digitize(probabilities, BINS) - 1, 0, len(BINS) - 2)
        sums = [
            np.bincount(places, weights, minlength=len(BINS) - 1)
            for weights in (probabilities, is_true.astype(float), np.ones(len(is_true)))
        ]
        with np.errstate(invalid="ignore"):
            return cls(sums[0] / sums[2], sums[1] / sums[2], sums[2])


def scores_of(run: dict[str, Any]) -> dict[str, float]:
    """All scores of a run.

    Args:
        run: "main" and "pairs" have "true" shares, estimates "share", and ends of 90 % intervals,
            "pairs" also "probability" of edges; `NUMBERS` are numbers. Missing numbers and arrays
            are None.
    """
    main, pairs = _arrays(run["main"]), _arrays(run["pairs"])
    true, share, probability = pairs["true"], pairs["share"], pairs["probability"]
    scores = {
        f"{name} {threshold:.1%}": average_precision(true > threshold, by)
        for threshold in (LARGE, SMALL)
        for name, by in (("AP prob.", probability), ("AP share", share))
    }
    strongest = true.argmax()
    has_pairs = true[strongest] > 0.0 and not np.isnan(share).any()
    real, lower, upper = true > SMALL, pairs["lower"], pairs["upper"]
    return scores | {
        **_calls("called", probability, probability >= CALLED, real),
        **_calls("found", lower, lower >= SMALL, real),
        **_calls("none", upper, upper < SMALL, ~real),
        "strongest": float(share.argmax() == strongest) if has_pairs else np.nan,
        "error pairs": float(np.abs(share - true).mean()),
        "error main": float(np.abs(main["share"] - main["true"]).mean()),
        "error higher": float(abs(np.sum(main["share"] - main["true"]) + np.sum(share - true))),
        "cover pairs": covered(true, lower, upper),
        "cover edges": covered(true[real], lower[real], upper[real]),
        "cover main": covered(main["true"], main["lower"], main["upper"]),
        **{name: float(np.array(run[name], float)) for name in NUMBERS},
    }


def _calls(
    name: str, numbers: np.ndarray, is_called: np.ndarray, is_right: np.ndarray
) -> dict[str, float]:
    """How many pairs are called, and how many of the calls are right; NaN without the numbers."""
    unknown = np.isnan(numbers).any()
    counts = {name: is_called.sum(), f"{name} right": (is_called & is_right).sum()}
    return {key: float("nan") if unknown else float(count) for key, count in counts.items()}


def _arrays(part: dict[str, Any]) -> dict[str, np.ndarray]:
    """Arrays of equal shapes, NaN for missing ones."""
    shape = np.shape(part["true"])
    return {name: np.broadcast_to(np.array(v, float), shape) for name, v in part.items()}
