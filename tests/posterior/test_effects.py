"""Effects are averages of the posterior over the cube, and recover known functions."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from structbo.data import Data
from structbo.draws import condition
from structbo.models import AdditiveGP, Decomposition, Residual, edges, matern52, pairs, projected
from structbo.posterior import Posterior
from structbo.posterior.effects import average
from structbo.posterior.quadrature import Quadrature

NAMES = ("a", "b", "c")


def posterior_of(
    function: Any, model: AdditiveGP, Z: Any, n: int = 60, **sites: float
) -> Posterior:
    """Two draws with these edges, and slightly different other sites; noise has deviation 0.03."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    shape = (1, 2)
    draws = {
        "Z": np.broadcast_to(Z, (*shape, 3, 3)),
        "lengthscale": np.array([[[0.5, 0.6, 0.7], [0.55, 0.6, 0.8]]]),
        "noise": np.array([[0.0009, 0.001]]),
        "outputscale": np.array([[4.0, 5.0]]),
    }
    draws |= {name: np.full(shape, value) for name, value in sites.items()}
    y = np.asarray(function(X)) + 0.03 * rng.standard_normal(n)
    return Posterior(model, X, y, draws, names=NAMES)


EDGE = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("kept", "model", "sites"),
    [
        pytest.param((0,), AdditiveGP(edges(0.5)), {}, marks=pytest.mark.nightly),
        (
            (2, 0),
            AdditiveGP(edges(0.5, pairs), matern52, residual=Residual()),
            {"rho": 0.4, "kappa": 1.5},
        ),
        (
            (1,),
            AdditiveGP(edges(0.5, pairs), residual=Residual(common=dist.Beta(1.0, 1.0))),
            {"rho": 0.7, "kappa": 1.5, "common": 0.6},
        ),
    ],
)
def test_average_is_that_of_the_posterior(kept: tuple[int, ...], model: AdditiveGP, sites: Any):
    """The reference is the joint posterior on a product grid of quadrature nodes."""
    posterior = posterior_of(
        lambda X: np.sin(5 * X[:, 0] * X[:, 1]) + X[:, 2], model, EDGE, 12, **sites
    )
    draw = {name: value[:1, 0] for name, value in posterior.draws.items()}
    data = Data(posterior.X, posterior.y, np.ones(12, bool))
    points, is_kept = (
        np.array([[0.1, 0.2, 0.9], [0.8, 0.2, 0.3]]),
        np.tile(np.isin(range(3), kept), (2, 1)),
    )
    nodes, weights = np.polynomial.legendre.leggauss(24)
    nodes, weights = (nodes + 1) / 2, weights / 2
    others = np.flatnonzero(~is_kept[0])
    mesh = np.stack(np.meshgrid(*[nodes] * len(others), indexing="ij"), -1).reshape(-1, len(others))
    weight = np.prod(np.meshgrid(*[weights] * len(others), indexing="ij"), 0).ravel()
    grids = np.tile(points[:, None], (1, len(mesh), 1))
    grids[:, :, others] = mesh

    @jax.jit
    def computed(draw: Any) -> Any:
        gp = jax.tree.map(lambda v: v[0], condition(model, draw, data))
        found = average(gp, points, is_kept, Quadrature.of([None] * 3))
        return found, jax.lax.map(
            lambda x: (gp.predict(x)[0], gp.covariance_between(x, x)), jnp.asarray(grids)
        )

    (mean, variance), (values, covariances) = jax.tree.map(np.asarray, computed(draw))
    np.testing.assert_allclose(mean, values @ weight, atol=1e-6)
    np.testing.assert_allclose(variance, weight @ covariances @ weight, atol=2e-6)


