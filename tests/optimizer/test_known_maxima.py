"""The best new points are next if the criterion is largest at evaluated points."""

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from short_runs import given_draws

from structbo import Integer, Optimizer
from structbo.models import AdditiveGP, main_effects

CORNER = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
FINITE = {"x": Integer(0, 20), "y": Integer(0, 20)}
NUM_ROUNDS = 4


def told(space: dict[str, Any], **settings: Any) -> Optimizer:
    """A noisy function whose minimum is in a corner, which is evaluated."""
    quick = {"model": AdditiveGP(main_effects()), "inference": given_draws}
    optimizer = Optimizer(space, "minimize", num_initial=5, warp=False, **quick, **settings)
    rng = np.random.default_rng(0)
    for point in [[0, 0], *optimizer.space.from_unit(rng.random((7, 2)))]:
        params = point if isinstance(point, dict) else dict(zip("xy", point, strict=True))
        optimizer.tell(params, value(params, optimizer, rng))
    return optimizer


def value(params: dict[str, Any], optimizer: Optimizer, rng: np.random.Generator) -> float:
    return float(optimizer.space.to_unit(params).sum() + 0.1 * rng.normal())


@pytest.mark.parametrize("criterion", ["interior_ei", "ucb"])
@pytest.mark.parametrize("space", [CORNER, FINITE])
def test_the_best_new_point_follows(space: dict[str, Any], criterion: str):
    optimizer, rng = told(space, criterion=criterion), np.random.default_rng(1)
    coordinates = np.array(list(product(np.linspace(0.0, 1.0, 21), repeat=2)))
    grid = optimizer.space.from_unit(coordinates)
    score = partial(Optimizer.score, optimizer)
    for _ in range(NUM_ROUNDS):
        known = {tuple(trial.params.values()) for trial in optimizer.trials}
        trial = optimizer.ask()
        is_new = [tuple(point.values()) not in known for point in grid]
        scores = score(grid)[0][is_new]
        # A quasi-random point has a score that is typically lower by the whole range.
        least = scores.max() - 0.2 * (scores.max() - np.median(scores))
        assert score([trial.params])[0][0] > least
        optimizer.tell(trial, value(trial.params, optimizer, rng))
