"""Importances equal known Sobol indices, and their intervals have the stated coverage."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from grid_anova import grid_variances
from scipy.stats import qmc, sobol_indices, uniform

from structbo.models import (
    AdditiveCovariance,
    AdditiveGP,
    Decomposition,
    ProductResidual,
    Residual,
    active_sets,
    edges,
    pairs,
    projected,
    squared_exponential,
)
from structbo.models.foundation.precision import double_precision
from structbo.posterior import Posterior
from structbo.posterior.importances import Importances, summarized

NAMES = ("a", "b", "c")
ADDITIVE = np.zeros((3, 3), int)
EDGE = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])
PAIRS = AdditiveGP(edges(0.5, pairs))
WITH_RESIDUAL = AdditiveGP(edges(0.5, pairs), residual=Residual())


def ishigami(X: np.ndarray) -> np.ndarray:
    x = np.pi * (2.0 * X - 1.0)
    return np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


def g_function(X: np.ndarray, a: np.ndarray) -> np.ndarray:
    return np.prod((np.abs(4.0 * X - 2.0) + a) / (1.0 + a), axis=1)


def posterior_of(
    function: Any,
    model: AdditiveGP,
    Z: Any,
    n: int,
    lengthscale: float,
    length: int = 10,
    **sites: float,
) -> Posterior:
    """Chains of equal draws with these edges, conditioned on values at quasi-random points."""
    shape = (2, length)
    X = qmc.Sobol(3, seed=0).random(n)
    y = function(X)
    draws = {
        "Z": np.broadcast_to(Z, (*shape, 3, 3)),
        "lengthscale": np.full((*shape, 3), lengthscale),
        "noise": np.full(shape, 1e-5),
        "outputscale": np.full(shape, 3.0),
    }
    draws |= {name: np.full(shape, value) for name, value in sites.items()}
    return Posterior(model, X, (y - y.mean()) / y.std(), draws, names=NAMES)


def test_ishigami_function():
    """The reference is the closed form; only one pair interacts."""
    found = posterior_of(ishigami, PAIRS, EDGE, 256, 0.2).importances()
    np.testing.assert_allclose(found.first_order.mean, [0.3139, 0.4424, 0.0], atol=1e-3)
    np.testing.assert_allclose(found.total.mean, [0.5576, 0.4424, 0.2437], atol=1e-3)
    np.testing.assert_allclose(found.pairs.mean, 0.2437 * EDGE, atol=1e-3)
    assert (found.first_order.upper - found.first_order.lower).max() < 0.003
    assert found.higher_order.mean == 0.0


@pytest.mark.nightly
def test_g_function():
    """The reference is the closed form; all three parameters interact, and there are kinks."""
    a = np.array([0.5, 1.0, 2.0])
    shares = 1.0 / (3.0 * (1.0 + a) ** 2)
    variance = np.prod(1.0 + shares) - 1.0
    complete = AdditiveGP(lambda num_dims: Decomposition.of(jnp.ones((1, num_dims), bool)))
    posterior = posterior_of(lambda X: g_function(X, a), complete, EDGE, 512, 0.4, 32)
    draws = {name: value for name, value in posterior.draws.items() if name != "Z"}
    found = Posterior(complete, posterior.X, posterior.y, draws).importances()
    np.testing.assert_allclose(found.first_order.mean, shares / variance, atol=0.015)
    total = shares * np.prod(1.0 + shares) / (1.0 + shares) / variance
    np.testing.assert_allclose(found.total.mean, total, atol=0.015)
    np.testing.assert_allclose(found.higher_order.mean, shares.prod() / variance, atol=0.01)
    assert (found.total.mean > found.first_order.mean + 0.02).all()


@pytest.mark.nightly
def test_indices_of_scipy():
    """A function of all parameters, modeled by the residual alone."""

    def function(X: np.ndarray) -> np.ndarray:
        return np.exp(X[:, 0] * X[:, 1]) * (1.0 + X[:, 2])

    posterior = posterior_of(function, WITH_RESIDUAL, ADDITIVE, 256, 0.8, 32, rho=0.9, kappa=1.2)
    found = posterior.importances()
    rng, domain = np.random.default_rng(0), [uniform()] * 3
    expected = sobol_indices(func=lambda x: function(x.T), n=2**14, dists=domain, random_state=rng)
    np.testing.assert_allclose(found.first_order.mean, expected.first_order, atol=5e-3)
    np.testing.assert_allclose(found.total.mean, expected.total_order, atol=5e-3)


def test_an_additive_function_is_the_sum_of_its_parts():
    """For f = sin(4 a) + b^2 - c and a model without pairs, first-order shares add up to one."""
    variances = np.array(
        [
            0.5 - np.sin(8.0) / 16.0 - ((1.0 - np.cos(4.0)) / 4.0) ** 2,
            1.0 / 5.0 - 1.0 / 9.0,
            1.0 / 12.0,
        ]
    )
    posterior = posterior_of(
        lambda X: np.sin(4.0 * X[:, 0]) + X[:, 1] ** 2 - X[:, 2], PAIRS, ADDITIVE, 256, 0.5
    )
    found = posterior.importances()
    np.testing.assert_allclose(found.first_order.mean, variances / variances.sum(), atol=1e-3)
    np.testing.assert_allclose(found.first_order.mean.sum(), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(found.total.mean, found.first_order.mean)
    assert not any(np.any(value) for value in (*found.pairs, *found.higher_order))


@pytest.fixture(scope="module")
def uncertain() -> Posterior:
    """A posterior given few observations, with varying edges and a residual."""
    rng = np.random.default_rng(2)
    shape = (2, 10)
    Z = rng.random((*shape, 3, 3)) < 0.5
    X = rng.random((8, 3))
    draws = {
        "Z": (np.triu(Z, 1) | np.swapaxes(np.triu(Z, 1), -1, -2)).astype(int),
        "lengthscale": rng.uniform(0.3, 1.0, (*shape, 3)),
        "noise": np.full(shape, 0.01),
        "outputscale": np.ones(shape),
        "rho": np.full(shape, 0.5),
        "kappa": np.ones(shape),
    }
    return Posterior(WITH_RESIDUAL, X, rng.standard_normal(8), draws, names=NAMES)


@pytest.fixture(scope="module")
def found(uncertain: Posterior) -> Importances:
    return uncertain.importances()


def test_shares_are_shares(found: Importances):
    for shares in found[1:]:
        assert (shares.lower >= 0.0).all() and (shares.upper <= 1.0).all()
        assert (shares.lower <= shares.mean).all() and (shares.mean <= shares.upper).all()
        assert (shares.mcse >= 0.0).all()
    pairs_of_each = found.pairs.mean.sum(1)
    assert (found.total.mean >= found.first_order.mean + pairs_of_each - 1e-12).all()
    every = found.first_order.mean.sum() + np.triu(found.pairs.mean).sum() + found.higher_order.mean
    np.testing.assert_allclose(every, 1.0, rtol=1e-12)


def test_the_table_has_all_shares(uncertain: Posterior, found: Importances):
    table = found.to_frame()
    assert list(table.columns) == ["mean", "lower", "upper", "mcse", "matters"]
    assert list(table.loc["total"].index) == list(NAMES)
    assert list(table.loc["pair"].index) == ["a,b", "a,c", "b,c"]
    assert table.loc[("pair", "a,c"), "upper"] == found.pairs.upper[0, 2] == found.pairs.upper[2, 0]
    np.testing.assert_array_equal(table.loc["first_order", "mcse"], found.first_order.mcse)
    pd.testing.assert_frame_equal(table, uncertain.importances(seed=0).to_frame())
    assert (table != uncertain.importances(seed=1).to_frame()).any(axis=None)


def test_draws_are_thinned_within_chains(uncertain: Posterior):
    kept = uncertain.thinned(5)
    assert (kept.num_chains, kept.num_draws) == (2, 4)
    np.testing.assert_array_equal(kept.draws["Z"], uncertain.draws["Z"][:, [0, 9]])
    with pytest.raises(ValueError, match="max_draws must be an integer of at least 1, got 0"):
        uncertain.importances(max_draws=0)


def test_quantiles_and_errors_are_those_of_the_draws():
    """A new draw is outside of nineteen draws with 10 %. Slow chains have larger errors."""
    rng = np.random.default_rng(0)
    share = rng.random((1, 19, 2))
    found = summarized(share)
    np.testing.assert_allclose(found.lower, share.min((0, 1)))
    np.testing.assert_allclose(found.upper, share.max((0, 1)))
    noise = rng.standard_normal((2, 4000, 2))
    for t in range(1, 4000):
        noise[:, t, 1] = 0.8 * noise[:, t - 1, 1] + 0.6 * noise[:, t, 1]
    assert np.isnan(summarized(share[:, :3]).mcse).all()
    # The error of an autoregression of coefficient r is larger by sqrt((1 + r) / (1 - r)).
    np.testing.assert_allclose(summarized(noise).mcse * np.sqrt(8000), [1.0, 3.0], rtol=0.15)


def test_the_fraction_of_draws_with_at_least_the_least_share():
    draws = np.array([[0.0, 0.004, 0.005, 0.3], [0.001, 0.0051, 0.2, 0.0]])[..., None]
    assert summarized(draws).matters == 4 / 8
    assert summarized(draws, 0.3).matters == 1 / 8
    assert summarized(draws, 0.004).matters == 5 / 8


def test_an_interaction_is_as_probable_as_the_draws_in_which_it_matters():
    """The only pair has 24.37 % of Ishigami's variance in draws with its edge, else nothing."""
    joined = np.array([[1, 1, 1, 0, 1, 1, 0, 1, 1, 0], [1, 0, 1, 1, 0, 0, 1, 1, 1, 1]])
    posterior = posterior_of(ishigami, PAIRS, joined[..., None, None] * EDGE, 256, 0.2)
    for least, expected in ((0.005, joined.mean()), (0.22, joined.mean()), (0.26, 0.0)):
        mean, _ = found = posterior.interaction_probabilities(least)
        np.testing.assert_array_equal(mean, expected * EDGE)
        importances = posterior.importances(least_share=least)
        np.testing.assert_array_equal(importances.pairs.matters, mean)
        assert found.names == NAMES
    of_edges = posterior.edge_probabilities()
    found = posterior.interaction_probabilities()
    np.testing.assert_array_equal(found.mcse, found.mcse.T)
    np.testing.assert_allclose(found.mcse[0, 2], of_edges.mcse[0, 2])
    assert found.mcse[0, 1] > 0.0 == found.mcse[0, 0]


