"""Edge samplers against the enumerated posterior over all graphs."""

from functools import partial

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import numpyro.distributions as dist
import pytest
from networkx.algorithms.approximation import treewidth_min_degree
from numpyro import handlers
from numpyro.infer import MCMC, NUTS, Gibbs

from structbo.models import (
    AdditiveGP,
    Centered,
    Interactions,
    OtherOrders,
    Residual,
    adjacency,
    cliques,
    edges,
    matern52,
    pairs,
)
from structbo.samplers import EdgeFlips, EdgeGibbs, InformedEdges, edge_gains

NUM_DIMS = 4
SCALARS = {"outputscale": jnp.array(1.0), "noise": jnp.array(0.1)}
FIXED = {
    **SCALARS,
    "lengthscale": jnp.array([0.3, 0.4, 0.5, 0.6]),
    "rho": jnp.array(0.2),
    "kappa": jnp.array(2.0),
    "relevance": jnp.array([1.0, 0.4, 2.0, 0.7]),
    "reach": jnp.array(0.5),
    "interaction_scale": jnp.array(0.6),
    "interaction": jnp.array([0.2, 1.0, 3.0, 0.5, 2.0, 0.1]),
}
UNEQUAL = np.array([[0, 0.3, 0.6, 0.2], [0.3, 0, 0.4, 0.5], [0.6, 0.4, 0, 0.3], [0.2, 0.5, 0.3, 0]])
CASES = {
    "pairs": (pairs, {}),
    "strengths": (
        pairs,
        {
            "kernel": Centered(matern52),
            "relevance": dist.HalfNormal(1.0),
            "interactions": Interactions(),
            "residual": OtherOrders(),
        },
    ),
    "cliques": (cliques, {"residual": Residual()}),
    "bounded cliques": (partial(cliques, max_size=2), {}),
    "unequal weights": (cliques, {"relevance": dist.HalfNormal(1.0)}),
}


def edge_model(components, options):
    """A model whose edge matrix is the only unknown."""
    model = AdditiveGP(edges(UNEQUAL, components=components), **options)
    return handlers.condition(model, data=FIXED)


@pytest.mark.parametrize(
    ("case", "block"),
    [
        pytest.param("pairs", partial(EdgeGibbs, num_moves=4), marks=pytest.mark.nightly),
        ("pairs", partial(InformedEdges, num_moves=2)),
        ("strengths", partial(InformedEdges, num_moves=2)),
        ("cliques", partial(EdgeFlips, num_moves=3)),
        pytest.param("cliques", partial(EdgeGibbs, num_moves=3), marks=pytest.mark.nightly),
        pytest.param("cliques", partial(InformedEdges, num_moves=2), marks=pytest.mark.nightly),
        *[
            pytest.param(case, partial(InformedEdges, num_moves=2), marks=pytest.mark.nightly)
            for case in ("bounded cliques", "unequal weights")
        ],
    ],
    ids=lambda part: part if isinstance(part, str) else part.func.__name__,
)
def test_frequencies_of_graphs(
    case, block, effort, data, all_graphs, posterior_over, run_block, check_frequencies
):
    graphs, args = (
        all_graphs(NUM_DIMS),
        data(12 if "cliques" in case or case == "unequal weights" else 8, NUM_DIMS),
    )
    model = edge_model(*CASES[case])
    posterior = posterior_over(model, args, "Z", graphs)
    assert 0.02 < posterior.max() < 0.9  # neither flat nor a point: an informative test
    starts = jnp.zeros((20, NUM_DIMS, NUM_DIMS), int)
    draws = run_block(block(model), args, "Z", starts, 50 + int(5000 * effort))[:, 50:]
    check_frequencies(draws, graphs, posterior)


def test_frequencies_of_graphs_whose_edges_are_not_all_looked_at_closely(
    monkeypatch, effort, data, all_graphs, posterior_over, run_block, check_frequencies
):
    """Refinement is limited, as for graphs of more than 20 parameters."""
    monkeypatch.setattr(edge_gains, "MAX_REFINED", 2)
    graphs, args = all_graphs(NUM_DIMS), data(8, NUM_DIMS)
    model = edge_model(*CASES["pairs"])
    starts = jnp.zeros((20, NUM_DIMS, NUM_DIMS), int)
    block = InformedEdges(model, num_moves=2)
    draws = run_block(block, args, "Z", starts, 50 + int(5000 * effort))[:, 50:]
    check_frequencies(draws, graphs, posterior_over(model, args, "Z", graphs))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("max_width", "block"),
    [
        (1, partial(EdgeGibbs, num_moves=3)),
        pytest.param(1, partial(InformedEdges, num_moves=2), marks=pytest.mark.nightly),
        pytest.param(2, partial(InformedEdges, num_moves=2), marks=pytest.mark.nightly),
    ],
    ids=lambda part: str(part) if isinstance(part, int) else part.func.__name__,
)
def test_frequencies_of_graphs_of_bounded_treewidth(
    max_width, block, effort, data, all_graphs, posterior_over, run_block, check_frequencies
):
    """A bound on the treewidth restricts the posterior, and no chain ever leaves it."""
    graphs, args = all_graphs(NUM_DIMS), data(12, NUM_DIMS)
    probs = UNEQUAL ** (1 / max_width)  # of all 64 graphs, only the complete one is wider than 2
    free = handlers.condition(AdditiveGP(edges(probs, cliques)), data=FIXED)
    model = handlers.condition(AdditiveGP(edges(probs, cliques, max_width=max_width)), data=FIXED)
    unbounded = posterior_over(free, args, "Z", graphs)
    fits = np.array([treewidth_min_degree(nx.Graph(g))[0] <= max_width for g in np.array(graphs)])
    assert unbounded[~fits].sum() > 0.02
    posterior = np.where(fits, unbounded, 0.0) / unbounded[fits].sum()
    assert 0.02 < posterior.max() < 0.9
    np.testing.assert_allclose(posterior_over(model, args, "Z", graphs), posterior, rtol=1e-9)
    starts = jnp.zeros((20, NUM_DIMS, NUM_DIMS), int)
    draws = run_block(block(model), args, "Z", starts, 50 + int(5000 * effort))
    check_frequencies(draws[:, 50:], graphs, posterior)


