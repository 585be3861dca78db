"""Edge matrices as random variables."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import Predictive

from structbo.models import EdgeBernoulli, adjacency, cliques, edges, pairs

NUM_DIMS = 4
UPPER = np.triu_indices(NUM_DIMS, 1)

MATRIX = np.zeros((NUM_DIMS, NUM_DIMS))
MATRIX[UPPER] = [0.05, 0.2, 0.35, 0.5, 0.7, 0.95]
MATRIX += MATRIX.T


@jax.jit
def log_prob(law: EdgeBernoulli, graphs: jax.Array) -> jax.Array:
    return law.log_prob(graphs)


each_probability = pytest.mark.parametrize("probs", [0.3, MATRIX], ids=["number", "matrix"])


@each_probability
def test_frequencies(probs):
    num_draws = 20_000
    Z = EdgeBernoulli(NUM_DIMS, probs).sample(jax.random.key(0), (num_draws,))
    assert Z.shape == (num_draws, NUM_DIMS, NUM_DIMS)
    assert adjacency(Z).all()
    each = np.broadcast_to(probs, MATRIX.shape)[UPPER]
    edge_draws = np.asarray(Z)[:, UPPER[0], UPPER[1]]
    error = np.sqrt(each * (1 - each) / num_draws)
    assert (np.abs(edge_draws.mean(0) - each) < 4 * error).all()
    correlation = np.corrcoef(edge_draws.T) - np.eye(len(each))
    assert np.abs(correlation).max() < 4.5 / np.sqrt(num_draws)


@each_probability
def test_log_prob_is_the_product_over_pairs(probs):
    prior = EdgeBernoulli(NUM_DIMS, probs)
    Z = np.random.default_rng(1).integers(0, 2, (5, NUM_DIMS, NUM_DIMS))
    Z = np.triu(Z, 1) + np.swapaxes(np.triu(Z, 1), 1, 2)
    each = np.broadcast_to(probs, MATRIX.shape)[UPPER]
    present = Z[:, UPPER[0], UPPER[1]] == 1
    expected = np.log(np.where(present, each, 1 - each)).sum(1)
    np.testing.assert_allclose(log_prob(prior, Z), expected, rtol=1e-12)
    np.testing.assert_allclose(log_prob(prior, Z[0]), expected[0], rtol=1e-12)


def test_probabilities_sum_to_one_over_all_graphs():
    """Some edges are impossible or certain, with densities zero and one."""
    matrix = np.array([[0, 0.3, 0.0], [0.3, 0, 1.0], [0.0, 1.0, 0]])
    upper = np.zeros((8, 3, 3), int)
    upper[:, [0, 0, 1], [1, 2, 2]] = np.indices((2, 2, 2)).reshape(3, -1).T
    graphs = upper + np.swapaxes(upper, 1, 2)
    for probs in (0.2, matrix):
        density = np.exp(log_prob(EdgeBernoulli(3, probs), graphs))
        np.testing.assert_allclose(density.sum(), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("matrix", "is_inside"),
    [
        ([[0, 1], [1, 0]], True),
        ([[0, 1], [0, 0]], False),
        ([[1, 0], [0, 0]], False),
        ([[0, 2], [2, 0]], False),
        ([[0.0, 0.5], [0.5, 0.0]], False),
    ],
)
def test_support(matrix, is_inside):
    assert bool(adjacency(jnp.array(matrix))) == is_inside
    assert adjacency.is_discrete
    assert adjacency.event_dim == 2


@pytest.mark.parametrize(
    ("probs", "message"),
    [
        (np.full((3, 3), 0.5), r"probs must be a number or an array of shape \(4, 4\), got .*3, 3"),
        (1.2, r"probs must be in \[0, 1\], got 1.2"),
        (np.full((4, 4), -0.1), r"probs must be in \[0, 1\]"),
        (np.nan, r"probs must be in \[0, 1\], got nan"),
    ],
)
def test_errors_name_the_argument(probs, message):
    with pytest.raises(ValueError, match=message):
        EdgeBernoulli(NUM_DIMS, probs)


def test_distribution_passes_through_jit_and_vmap():
    Z = jnp.zeros((3, 3), int)
    priors = jax.vmap(lambda p: EdgeBernoulli(3, p))(jnp.array([0.1, 0.6]))
    densities = jax.jit(jax.vmap(lambda prior: prior.log_prob(Z)))(priors)
    np.testing.assert_allclose(densities, 3 * np.log([0.9, 0.4]), rtol=1e-12)


def test_random_probability_makes_edges_exchangeable():
    """Edges are Beta-Bernoulli: P(edge) = a / (a + b), P(two edges) = a(a+1) / ((a+b)(a+b+1))."""
    num_draws = 20_000
    structure = edges(dist.Beta(1.0, 3.0))
    draws = Predictive(lambda: structure(3), num_samples=num_draws)(jax.random.key(2))
    assert set(draws) == {"edge_probability", "Z"}
    first, second = draws["Z"][:, 0, 1], draws["Z"][:, 1, 2]
    for observed, expected in ((first, 1 / 4), (first * second, 2 / 20)):
        error = np.sqrt(expected * (1 - expected) / num_draws)
        assert abs(observed.mean() - expected) < 4 * error


@pytest.mark.parametrize("num_dims", [1, 2, 3, 10])
def test_default_probability_expects_at_most_half_an_edge_per_dimension(num_dims: int):
    @jax.jit
    def probability(key):
        with handlers.seed(rng_seed=key), handlers.trace() as trace:
            edges()(num_dims)
        return trace["Z"]["fn"].probs

    expected_edges = probability(jax.random.key(0)) * num_dims * (num_dims - 1) / 2
    assert expected_edges <= num_dims / 2


@pytest.mark.parametrize("components", [pairs, cliques])
def test_structure_returns_the_components_of_its_edges(components):
    structure = edges(MATRIX, components=components)

    @jax.jit
    def both(Z):
        with handlers.substitute(data={"Z": Z}):
            got = structure(NUM_DIMS)
        return got.members, components(Z).members

    np.testing.assert_array_equal(*both(np.array(MATRIX > 0.3, int)))


def test_invalid_value_warns_under_validation():
    with (
        numpyro.validation_enabled(),
        pytest.warns(UserWarning, match="Out-of-support values"),
    ):
        EdgeBernoulli(2, 0.5).log_prob(jnp.ones((2, 2)))


def test_gradient_by_the_probabilities_ignores_the_diagonal_and_what_did_not_happen():
    """A prior that decays with the distance has probability one on the diagonal."""
    distance = jnp.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    Z = jnp.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])

    def density(decay):
        return EdgeBernoulli(3, jnp.exp(-decay * distance)).log_prob(Z)

    p1, p2 = np.exp(-0.7), np.exp(-1.4)
    expected = -1.0 + 2.0 * p2 / (1.0 - p2) + p1 / (1.0 - p1)
    np.testing.assert_allclose(jax.jit(jax.grad(density))(0.7), expected, rtol=1e-6)