def test_an_edge_of_an_additive_function_is_no_interaction():
    """Every draw joins the pair, whose product of kernels explains two main effects."""
    posterior = posterior_of(lambda X: np.sin(4.0 * X[:, 0]) + X[:, 2], PAIRS, EDGE, 256, 0.5)
    assert posterior.edge_probabilities().mean[0, 2] == 1.0
    assert not posterior.interaction_probabilities().mean.any()


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, np.nan, "0.1", None, True])
def test_a_least_share_is_a_share(uncertain: Posterior, share: Any):
    with pytest.raises(ValueError, match=r"least_share must be a number in \(0, 1\), got"):
        uncertain.importances(least_share=share)
    with pytest.raises(ValueError, match=r"least_share must be a number in \(0, 1\), got"):
        uncertain.interaction_probabilities(share)


def test_models_whose_averages_are_unknown():
    line = AdditiveGP(
        lambda num_dims: projected(
            Decomposition.of(jnp.ones((1, 1), bool)), jnp.ones((num_dims, 1))
        )
    )
    posterior = posterior_of(ishigami, PAIRS, EDGE, 4, 0.5)
    with pytest.raises(ValueError, match="importances need a model without a projection"):
        Posterior(line, posterior.X, posterior.y, posterior.draws).interaction_probabilities()
    with pytest.raises(ValueError, match="importances need a model without a projection"):
        Posterior(line, posterior.X, posterior.y, posterior.draws).importances()
    category = AdditiveGP(edges(0.5), categorical=(1,))
    with pytest.raises(ValueError, match="levels of the categorical 'x1' are unknown"):
        Posterior(category, np.empty((0, 3)), [], posterior.draws).importances()


