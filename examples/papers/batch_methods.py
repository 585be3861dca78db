"""The methods of Kathuria, Deshpande and Kohli 2016, and the widths of their criteria."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key
from scipy.special import log_ndtr

from structbo import batches
from structbo.batches import BatchProblem, GroundSet, Hallucination, PureExploration

DELTA = 0.1


def random_batch(problem: BatchProblem, q: int, key: Key[Array, ""]) -> list[int]:
    """Random candidates."""
    order: list[int] = jax.random.permutation(key, len(problem.ground.mean)).tolist()
    return order[:q]


METHODS: dict[str, tuple[Any, str]] = {
    "BUCB": (Hallucination(), "UCB"),
    "B-EST": (Hallucination(), "EST"),
    "UCB-PE": (PureExploration(), "UCB"),
    "EST-PE": (PureExploration(), "EST"),
    "UCB-DPP-SAMPLE": (batches.DPPSample(0.01), "UCB"),
    "EST-DPP-SAMPLE": (batches.DPPSample(0.01), "EST"),
    "LP-UCB": (batches.LocalPenalization(), "UCB"),
    "random": (random_batch, "UCB"),
}
"""How each method chooses the points of a batch, and its criterion."""


def est_maximum(ground: GroundSet, floor: float) -> float:
    """ESTn: the expected maximum of independent normals, at least the best value so far."""
    top = max(floor, float((ground.mean + 6 * ground.deviation).max()))
    w = np.linspace(floor, top, 200)[:, None]
    below = np.exp(log_ndtr((w - ground.mean) / np.maximum(ground.deviation, 1e-9)).sum(1))
    return float(floor + np.trapezoid(1 - below, w[:, 0]))


def ucb_width(number: int, t: int) -> float:
    """The square root of beta, theorem 3.3."""
    return float(np.sqrt(2 * np.log(number * np.pi**2 * t**2 / (6 * DELTA))))