def test_main_effects_of_an_additive_function_are_in_the_band():
    """For f = sin(4 a) + b^2 - c each average is a term plus the averages of the others."""
    terms = [lambda x: np.sin(4 * x), lambda x: x**2, lambda x: -x]
    averages = np.array([(1 - np.cos(4)) / 4, 1 / 3, -1 / 2])
    posterior = posterior_of(
        lambda X: sum(term(x) for term, x in zip(terms, X.T, strict=True)),
        AdditiveGP(edges(0.5)),
        np.zeros((3, 3)),
    )
    for d, name in enumerate(NAMES):
        found = posterior.effect(name)
        truth = terms[d](found.grid[0]) + averages.sum() - averages[d]
        assert found.names == (name,) and found.mean.shape == (33,)
        assert (found.upper - found.lower).max() < 0.15
        assert (np.abs(found.mean - truth) < 3.0 * found.deviation).all()
        assert ((found.lower < truth) & (truth < found.upper)).mean() > 0.75


def test_surface_of_a_pair_is_close_to_the_truth():
    posterior = posterior_of(
        lambda X: np.sin(2 * X[:, 0] * X[:, 1]) + X[:, 2], AdditiveGP(edges(0.5, pairs)), EDGE, 150
    )
    found = posterior.effect(("b", "a"), num_points=9)
    assert found.names == ("b", "a")
    b, a = np.meshgrid(*found.grid, indexing="ij")
    assert found.mean.shape == found.deviation.shape == (9, 9)
    error = np.abs(found.mean - (np.sin(2 * a * b) + 0.5))
    assert error[1:-1, 1:-1].max() < 0.05
    assert (error < 3.5 * found.deviation).all()
    # The average of the surface over one parameter is the main effect of the other.
    mains = posterior.effect("b", num_points=9)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    x = (nodes + 1) / 2
    expected = [(np.sin(2 * x * value) @ weights) / 2 + 0.5 for value in mains.grid[0]]
    np.testing.assert_allclose(mains.mean, expected, atol=0.04)


def test_deviation_follows_the_law_of_total_variance():
    posterior = posterior_of(lambda X: X[:, 0], AdditiveGP(edges(0.5)), EDGE, 5)
    alone = [  # the draw twice, to reuse the program of two draws
        Posterior(
            posterior.model,
            posterior.X,
            posterior.y,
            {name: value[:, [i, i]] for name, value in posterior.draws.items()},
            names=NAMES,
        ).effect("b")
        for i in range(2)
    ]
    both = posterior.effect("b")
    np.testing.assert_allclose(both.mean, (alone[0].mean + alone[1].mean) / 2)
    within = (alone[0].deviation ** 2 + alone[1].deviation ** 2) / 2
    between = (alone[0].mean - alone[1].mean) ** 2 / 4
    np.testing.assert_allclose(both.deviation**2, within + between)


def test_levels_of_a_category_are_averaged_with_equal_weights():
    model = AdditiveGP(edges(0.5), categorical=(2,))
    posterior = posterior_of(lambda X: X[:, 0], model, EDGE)
    X = posterior.X.copy()
    X[:, 2] = np.where(X[:, 2] < 0.2, 0.0, np.where(X[:, 2] < 0.5, 0.5, 1.0))
    heights = {0.0: 0.0, 0.5: 1.0, 1.0: -0.4}
    y = X[:, 0] + np.array([heights[x] for x in X[:, 2]])
    posterior = Posterior(model, X, y, posterior.draws, names=NAMES)
    number, _, category = posterior.main_effects(num_points=5)
    np.testing.assert_array_equal(category.grid[0], [0.0, 0.5, 1.0])
    np.testing.assert_allclose(category.mean, 0.5 + np.array([0.0, 1.0, -0.4]), atol=0.03)
    np.testing.assert_allclose(number.mean, number.grid[0] + 0.2, atol=0.05)


def test_errors():
    posterior = posterior_of(lambda X: X[:, 0], AdditiveGP(edges(0.5)), EDGE, 4)
    with pytest.raises(ValueError, match=r"names must be one or two .* got \['a', 'd'\]"):
        posterior.effect(("a", "d"))
    with pytest.raises(ValueError, match="names must be one or two different"):
        posterior.effect(("a", "a"))
    line = AdditiveGP(
        lambda num_dims: projected(
            Decomposition.of(jnp.ones((1, 1), bool)), jnp.ones((num_dims, 1))
        )
    )
    with pytest.raises(ValueError, match="need a model without a projection"):
        Posterior(line, posterior.X, posterior.y, posterior.draws).effect("x0")