@pytest.mark.nightly
def test_one_parameter_has_all_shares_and_a_constant_none():
    """This includes a single draw, whose Monte Carlo error is unknown, and the prior."""
    values = {"lengthscale": np.ones(1), "outputscale": 1.0, "noise": 0.1}
    one = Posterior.at(PAIRS, [[0.1], [0.7]], [0.3, 0.5], {"Z": np.zeros((1, 1), int), **values})
    for posterior in (one, one.prior(num_draws=4)):
        found = posterior.importances()
        assert found.first_order.mean == found.total.mean == 1.0
    assert np.isnan(one.importances().total.mcse).all()
    constant = AdditiveGP(active_sets())
    none = Posterior.at(
        constant, [[0.1], [0.7]], [0.3, 0.5], {"active": np.zeros(1, int), **values}
    )
    assert not none.importances().to_frame()[["mean", "lower", "upper"]].to_numpy().any()


GRID, NUM_DATA, NOISE = 10, 12, 0.01


def replicated(
    number: int, num_draws: int
) -> list[tuple[Importances, dict[tuple[int, ...], float]]]:
    """Importances of functions from the prior, and the variances of their terms.

    The functions are drawn jointly at the data and on a grid, without random features.
    """
    nodes, weights = (
        np.tile(v[:, None] / 2, (1, 3)) for v in np.polynomial.legendre.leggauss(GRID)
    )
    mesh = np.stack(np.meshgrid(*(nodes.T + 0.5), indexing="ij"), -1).reshape(-1, 3)
    rng = np.random.default_rng(0)
    X = rng.random((NUM_DATA, 3))
    sites = {"lengthscale": np.array([0.4, 0.6, 0.8]), "outputscale": 1.5, "rho": 0.4, "kappa": 1.2}
    with double_precision():
        covariance = AdditiveCovariance(
            pairs(jnp.asarray(EDGE)), jnp.asarray(sites["lengthscale"]), jnp.asarray(1.5), None,
            ProductResidual(jnp.asarray(sites["rho"]), jnp.asarray(sites["kappa"])),
            squared_exponential,
        )  # fmt: skip
        points = jnp.asarray(np.concatenate([X, mesh]))
        gram = np.asarray(covariance(points, points))
    root = np.linalg.cholesky(gram + 1e-9 * np.eye(len(gram)))
    draws = {"Z": EDGE, "noise": NOISE, **sites}
    draws = {name: np.broadcast_to(v, (1, num_draws, *np.shape(v))) for name, v in draws.items()}
    found = []
    for seed in range(number):
        values = root @ rng.standard_normal(len(root))
        y = values[:NUM_DATA] + np.sqrt(NOISE) * rng.standard_normal(NUM_DATA)
        importances = Posterior(WITH_RESIDUAL, X, y, draws).importances(seed=seed)
        cube = values[NUM_DATA:].reshape(GRID, GRID, GRID)
        found.append((importances, grid_variances(cube, weights)))
    return found


