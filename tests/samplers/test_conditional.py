"""The incremental engine agrees with the full log density of the model."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer.util import log_density

from structbo.models import (
    AdditiveGP,
    Decomposition,
    EdgeBernoulli,
    Periodic,
    Residual,
    cliques,
    edges,
    pairs,
)
from structbo.samplers import conditional as conditional_module
from structbo.samplers import edge_gains
from structbo.samplers.conditional import Conditional
from structbo.samplers.edge_gains import flip_gains
from structbo.samplers.informed_edges import InformedEdges

NUM_DIMS = 4


def table(Z: jax.Array) -> Decomposition:
    """A user's own table, which may repeat components and checks its own bound."""
    return replace(rows_of(Z), valid=Z.sum() <= 8)


def rows_of(Z: jax.Array) -> Decomposition:
    """A user's own table for any number of dimensions."""
    return Decomposition.of(Z.astype(bool) | jnp.eye(len(Z), dtype=bool))


def few_edges(Z: jax.Array) -> Decomposition:
    """Cliques, with a user's own bound beside the one that they know."""
    return replace(cliques(Z, max_size=3), valid=Z.sum() <= 8)


CASES = {
    "pairs": (
        pairs,
        {"relevance": dist.HalfNormal(1.0), "residual": Residual(), "categorical": (2,)},
    ),
    "few pairs": (partial(pairs, capacity=2), {"residual": Residual()}),
    "cliques": (cliques, {"relevance": dist.HalfNormal(1.0)}),
    "bounded cliques": (partial(cliques, max_size=2), {}),
    "few cliques": (partial(cliques, capacity=2), {}),
    "cliques of few edges": (few_edges, {}),
    "table": (table, {"residual": Residual()}),
}


QUICK = ("pairs", "cliques")


def conditioned(model, args):
    """The model given a prior draw of everything but the edges."""

    @jax.jit
    def latent():
        trace = handlers.trace(handlers.seed(model, 1)).get_trace(*args)
        return {name: site["value"] for name, site in trace.items() if name not in ("Z", "y")}

    return handlers.condition(model, data=latent())


