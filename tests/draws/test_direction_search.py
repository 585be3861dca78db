"""Projections by maximization, and low-dimensional embeddings that are learned."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.handlers import condition

import structbo as sb
from structbo.draws import (
    maximum_likelihood,
    pursued_directions,
    restricted_projection_pursuit,
)
from structbo.models import (
    AdditiveGP,
    Decomposition,
    NearIdentity,
    outer_box_ratio,
    projected,
    projections,
)

RNG = np.random.default_rng(0)
NUM_DIMS = 3
A = np.array([[1.0, 0.5, 0.0], [-0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
X, HELD_OUT = RNG.random((2, 60, NUM_DIMS))


def f(x):
    z = x @ A
    return np.sin(4 * z[:, 0]) + np.cos(5 * z[:, 1]) + 0.5 * z[:, 2]


Y = f(X) + 0.01 * RNG.normal(size=len(X))


def error(found) -> float:
    posterior = sb.Posterior.at(found.model, X, Y, found.fit.values)
    return np.abs(posterior.predict(HELD_OUT)[0] - f(HELD_OUT)).mean()


@pytest.mark.nightly
def test_restriction_is_met_and_buys_accuracy():
    """Additive, restricted and free directions: the errors fall as the constraint is relaxed."""
    found = {
        delta: restricted_projection_pursuit(X, Y, group_size=1, delta=delta, num_alphas=5)
        for delta in (0.0, 0.3, np.inf)
    }
    assert found[0.0].alpha == 1.0 and (np.eye(NUM_DIMS) == found[0.0].W).all()
    ratio = outer_box_ratio(found[0.3].W)
    assert 1.2 < ratio <= 1.3 * (1 + 1e-9)  # the bound is met, and met because it binds
    assert found[np.inf].alpha == 0.0
    for restricted in found.values():
        pulled = (1 - restricted.alpha) * restricted.learned + restricted.alpha * np.eye(NUM_DIMS)
        np.testing.assert_allclose(restricted.W, pulled)
        np.testing.assert_allclose(restricted.fit.values["W"], restricted.W)
    assert error(found[np.inf]) < 0.5 * error(found[0.0])
    assert error(found[0.3]) < error(found[0.0])


def test_directions_one_by_one() -> None:
    """The second direction explains what the first one leaves; searches start where told."""
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    x = RNG.random((40, 2))
    z = x @ turn
    y = 3.0 * np.sin(4.0 * z[:, 0]) + 0.3 * np.cos(5.0 * z[:, 1])
    y = (y - y.mean()) / y.std()
    W = pursued_directions(x, y)
    cosines = np.abs((W / np.linalg.norm(W, axis=0) * turn).sum(0))
    assert cosines.min() > 0.98
    np.testing.assert_allclose(pursued_directions(x, y, start=W)[:, 0], W[:, 0], rtol=0.05)
    start = RNG.normal(size=(2, 2))
    np.testing.assert_array_equal(pursued_directions(x, np.zeros(40), start=start), start)


@pytest.mark.nightly
def test_groups_of_directions():
    found = restricted_projection_pursuit(X, Y, group_size=2, delta=0.0, num_groupings=6)
    assert sorted(np.bincount(found.labels).tolist()) == [1, 2]
    assert found.labels.tolist() == [0, 0, 1]  # the interacting pair


@pytest.mark.nightly
def test_every_posterior_draw_meets_the_constraint():
    """Other tests cover prior draws (models) and the invariance of moves (samplers)."""
    structure = projections(
        lambda d: NearIdentity(d, 0.5, delta=0.3), lambda d: Decomposition.of(jnp.eye(d) == 1)
    )
    posterior = sb.fit(
        AdditiveGP(structure),
        X,
        Y,
        num_warmup=40,
        num_samples=40,
        num_chains=1,
        show_progress_bar=False,
    )
    ratios = np.array([outer_box_ratio(W) for W in posterior.draws["W"][0]])
    assert ratios.max() <= 1.3 * (1 + 1e-9)
    assert np.ptp(ratios) > 0.01  # the chain moves and uses the range
    assert (np.sign(posterior.draws["W"][0, :, 0, 1].mean()), np.median(ratios) > 1.1) == (1, True)


def embedded(W: np.ndarray | None):
    """One function of one projection of five parameters; a given W is fixed, as in REMBO."""
    line = Decomposition.of(jnp.ones((1, 1), bool))
    if W is not None:
        return AdditiveGP(lambda d: projected(line, W))
    return AdditiveGP(
        projections(lambda d: dist.Normal(jnp.zeros((d, 1)), 1.0).to_event(2), lambda d: line)
    )


def test_embedding_is_learned():
    """The most probable W has the true direction, unlike a random one."""
    direction = np.array([1.0, -2.0, 0.5, 0.0, 1.5])
    direction /= np.linalg.norm(direction)
    x = RNG.random((40, 5))
    y = np.sin(3 * x @ direction)
    y = (y - y.mean()) / y.std()
    learned = maximum_likelihood(embedded(None), x, y, {}, with_priors=True, num_starts=4)
    W = np.asarray(learned.values["W"])[:, 0]
    assert abs(W @ direction) / np.linalg.norm(W) > 0.99
    fixed = maximum_likelihood(embedded(RNG.normal(size=(5, 1))), x, y, {})
    assert learned.log_likelihood > fixed.log_likelihood + 20
    assert fixed.num_parameters == 3 and learned.num_parameters == 3 + 5


@pytest.mark.nightly
def test_embedding_is_sampled():
    """The more probable of two chains finds the direction of a function of one projection.

    The other one stays near a local mode, at .86, where the log density is lower by about 100.
    """
    direction = np.array([0.6, 0.0, -0.8])
    y = np.tanh(3 * X @ direction)
    known = {"noise": 1e-3, "outputscale": 1.0}
    posterior = sb.fit(
        condition(embedded(None), known),
        X[:40],
        (y - y.mean())[:40],
        num_warmup=150,
        num_samples=50,
        num_chains=2,
        show_progress_bar=False,
    )
    best = posterior.log_density.mean(1).argmax()
    W = posterior.draws["W"][best, :, :, 0]
    assert (np.abs(W @ direction) / np.linalg.norm(W, axis=1)).min() > 0.95


def test_negative_delta_is_refused():
    with pytest.raises(ValueError, match=r"delta must be at least 0, got -0\.1"):
        restricted_projection_pursuit(X, Y, group_size=1, delta=-0.1)
