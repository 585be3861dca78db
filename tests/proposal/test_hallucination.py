"""Sequentially chosen points, on given posteriors."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from structbo.acquisition import LogEI, best_means
from structbo.batches import Hallucination
from structbo.data import Data
from structbo.draws import Posteriors, condition, default_model
from structbo.maximizers import MultiStart
from structbo.models import ConditionedGP
from structbo.models.foundation.precision import double_precision
from structbo.proposal import Proposal, Situation, propose
from structbo.space import Levels

NOISE, NUM_DRAWS, NUM_DIMS = 0.09, 4, 3
MODEL = default_model()
PENDING = np.array([[0.6, 0.6, 0.6]])


def draws(seed: int) -> dict[str, Any]:
    """Draws with different lengthscales and edges; the noise is three tenths of the signal."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((NUM_DRAWS, NUM_DIMS, NUM_DIMS)) < 0.5, 1)
    return {
        "lengthscale": rng.uniform(0.3, 0.8, (NUM_DRAWS, NUM_DIMS)),
        "Z": (upper | np.swapaxes(upper, 1, 2)).astype(np.int32),
        "outputscale": np.ones(NUM_DRAWS),
        "noise": np.full(NUM_DRAWS, NOISE),
        "rho": np.full(NUM_DRAWS, 0.4),
        "kappa": np.ones(NUM_DRAWS),
    }


def situation(seed: int, pending: np.ndarray = PENDING[:0]) -> Situation:
    rng = np.random.default_rng([seed, 1])
    x = rng.random((14, NUM_DIMS))
    y = -4.0 * ((x - 0.6) ** 2).sum(1) + np.sqrt(NOISE) * rng.standard_normal(len(x))
    data = Data.padded(x, (y - y.mean()) / y.std())
    with double_precision():
        posteriors = Posteriors.of(MODEL, draws(seed), data)
    return Situation(posteriors, Levels.of([None] * NUM_DIMS), pending)


def proposed(known: Situation, num_points: int, strategy: Hallucination) -> Proposal:
    with double_precision():
        key = jax.random.key(0)
        return propose(known, num_points, key, LogEI(), strategy, MultiStart())


def posteriors(known: Situation) -> ConditionedGP:
    return known.posteriors.processes


@jax.jit
def variances_of_differences(gps: ConditionedGP, x: Any) -> Any:
    """Variances of f(x) - f(x') between points (m, D), averaged over draws: shape (m, m)."""

    def of_draw(gp: ConditionedGP) -> Any:
        covariance = gp.covariance_between(x, x)
        variance = covariance.diagonal()
        return variance[:, None] + variance - 2.0 * covariance

    return jax.lax.map(of_draw, gps).mean(0)


@pytest.mark.parametrize("seed", range(3))
def test_no_point_of_a_batch_is_a_copy_of_another(seed: int) -> None:
    """The function differs between points by at least a tenth of the noise deviation.

    If observations were believed in place of the function, batches of eight would have points that
    differ by less than three hundredths of it.
    """
    known = situation(seed)
    batch = proposed(known, 8, Hallucination())
    with double_precision():
        points = np.concatenate([ranked[:1] for ranked in batch.ranked])
        apart = np.asarray(variances_of_differences(posteriors(known), points))
    assert apart[np.triu_indices(8, 1)].min() > 0.01 * NOISE


def test_a_draw_believes_its_own_mean() -> None:
    """Means do not change, and the incumbent rises to the mean at the pending point."""
    without, believing = (
        proposed(situation(0, pending), 1, Hallucination()).acquisition
        for pending in (PENDING[:0], PENDING)
    )
    with double_precision():
        others = np.random.default_rng(2).random((5, NUM_DIMS))
        x = jnp.concatenate([PENDING, others])
        predict = jax.jit(lambda gps: jax.lax.map(lambda gp: gp.predict(x), gps))
        (mean, _), (after, variance) = predict(without.draws), predict(believing.draws)
    np.testing.assert_allclose(after, mean, rtol=1e-8)
    assert np.asarray(variance)[:, 0].max() < 1e-3 * NOISE
    assert np.asarray(mean)[:, 0].std() > 0.02
    incumbents = np.maximum(without.contexts, mean[:, 0])
    np.testing.assert_allclose(believing.contexts, incumbents, rtol=1e-6)
    assert (incumbents > without.contexts).any()


def test_a_lie_is_one_value_for_all_draws() -> None:
    known = situation(0, PENDING)
    lying = proposed(known, 1, Hallucination(lambda values: 3.0)).acquisition
    given = known.posteriors.data
    rows = np.asarray(given.mask)
    x = np.concatenate([np.asarray(given.x)[rows], PENDING])
    data = Data.padded(x, np.append(np.asarray(given.y)[rows], 3.0))
    with double_precision():
        expected = best_means(condition(MODEL, draws(0), data))
    np.testing.assert_allclose(lying.contexts, expected, rtol=1e-8)
