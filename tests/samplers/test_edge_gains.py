"""Gains of all flips of edges, computed jointly and almost exactly."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro import handlers

from structbo.models import AdditiveGP, Interactions, Residual, cliques, edges, pairs
from structbo.samplers import edge_gains as module
from structbo.samplers.conditional import Conditional
from structbo.samplers.edge_gains import flip_gains
from structbo.samplers.edge_gibbs import flipped
from structbo.samplers.low_rank import features

NUM_DIMS, NUM_ROWS = 5, 40
PAIRS = np.triu_indices(NUM_DIMS, 1)
VALUES = {
    "lengthscale": jnp.array([0.4, 0.6, 0.5, 0.9, 0.7]),
    "outputscale": jnp.array(2.0),
    "noise": jnp.array(1e-3),
    "rho": jnp.array(0.1),
    "kappa": jnp.array(2.0),
    "relevance": jnp.array([1.0, 0.5, 2.0, 1.5, 0.1]),
    "heredity": jnp.array(0.5),
    "interaction_scale": jnp.array(0.6),
    "interaction": jnp.linspace(0.2, 2.0, len(PAIRS[0])),
}


CASES = {
    "default": {},
    "residual": {"residual": Residual()},
    "relevance": {"relevance": dist.HalfNormal(1.0)},
    "interactions": {"relevance": dist.HalfNormal(1.0), "interactions": Interactions()},
    "categorical": {"categorical": (3,)},
}


@pytest.fixture
def points():
    """Points, values that the model draws with two edges, and which rows are data."""
    X = np.random.default_rng(1).random((NUM_ROWS, NUM_DIMS))
    X[:, 3] = np.round(3.0 * X[:, 3]) / 3.0
    model = handlers.condition(given_values(), data={"Z": graphs()[2]})
    y = jax.jit(lambda: handlers.trace(handlers.seed(model, 1)).get_trace(X)["y"]["value"])()
    return jnp.asarray(X), y, jnp.arange(NUM_ROWS) < NUM_ROWS - 3


def given_values(components=pairs, **options):
    model = AdditiveGP(edges(0.2, components), **options)
    return handlers.condition(model, data=VALUES)


def graphs():
    """Graphs with zero, one and two edges, in which another edge makes no triangle."""
    Z = np.zeros((4, NUM_DIMS, NUM_DIMS), int)
    Z[1:, 0, 1] = Z[2, 2, 3] = Z[3, 2, 4] = 1
    return jnp.asarray(Z + Z.swapaxes(1, 2))


def gains_and_changes(model, args):
    """Estimated and exact changes of all flips in each graph, shape (2, graphs, edges)."""

    def of(Z):
        conditional = Conditional(model, "Z", Z, args, {})
        start = conditional.start(Z, with_solution=True)
        moves = jax.lax.map(
            lambda flip: conditional.move(start, flipped(Z, flip)).log_density,
            jnp.eye(len(PAIRS[0]), dtype=bool),
        )
        return flip_gains(conditional, start), moves - start.log_density

    return np.asarray(jax.jit(lambda: jax.lax.map(of, graphs()))())


@pytest.mark.parametrize("case", CASES)
def test_gains_are_what_flips_change(case, points):
    """The graphs are the generating one and others; padding is ignored.

    Without edges the gains are less exact, because the data prefer another variance of the existing
    components.
    """
    gains, changes = gains_and_changes(given_values(**CASES[case]), points)
    assert changes[2].min() < -20.0 and changes[3].max() > 2.0
    np.testing.assert_allclose(gains[1:], changes[1:], atol=1.5, rtol=0.1)
    medians = np.median(np.abs(gains - changes), 1)
    assert medians[1:].max() < 0.9 and medians[0] < 2.5
    assert np.corrcoef(gains[0], changes[0])[0, 1] > 0.95


def test_where_other_components_change_gains_are_those_of_the_prior(points):
    """A flip over `cliques` joins and splits whole cliques, whatever their common neighbors."""
    gains, changes = gains_and_changes(given_values(cliques), points)
    is_edge = np.asarray(graphs())[(slice(None), *PAIRS)] == 1
    odds = np.log(0.2 / 0.8)
    np.testing.assert_allclose(gains, np.where(is_edge, -odds, odds))
    assert np.abs(gains - changes).max() > 10.0


def test_what_two_pairs_explain_alike():
    """Either of two edges explains the values, with less variance than both have together.

    With the one, the variance of all components is too small for the values. The other seems to
    make it smaller still: by 10 in log density, if it is forgotten that both explain the same.
    """
    X = np.random.default_rng(0).random((24, 4))
    X[:, 3] = X[:, 0]
    y = np.cos(2 * np.pi * X[:, 0]) * np.cos(2 * np.pi * X[:, 2])
    given = {"lengthscale": jnp.full(4, 0.4), "outputscale": 4.0, "noise": 1e-2}
    model = handlers.condition(AdditiveGP(edges(0.2)), data=given)
    args = jnp.asarray(X), jnp.asarray(y / y.std())
    one = jnp.zeros((4, 4), int).at[0, 2].set(1).at[2, 0].set(1)
    both = one.at[3, 2].set(1).at[2, 3].set(1)
    of_one, of_both = (Conditional(model, "Z", Z, args, {}).start(Z, True) for Z in (one, both))
    change = of_both.log_density - of_one.log_density
    added = flip_gains(Conditional(model, "Z", one, args, {}), of_one)
    removed = flip_gains(Conditional(model, "Z", both, args, {}), of_both)
    np.testing.assert_allclose(added[5], change, atol=2.5)  # edge (2, 3), the last one
    np.testing.assert_allclose(removed[jnp.array([1, 5])], -change, atol=1.0)


def test_first_order_changes_are_far_from_them(points):
    """With small noise, first-order changes have the wrong sign."""
    model, Z = given_values(), graphs()[0]

    @jax.jit
    def first_order():
        conditional = Conditional(model, "Z", Z, points, {})
        start = conditional.start(Z, with_solution=True)
        graph = module._Evaluated.of(conditional, start)
        return module._first_order_gains(conditional, graph)[PAIRS]

    gains, changes = gains_and_changes(model, points)
    errors = np.abs(first_order() + np.log(0.2 / 0.8) - changes[0])
    assert errors.max() > 20.0 * np.abs(gains[0] - changes[0]).max()


@pytest.mark.parametrize("num_refined", [3, 6])
def test_of_many_edges_those_that_matter_are_looked_at(monkeypatch, points, num_refined):
    """Existing edges and the largest gains are refined; other gains are at most the prior's."""
    model = given_values()
    gains, _ = gains_and_changes(model, points)
    monkeypatch.setattr(module, "MAX_REFINED", num_refined)
    screened, _ = gains_and_changes(model, points)
    is_same = np.isclose(screened, gains, rtol=1e-3, atol=1e-2)
    assert (is_same.sum(1) >= num_refined).all()
    is_edge = np.asarray(graphs())[(slice(None), *PAIRS)] == 1
    assert is_same[is_edge].all()
    assert (screened[~is_same] <= np.log(0.2 / 0.8)).all()