@pytest.mark.parametrize(
    ("components", "options"),
    [
        pytest.param(*case, id=name, marks=[] if name in QUICK else pytest.mark.nightly)
        for name, case in CASES.items()
    ],
)
def test_moves_between_all_neighbors(components, options, data, all_graphs):
    """Every flip of every graph that is inside the bounds, with padded rows among the data."""
    X, y = data(7, NUM_DIMS)
    args = (X, y, jnp.arange(7) < 6)
    model = conditioned(AdditiveGP(edges(0.3, components=components), **options), args)
    graphs = all_graphs(NUM_DIMS)

    def full(Z):
        return log_density(model, args, {}, {"Z": Z})[0]

    def from_each(Z, neighbors):
        conditional = Conditional(model, "Z", Z, args, {})
        assert conditional.is_incremental
        start = conditional.start(Z)
        moved = jax.lax.map(lambda new: conditional.move(start, new).log_density, neighbors)
        return start.log_density, moved

    # Graphs are in the order of their edges read as binary digits.
    flipped = np.arange(len(graphs))[:, None] ^ (1 << np.arange(NUM_DIMS * (NUM_DIMS - 1) // 2))
    expected = np.asarray(jax.jit(jax.vmap(full))(graphs))
    start, moved = jax.jit(jax.vmap(from_each))(graphs, graphs[flipped])
    np.testing.assert_allclose(start, expected, rtol=1e-9)
    inside = np.isfinite(expected)
    np.testing.assert_allclose(moved[inside], expected[flipped][inside], rtol=1e-9)
    if components in (pairs, cliques):
        assert inside.all()
    else:
        assert 0 < inside.sum() < len(graphs)


@pytest.mark.parametrize("rows", [{}, {"num_inducing": 4}], ids=["exact", "inducing"])
def test_what_is_computed_when_it_is_needed_is_what_is_stored(monkeypatch, data, rows):
    """Above some size, one-dimensional correlations are not kept, and products go in blocks."""
    X, y = data(7, NUM_DIMS)
    kernels = {1: Periodic()}
    model = AdditiveGP(edges(0.3), residual=Residual(), categorical=(2,), kernels=kernels, **rows)
    model = conditioned(model, (X, y))
    Z = jnp.zeros((NUM_DIMS, NUM_DIMS), int).at[[0, 1], [1, 0]].set(1)

    def evaluated():
        conditional = Conditional(model, "Z", Z, (X, y), {})
        start = conditional.start(Z)
        moved = conditional.move(start, Z.at[[1, 2], [2, 1]].set(1), with_solution=True)
        return start.log_density, moved.log_density, flip_gains(conditional, moved)

    stored = jax.jit(evaluated)()
    monkeypatch.setattr(conditional_module, "MAX_STORED", 0)
    monkeypatch.setattr(edge_gains, "BLOCK", 5)
    computed = jax.jit(lambda: evaluated())()
    np.testing.assert_allclose(computed[:2], stored[:2], rtol=1e-12)
    np.testing.assert_allclose(computed[2], stored[2], rtol=1e-4)


@pytest.mark.parametrize("num_columns", [3, 10, 12])
@pytest.mark.parametrize("num_used", [0, 1, 5, 6, 12])
def test_products_of_factors_leave_out_padding_only(monkeypatch, num_columns, num_used):
    monkeypatch.setattr(edge_gains, "BLOCK", 5)
    rng = np.random.default_rng(0)
    factors, weights = rng.normal(size=(4, num_columns)), rng.normal(size=num_columns)
    weights[num_used:] = 0.0
    found = jax.jit(lambda f, w: edge_gains.weighted_products(f, w))(factors, weights)
    np.testing.assert_allclose(found, (factors * weights) @ factors.T, atol=1e-5)


def test_scaled_likelihood(data):
    """A tempered model is the same model under a scale."""
    X, y = data(5, NUM_DIMS)
    gp = AdditiveGP(edges(0.3))

    def tempered(X, y):
        with handlers.scale(scale=0.5):
            return gp(X, y)

    args = (X, y)
    model, plain_model = conditioned(tempered, args), conditioned(gp, args)
    Z = jnp.zeros((NUM_DIMS, NUM_DIMS), int)
    other = Z.at[0, 1].set(1).at[1, 0].set(1)

    @jax.jit
    def densities_and_gains(Z, other):
        conditional = Conditional(model, "Z", Z, args, {})
        assert conditional.is_incremental
        start = conditional.start(Z)
        moved = conditional.move(start, other)
        expected = [log_density(model, args, {}, {"Z": value})[0] for value in (Z, other)]
        plain = Conditional(plain_model, "Z", Z, args, {})
        gains = [flip_gains(c, c.start(Z, True)) for c in (plain, conditional)]
        return [start.log_density, moved.log_density], expected, gains

    found, expected, gains = densities_and_gains(Z, other)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    plain, halved = (np.asarray(gain) - np.log(0.3 / 0.7) for gain in gains)
    assert np.abs(plain).min() > 1e-3
    np.testing.assert_allclose(halved, 0.5 * plain)


def test_priors_that_depend_on_the_structure_count(data):
    """A site below the structure, such as a hyper-prior on how many edges there are."""

    def structure(num_dims):
        Z = numpyro.sample("Z", EdgeBernoulli(num_dims, 0.3))
        numpyro.sample("count", dist.Poisson(2.0), obs=Z.sum() // 2)
        return pairs(Z)

    args = data(5, NUM_DIMS)
    model = conditioned(AdditiveGP(structure), args)
    Z = jnp.zeros((NUM_DIMS, NUM_DIMS), int)
    other = Z.at[0, 1].set(1).at[1, 0].set(1)

    @jax.jit
    def found_and_expected(Z, other):
        conditional = Conditional(model, "Z", Z, args, {})
        moved = conditional.move(conditional.start(Z), other)
        return moved.log_density, log_density(model, args, {}, {"Z": other})[0]

    found, expected = found_and_expected(Z, other)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_an_informed_move_takes_one_factorization(data):
    """The density and the guide share it; others, with jitter, wait in branches."""

    def factorizations(jaxpr):
        count = 0
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            count += name == "cholesky"
            if name not in ("cond", "while"):
                inner = [getattr(part, "jaxpr", part) for part in equation.params.values()]
                count += sum(factorizations(part) for part in inner if hasattr(part, "eqns"))
        return count

    args = data(7, NUM_DIMS)
    model = conditioned(AdditiveGP(edges(0.3), residual=Residual()), args)
    Z = jnp.zeros((NUM_DIMS, NUM_DIMS), int)
    conditional = Conditional(model, "Z", Z, args, {})
    point = InformedEdges(model).start(conditional, Z)

    def guided(Z):
        moved = conditional.move(point, Z, with_solution=True)
        return moved.log_density, flip_gains(conditional, moved)

    assert factorizations(jax.make_jaxpr(guided)(Z).jaxpr) == 1


def test_proposals_flip_some_of_many_edges(data):
    """Without observations each of 28 would be flipped by half of all proposals."""
    num_dims, count = 8, 400
    x, y, mask = jnp.full((2, num_dims), 0.5), jnp.zeros(2), jnp.zeros(2, bool)
    model = conditioned(AdditiveGP(edges(0.5)), data(7, num_dims))
    Z = jnp.zeros((num_dims, num_dims), int)

    @jax.jit
    def flips(keys):
        conditional = Conditional(model, "Z", Z, (x, y), {"mask": mask})
        block = InformedEdges(model)
        point = block.start(conditional, Z)
        return jax.lax.map(lambda k: block.propose(k, conditional, point)[0].value.sum() / 2, keys)

    counts = np.asarray(flips(jax.random.split(jax.random.key(0), count)))
    assert abs(counts.mean() - 0.8 * 8.05) < 4.0 * counts.std() / np.sqrt(count)