def coverage(number: int, num_draws: int) -> np.ndarray:
    """Coverage of the intervals for three main effects, totals and pairs, and higher order."""
    hits = []
    for found, variances in replicated(number, num_draws):
        share = {
            dims: v / (sum(variances.values()) - variances[()]) for dims, v in variances.items()
        }
        first = [share[(d,)] for d in range(3)]
        total = [sum(v for dims, v in share.items() if d in dims) for d in range(3)]
        upper = np.triu_indices(3, 1)
        truth = np.array([*first, *total, *(share[i, j] for i, j in zip(*upper, strict=True))])
        truth = np.append(truth, share[0, 1, 2])
        lower, higher = (
            np.concatenate(
                [
                    getattr(found.first_order, end),
                    getattr(found.total, end),
                    getattr(found.pairs, end)[upper],
                    [getattr(found.higher_order, end)],
                ]
            )
            for end in ("lower", "upper")
        )
        hits.append((lower < truth) & (truth < higher))
    return np.mean(hits, 0)


@pytest.mark.nightly
def test_intervals_hold_the_truth():
    """The bound is 7 of 12 functions per share, which chance misses once in 2000 times."""
    assert (coverage(12, 20) >= 7 / 12).all()


@pytest.mark.nightly
def test_intervals_hold_the_truth_in_ninety_percent_of_cases():
    """The bound for each of ten shares is 3.5 standard errors, sqrt(0.9 * 0.1 / 400)."""
    found = coverage(400, 40)
    print(found.round(3))
    assert (np.abs(found - 0.9) < 3.5 * 0.015).all()