def test_inducing_points_tell_nearly_the_same(points):
    """Gains approximate changes of the bound if few inducing points suffice."""
    values = {**VALUES, "noise": jnp.array(0.02), "lengthscale": 2.0 * VALUES["lengthscale"]}
    model = handlers.condition(AdditiveGP(edges(0.2), num_inducing=25), data=values)
    gains, changes = gains_and_changes(model, points)
    assert np.corrcoef(gains[1:].ravel(), changes[1:].ravel())[0, 1] > 0.9


def test_features_leave_little_of_smooth_correlations():
    x = np.random.default_rng(0).random(60)
    correlations = np.exp(-0.5 * ((x[:, None] - x) / 0.3) ** 2)
    rows = np.asarray(jax.jit(features)(jnp.asarray(correlations)), float)
    rest = correlations - rows.T @ rows
    assert np.abs(rest).max() < 5e-3
    assert np.linalg.eigvalsh(rest).min() > -1e-5
    lengths = np.square(rows).sum(1)
    assert (np.diff(lengths) <= 0.0).all()
    np.testing.assert_allclose(rows @ rows.T, np.diag(lengths), atol=1e-4)


def test_features_of_few_rows():
    """Fewer rows than features, some of them equal, and padding."""
    correlations = jnp.ones((3, 3)).at[2].set(0.0).at[:, 2].set(0.0)
    rows = features(correlations)
    np.testing.assert_allclose(rows.T @ rows, correlations, atol=1e-6)
