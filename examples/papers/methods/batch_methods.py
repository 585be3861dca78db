"""The methods of Kathuria, Deshpande and Kohli 2016, and the widths of their criteria."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from structbo import batches
from structbo.batches import BatchProblem, Hallucination, PureExploration

DELTA = 0.1


def random_batch(problem: BatchProblem, q: int, key: Key[Array, ""]) -> list[int]:
    """Random candidates."""
    order: list[int] = jax.random.permutation(key, len(problem.ground.mean)).tolist()
    return order[:q]


METHODS: dict[str, tuple[Any, str]] = {
    "BUCB": (Hallucination(), "UCB"),
    "B-EST": (Hallucination(), "EST"),
    "B-EST, two stages": (batches.TwoStage(num_uncertain=10), "EST"),
    "UCB-PE": (PureExploration(), "UCB"),
    "EST-PE": (PureExploration(), "EST"),
    "UCB-DPP-SAMPLE": (batches.DPPSample(0.01), "UCB"),
    "EST-DPP-SAMPLE": (batches.DPPSample(0.01), "EST"),
    "LP-UCB": (batches.LocalPenalization(), "UCB"),
    "random": (random_batch, "UCB"),
}
"""How each method chooses the points of a batch, and its criterion."""


def ucb_width(number: int, t: int) -> float:
    """The square root of beta, theorem 3.3."""
    return float(np.sqrt(2 * np.log(number * np.pi**2 * t**2 / (6 * DELTA))))
