"""Verdicts about pairs, comparisons with the prior, and the number of runs that decide."""

from collections.abc import Callable
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy.stats import qmc

from structbo import anova_model
from structbo.models import AdditiveGP, ConditionedGP, main_effects
from structbo.posterior import Posterior
from structbo.posterior.runs_to_decide import divergences

NUM_DIMS = 3
MODEL = anova_model({f"x{d}": (0.0, 1.0) for d in range(NUM_DIMS)})
RNG = np.random.default_rng(0)
X, Y = RNG.random((8, NUM_DIMS)), RNG.normal(size=8)


@pytest.fixture(scope="module")
def prior() -> Posterior:
    shapes = {"Z": (3, 3), "lengthscale": (3,), "relevance": (3,), "interaction": (3,)}
    names = ("outputscale", "noise", "interaction_scale", "rho", "reach", "constant")
    draw = {name: np.ones(shapes.get(name, ())) for name in (*shapes, *names)}
    return Posterior.at(MODEL, X, Y, draw).prior(num_draws=64, seed=7)


def posterior(edge: list[float], noise: float = 1e-3, own: float = 4.0) -> Posterior:
    """Draws that differ in the first edge; the last pair has none, and the other one always has."""
    size = len(edge)
    Z = np.zeros((1, size, NUM_DIMS, NUM_DIMS))
    Z[0, :, 0, 1] = Z[0, :, 1, 0] = edge
    Z[0, :, 0, 2] = Z[0, :, 2, 0] = 1.0
    values = {
        "lengthscale": np.full((1, size, NUM_DIMS), 0.3),
        "relevance": np.ones((1, size, NUM_DIMS)),
        "interaction": np.full((1, size, 3), own),
        "outputscale": np.ones((1, size)),
        "noise": np.full((1, size), noise),
        "interaction_scale": np.full((1, size), 0.2),
        "rho": np.full((1, size), 0.1),
        "reach": np.ones((1, size)),
        "constant": np.ones((1, size)),
    }
    return Posterior(MODEL, X, Y, {"Z": Z, **values})


def test_the_prior_is_unknown(prior: Posterior):
    table = prior.interactions()
    assert set(table["verdict"]) == {"unknown"}
    assert (abs(table["probability"] - table["prior"]) < 0.2).all()
    assert (prior.like_prior() == ~np.eye(NUM_DIMS, dtype=bool)).all()


def test_verdicts_follow_from_the_shares():
    found = posterior([1.0, 0.0] * 20)
    table, shares = found.interactions(), found.importances().pairs
    assert table["verdict"].to_dict() == {"x0,x2": "found", "x0,x1": "undecided", "x1,x2": "none"}
    np.testing.assert_array_equal(table.loc["x0,x2", ["share", "lower", "upper"]].to_list(),
        [shares.mean[0, 2], shares.lower[0, 2], shares.upper[0, 2]])  # fmt: skip
    assert table.loc["x0,x1", "probability"] == 0.5
    assert not found.like_prior()[0, 2]


def test_the_triple_of_three_parameters_is_all_of_higher_order():
    draws = posterior([1.0, 0.0] * 20)
    table, higher = draws.triples(), draws.importances().higher_order
    assert table.index.to_list() == ["x0,x1,x2"] and higher.mean > 0.01
    np.testing.assert_allclose(table.loc["x0,x1,x2"], np.array(higher), rtol=1e-9)


def test_very_many_triples_are_refused():
    model = AdditiveGP(main_effects())
    draw = {"lengthscale": np.ones(24), "outputscale": 1.0, "noise": 1.0}
    with pytest.raises(ValueError, match="24 parameters have 2024"):
        Posterior.at(model, np.zeros((1, 24)), [0.0], draw).triples()


def moments(gp: ConditionedGP, key: Array, points: Array) -> tuple[Array, Array]:
    return gp.predict(points)[0], gp.covariance_between(points, points)


@pytest.mark.parametrize("noise", [1e-3, 0.1])
def test_runs_reach_the_evidence(noise: float):
    """With even odds, evidence of log(9) makes a probability of 90 %; summed by brute force."""
    draws = posterior([1.0, 0.0], noise)
    points = qmc.Sobol(NUM_DIMS, seed=0).random(512)
    means, covariances = draws.map_draws(moments, points)
    covariances = covariances + noise * np.eye(len(points))

    def divergence(p: int, q: int, m: int) -> float:
        cov_p, cov_q = covariances[[p, q], :m, :m]
        gap = (means[q] - means[p])[:m]
        logs = np.linalg.slogdet(cov_q)[1] - np.linalg.slogdet(cov_p)[1]
        trace = np.trace(np.linalg.solve(cov_q, cov_p))
        return float(trace + gap @ np.linalg.solve(cov_q, gap) - m + logs) / 2.0

    first = [
        next(m for m in range(1, 513) if divergence(*pair, m) >= np.log(9.0))
        for pair in ((0, 1), (1, 0))
    ]
    found = draws.runs_to_decide("x1", "x0")
    assert (found.lower, found.upper) == (min(first), max(first))


def test_weak_interactions_take_more_runs_and_negligible_ones_none():
    def median(own: float) -> float:
        return posterior([1.0, 0.0], 0.1, own).runs_to_decide("x0", "x1").median

    assert 0.0 == median(1e-3) < median(4.0) < median(0.3)


def test_future_runs_have_the_usual_standard_error():
    """A quarter of variance that is known, or is part of the noise, makes the same predictions."""
    noisy = posterior([1.0, 0.0], 0.251)
    exact = posterior([1.0, 0.0], 0.001)
    told = replace(exact, sem=np.full(len(Y), 0.5))
    found = noisy.runs_to_decide("x0", "x1")
    assert told.runs_to_decide("x0", "x1") == found
    assert exact.runs_to_decide("x0", "x1").median < found.median


def test_a_decided_pair_takes_no_runs():
    assert posterior([1.0] * 20).runs_to_decide("x0", "x1") == (0.0, 0.0, 0.0)


def test_divergences_of_normals_are_sums_over_variables():
    """The variables are independent, with variances 1 and 4 and means that differ by 2."""
    eye = jnp.eye(3)
    found = divergences(jnp.zeros(3), eye, jnp.full(3, 2.0), 2.0 * eye)
    one = 0.5 * (1.0 / 4.0 + 4.0 / 4.0 - 1.0 + np.log(4.0))
    np.testing.assert_allclose(found, one * np.arange(1, 4), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.runs_to_decide("x0", "x0"), "two different names of"),
        (lambda p: p.runs_to_decide("x0", "y"), "got \\('x0', 'y'\\)"),
        (lambda p: p.runs_to_decide("x0", "x1", probability=0.4), "must be in \\(0.5, 1\\)"),
        (lambda p: p.interactions(least_share=0.0), "least_share must be a number in"),
    ],
)
def test_arguments_are_checked(call: Callable[[Posterior], object], message: str):
    with pytest.raises(ValueError, match=message):
        call(posterior([1.0, 0.0]))
