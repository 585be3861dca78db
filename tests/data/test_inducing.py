"""The order of observations: first the best, then points spread over all."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from structbo.data import Data, inducing_first

RNG = np.random.default_rng(0)


def test_few_observations_keep_their_order():
    assert (inducing_first(RNG.random((1024, 2)), RNG.random(1024)) == np.arange(1024)).all()


def test_inducing_points_are_the_best_and_cover_all_others():
    """Half of the points are in a corner, and half of a random choice would be there."""
    x, y = RNG.random((2000, 3)), RNG.random(2000)
    x[:1000] *= 0.1
    order = inducing_first(x, y)
    assert sorted(order) == list(range(2000))
    assert set(order[:64]) == set(np.argsort(-y)[:64])

    def radius(rows: np.ndarray) -> float:
        return float(cdist(x, x[rows]).min(1).max())

    by_chance = min(radius(RNG.permutation(2000)[:512]) for _ in range(10))
    assert radius(order[:512]) < 0.8 * by_chance


def test_repeated_points_are_taken_once_each():
    x, y = np.repeat(RNG.random((300, 2)), 5, axis=0), np.zeros(1500)
    order = inducing_first(x, y)
    assert sorted(order) == list(range(1500))
    assert len(np.unique(x[order[:512]], axis=0)) == 300


@pytest.mark.parametrize("n", [1000, 1100])
def test_rows_of_padded_data_stay_together(n: int):
    x, noise = RNG.random((n, 2)), RNG.random(n)
    data = Data.padded(x, x.sum(1), noise)
    rows = np.asarray(data.mask)
    assert rows[:n].all()
    assert not rows[n:].any()
    np.testing.assert_allclose(data.y[rows], data.x[rows].sum(1))
    np.testing.assert_allclose(noise[inducing_first(x, x.sum(1))], data.known_noise[rows])