@pytest.mark.nightly
def test_frequencies_through_mcmc(effort, data, all_graphs, posterior_over, check_frequencies):
    """The same comparison through NumPyro's own interface."""
    graphs, args = all_graphs(NUM_DIMS), data(12, NUM_DIMS)
    model = edge_model(pairs, {})
    kernel = Gibbs([(EdgeGibbs(model, num_moves=3), ["Z"])])
    mcmc = MCMC(
        kernel,
        num_warmup=50,
        num_samples=int(5000 * effort),
        num_chains=20,
        chain_method=jax.vmap,
        progress_bar=False,
    )
    mcmc.run(jax.random.key(1), *args)
    posterior = posterior_over(model, args, "Z", graphs)
    check_frequencies(mcmc.get_samples(group_by_chain=True)["Z"], graphs, posterior)


@pytest.mark.nightly
def test_composed_with_nuts_as_in_the_design(data):
    """Design, section 4.2: the kernel is NumPyro's own composition in NumPyro's own `MCMC`."""
    model = AdditiveGP()
    kernel = Gibbs([(EdgeGibbs(model), ["Z"]), (NUTS(model), None)])
    mcmc = MCMC(
        kernel,
        num_warmup=10,
        num_samples=15,
        num_chains=2,
        chain_method="sequential",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), *data(8, 3))
    draws = mcmc.get_samples(group_by_chain=True)
    shapes = {name: draw.shape for name, draw in draws.items()}
    assert shapes == {
        "Z": (2, 15, 3, 3),
        "lengthscale": (2, 15, 3),
        "outputscale": (2, 15),
        "noise": (2, 15),
    }
    assert adjacency(draws["Z"]).all()
    assert len(np.unique(np.asarray(draws["Z"]).reshape(30, -1), axis=0)) > 1
    assert all(np.isfinite(draw).all() for draw in draws.values())


@pytest.mark.nightly
@pytest.mark.parametrize("block", [EdgeGibbs, InformedEdges])
def test_chain_enters_the_support_from_outside(block, data, run_block):
    """The prior does not know the bounds of cliques: a chain may start where no flip is valid."""
    model = edge_model(*CASES["bounded cliques"])
    complete = jnp.ones((1, NUM_DIMS, NUM_DIMS), int) - jnp.eye(NUM_DIMS, dtype=int)
    draws = run_block(block(model), data(12, NUM_DIMS), "Z", complete, 20)
    last = np.asarray(draws[0, -1])
    assert np.trace(last @ last @ last) == 0  # no triangles
    assert len(np.unique(draws[0, 10:].reshape(10, -1), axis=0)) > 1


@pytest.mark.parametrize("block", [EdgeGibbs, InformedEdges])
def test_one_dimension_has_no_edges(block, run_block):
    model = handlers.condition(AdditiveGP(), data={"lengthscale": jnp.array([0.5]), **SCALARS})
    args = (jnp.linspace(0, 1, 5)[:, None], jnp.arange(5.0))
    draws = run_block(block(model), args, "Z", jnp.zeros((1, 1, 1), int), 3)
    assert not draws.any()


def test_outside_of_gibbs_a_block_says_what_to_do(data):
    block = EdgeGibbs(AdditiveGP())
    with pytest.raises(ValueError, match=r"use it as a block of numpyro\.infer\.Gibbs"):
        block.init(jax.random.key(0), 0, None, data(5, 3), {})


@pytest.mark.parametrize("pair", [(0, 1), (2, 3)])
def test_an_edge_that_explains_nothing_does_not_stay_where_noise_is_small(pair):
    """First-order scores alone would not propose the way back: it stays for hundreds of moves."""
    rng = np.random.default_rng(0)
    X = rng.random((40, NUM_DIMS))
    y = np.sin(5.0 * X).sum(1)
    args = jnp.asarray(X), jnp.asarray((y - y.mean()) / y.std())
    given = {
        "lengthscale": jnp.full(NUM_DIMS, 0.4),
        "outputscale": jnp.array(1.0),
        "noise": jnp.array(1e-4),
    }
    kernel = InformedEdges(handlers.condition(AdditiveGP(edges(0.2)), data=given))
    Z = jnp.zeros((NUM_DIMS, NUM_DIMS), int).at[pair].set(1).at[pair[::-1]].set(1)
    step = jax.jit(lambda state: kernel.sample(state, args, {}))
    state = kernel.init(jax.random.key(1), 0, {"Z": Z}, args, {})
    for _ in range(5):
        state = step(state)
    assert not state.z["Z"].any()
