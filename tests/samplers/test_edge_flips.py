"""Edges over cliques, whose flips change more than a pair: invariance and effective draws."""

from functools import partial
from time import process_time

import arviz
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from scipy import stats

from structbo.models import AdditiveGP, EdgeBernoulli, cliques, edges
from structbo.samplers import EdgeFlips, EdgeGibbs, InformedEdges
from structbo.samplers.conditional import Conditional
from structbo.samplers.edge_flips import flip_probabilities

NUM_DIMS = 4
PAIRS = np.triu_indices(NUM_DIMS, 1)
FIXED = {
    "lengthscale": jnp.array([0.4, 0.5, 0.55, 0.65]),
    "outputscale": jnp.array(1.2),
    "noise": jnp.array(0.2),
}
MODEL = handlers.condition(AdditiveGP(edges(0.4, partial(cliques, max_size=3))), data=FIXED)


def codes(graphs) -> np.ndarray:
    """A number for every graph, in the order of `all_graphs`."""
    return np.asarray(graphs)[..., *PAIRS] @ 2 ** np.arange(len(PAIRS[0]))[::-1]


@pytest.mark.parametrize("block", [EdgeFlips, InformedEdges])
def test_a_proposal_leaves_the_posterior_as_it_is(block, data, all_graphs, posterior_over):
    """Starts are exact draws, so that frequencies afterwards need no chain that mixes.

    The chi-square of a right block is above its bound with a probability of 0.001. One that leaves
    the proposal probabilities out of the ratio has twice the bound.
    """
    graphs, args, num_starts = all_graphs(NUM_DIMS), data(12, NUM_DIMS), 20_000
    posterior = posterior_over(MODEL, args, "Z", graphs)
    starts = np.random.default_rng(0).choice(len(graphs), num_starts, p=posterior)
    one = block(MODEL)

    @jax.jit
    def ends(keys, Z):
        def end(item):
            key, value = item
            return one.update(key, Conditional(MODEL, "Z", value, args, {}), value)[0]

        return jax.lax.map(end, (keys, Z))

    found = ends(jax.random.split(jax.random.key(1), num_starts), graphs[starts])
    assert np.mean(codes(found) != starts) > 0.3
    counts = np.bincount(codes(found), minlength=len(graphs))
    assert not counts[posterior == 0.0].any()
    expected = num_starts * posterior
    cells = expected > 5.0
    assert cells.sum() > 20
    chi_square = ((counts - expected)[cells] ** 2 / expected[cells]).sum()
    assert chi_square < stats.chi2.isf(0.001, cells.sum())


def test_informed_edges_draw_no_fewer_effective_graphs_than_gibbs(data):
    """By moves, and by CPU seconds, of which gains that do not hold for cliques would take ten."""
    args, num_chains, num_steps = data(12, NUM_DIMS), 4, 1000

    def effective(block):
        @jax.jit
        def chain(key):
            def step(Z, key):
                Z, _ = block.update(key, Conditional(MODEL, "Z", Z, args, {}), Z)
                return Z, Z[PAIRS]

            start = jnp.zeros((NUM_DIMS, NUM_DIMS), int)
            return jax.lax.scan(step, start, jax.random.split(key, num_steps))[1]

        keys = jax.random.split(jax.random.key(2), num_chains)
        chain(keys[0]).block_until_ready()
        began = process_time()
        draws = np.stack([np.asarray(chain(key)) for key in keys])
        seconds = process_time() - began
        found = arviz.ess(arviz.convert_to_dataset({"edges": draws.astype(float)}))
        return float(found["edges"].mean()), seconds

    of_gibbs, of_informed = (
        effective(EdgeGibbs(MODEL, 6)),
        effective(InformedEdges(MODEL, num_flips=6)),
    )
    assert of_informed[0] > of_gibbs[0]
    assert of_informed[0] / of_informed[1] > 0.5 * of_gibbs[0] / of_gibbs[1]


def test_sparse_graphs_lose_as_many_edges_as_they_gain():
    """Half of the proposals follow the prior, under which either is as probable."""
    num_dims = 20
    pairs = np.triu_indices(num_dims, 1)
    prior = EdgeBernoulli(num_dims, 0.05)
    one = jnp.zeros((num_dims, num_dims), int).at[2, 5].set(1).at[5, 2].set(1)
    chances = np.asarray(flip_probabilities(prior, one))
    is_edge = np.asarray(one)[pairs] == 1
    share = 0.95 / (0.95 + 0.05 * (len(is_edge) - 1))
    np.testing.assert_allclose(chances[is_edge], 0.5 * share + 0.5 / len(is_edge))
    np.testing.assert_allclose(chances.sum(), 1.0)
    certain = flip_probabilities(EdgeBernoulli(num_dims, 0.0), 0 * one)
    np.testing.assert_allclose(certain, 1.0 / len(is_edge))
