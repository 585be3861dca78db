"""k-DPP samplers against the determinants of all sets; the greedy search against the best set."""

from functools import partial
from itertools import combinations
from math import comb, exp, factorial, log

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from structbo.samplers import (
    greedy_kdpp,
    heat_bath_steps,
    metropolis_steps,
    sample_kdpp,
    sample_kdpp_heat_bath,
    sample_kdpp_mcmc,
)
from structbo.samplers.kdpp.chains import ItemSet

N, K = 8, 3
SUBSETS = np.array(list(combinations(range(N), K)))
NUM_DRAWS = 20_000


def wishart(n: int, seed: int, rank: int | None = None) -> np.ndarray:
    factor = np.random.default_rng(seed).normal(size=(n, n if rank is None else rank))
    return factor @ factor.T


def determinants(L: np.ndarray, subsets: np.ndarray) -> np.ndarray:
    return np.linalg.det(L[subsets[:, :, None], subsets[:, None, :]])


def probabilities(L: np.ndarray) -> np.ndarray:
    found = np.maximum(determinants(L, SUBSETS), 0.0)
    return found / found.sum()


def draw_many(sample, L: np.ndarray, k: int = K, num_draws: int = NUM_DRAWS) -> np.ndarray:
    keys = jax.random.split(jax.random.key(1), num_draws)
    return np.asarray(jax.jit(jax.vmap(lambda key: sample(key, L, k)))(keys))


def exchange_matrix(prob: np.ndarray) -> np.ndarray:
    """Transition matrix of the lazy Metropolis chain, written out."""
    matrix = np.zeros((len(SUBSETS), len(SUBSETS)))
    for a, one in enumerate(SUBSETS):
        for b, other in enumerate(SUBSETS):
            if len(set(one) & set(other)) == K - 1:
                matrix[a, b] = 0.5 * min(1.0, prob[b] / prob[a]) / (K * (N - K))
        matrix[a, a] = 1.0 - matrix[a].sum()
    return matrix


def heat_bath_matrix(prob: np.ndarray) -> np.ndarray:
    matrix = np.zeros((len(SUBSETS), len(SUBSETS)))
    for a, one in enumerate(SUBSETS):
        for removed in one:
            rest = set(one) - {removed}
            reach = [b for b, other in enumerate(SUBSETS) if rest <= set(other)]
            matrix[a, reach] += prob[reach] / prob[reach].sum() / K
    return matrix


# The mean of the total variation between 20,000 draws and 56 probabilities is below
# sqrt(56 / (2 pi 20,000)) = 0.021, its deviation below 1 / (2 sqrt(20,000)) = 0.0035.
TV_BOUND = 0.035


@pytest.mark.parametrize("rank", [None, 5, K])
def test_exact_sampler_draws_in_proportion_to_determinants(rank, total_variation):
    L = wishart(N, 0, rank)
    assert total_variation(draw_many(sample_kdpp, L), SUBSETS, probabilities(L)) < TV_BOUND


def test_exact_sampler_draws_all_items_or_none():
    L = wishart(N, 1)
    assert sample_kdpp(jax.random.key(0), L, 0).shape == (0,)
    assert sample_kdpp(jax.random.key(0), L, N).tolist() == list(range(N))


def test_exact_sampler_with_eigenvalues_beyond_the_range_of_their_products(total_variation):
    """The sixth power of the eigenvalues overflows, their sums of products do not matter."""
    values = np.array([1.0, 2.0, 4.0, 8.0, 3.0, 5.0, 1.5, 0.5]) * 1e60
    L = np.diag(values)
    subsets = np.array(list(combinations(range(N), 6)))
    scaled = np.prod(values[subsets] / 1e60, axis=1)
    draws = draw_many(sample_kdpp, L, k=6)
    assert total_variation(draws, subsets, scaled / scaled.sum()) < TV_BOUND


@pytest.mark.parametrize(
    ("sample", "matrix_of"),
    [(sample_kdpp_mcmc, exchange_matrix), (sample_kdpp_heat_bath, heat_bath_matrix)],
)
@pytest.mark.parametrize("num_steps", [pytest.param(1, marks=pytest.mark.nightly), 4])
def test_chains_make_the_moves_of_their_transition_matrices(
    sample, matrix_of, num_steps, total_variation
):
    L = wishart(N, 2)
    start = np.sort(np.asarray(greedy_kdpp(L, K)))
    row = np.flatnonzero((start == SUBSETS).all(1))[0]
    matrix = matrix_of(probabilities(L))
    np.testing.assert_allclose(probabilities(L) @ matrix, probabilities(L), atol=1e-14)
    draws = draw_many(partial(sample, num_steps=num_steps), L)
    expected = np.linalg.matrix_power(matrix, num_steps)[row]
    assert total_variation(draws, SUBSETS, expected) < TV_BOUND


@pytest.mark.nightly
@pytest.mark.parametrize("sample", [sample_kdpp_mcmc, sample_kdpp_heat_bath])
def test_chains_reach_the_determinants(sample, total_variation):
    L = np.eye(N) + 10.0 * wishart(N, 3, rank=4)
    draws = draw_many(partial(sample, accuracy=0.01), L, num_draws=3_000)
    # Mean below sqrt(56 / (2 pi 3,000)) = 0.055, deviation below 0.01, and the accuracy.
    assert total_variation(draws, SUBSETS, probabilities(L)) < 0.09


@pytest.mark.parametrize(
    ("steps", "matrix_of"),
    [(metropolis_steps, exchange_matrix), (heat_bath_steps, heat_bath_matrix)],
)
def test_steps_are_enough_for_the_accuracy(steps, matrix_of):
    for seed in range(10):
        prob = probabilities(wishart(N, seed) + 1e-3 * np.eye(N))
        start = np.sort(np.asarray(greedy_kdpp(wishart(N, seed) + 1e-3 * np.eye(N), K)))
        row = np.flatnonzero((start == SUBSETS).all(1))[0]
        # The bound's idea of the start: no set is more than (k!)^2 times as probable.
        assert log(1.0 / prob[row]) <= log(comb(N, K)) + 2.0 * log(factorial(K))
        for accuracy in (0.2, 0.01):
            power = np.linalg.matrix_power(matrix_of(prob), steps(N, K, accuracy))
            assert 0.5 * np.abs(power[row] - prob).sum() <= accuracy


def test_exchanges_keep_the_inverse_of_an_ill_conditioned_kernel():
    points = np.linspace(0.0, 1.0, 60)[:, None]
    L = np.exp(-0.5 * (points - points.T) ** 2 / 0.2**2) / 1e-4 + np.eye(60)
    order = np.random.default_rng(0).permutation(60)
    start = ItemSet(jnp.array(order), jnp.linalg.inv(L[np.ix_(order[:5], order[:5])]))

    def exchange(step, chain):
        key_slot, key_place = jax.random.split(jax.random.fold_in(jax.random.key(0), step))
        slot = jax.random.randint(key_slot, (), 0, 5)
        place = jax.random.randint(key_place, (), 5, 60)
        return chain.exchange(jnp.array(L), slot, place, step % 3 != 0)

    end = jax.jit(lambda chain: jax.lax.fori_loop(0, 2000, exchange, chain))(start)
    items = np.asarray(end.order[:5])
    assert sorted(end.order.tolist()) == list(range(60))
    assert set(items) != set(order[:5])
    np.testing.assert_allclose(end.inverse @ L[np.ix_(items, items)], np.eye(5), atol=1e-7)


def test_greedy_guarantee_and_its_usual_quality():
    ratios = []
    for seed in range(60):
        L = wishart(N, seed)
        best = determinants(L, SUBSETS).max()
        ratios.append(determinants(L, np.asarray(greedy_kdpp(L, K))[None])[0] / best)
    assert min(ratios) >= 1.0 / factorial(K) ** 2
    assert max(ratios) <= 1.0 + 1e-12
    assert np.mean(ratios) > 0.9


def test_greedy_takes_the_largest_remaining_variance():
    L = wishart(12, 5)
    items = np.asarray(greedy_kdpp(L, 6))
    for step in range(6):
        given = items[:step]
        solved = np.linalg.solve(L[np.ix_(given, given)], L[given]) if step else np.zeros((0, 12))
        left = np.diag(L) - (L[given] * solved).sum(0)
        left[given] = -np.inf
        assert items[step] == left.argmax()
    assert sorted(greedy_kdpp(L, 12).tolist()) == list(range(12))
    assert greedy_kdpp(L, 0).shape == (0,)


SAMPLERS = [partial(f, jax.random.key(0)) for f in (sample_kdpp, sample_kdpp_mcmc)]


@pytest.mark.parametrize("choose", [*SAMPLERS, greedy_kdpp])
def test_bad_kernels_are_named(choose):
    good = wishart(5, 0)
    with pytest.raises(ValueError, match=r"L has rank 2.*k=3"):
        choose(wishart(5, 0, rank=2), 3)
    with pytest.raises(ValueError, match=r"L must be finite, got L\[1, 2\] = nan"):
        choose(np.where(np.arange(25).reshape(5, 5) == 7, np.nan, good), 2)
    with pytest.raises(ValueError, match=r"L must be symmetric.*\(L \+ L\.T\) / 2"):
        choose(np.triu(good), 2)
    with pytest.raises(ValueError, match="L must be square"):
        choose(good[:4], 2)
    with pytest.raises(ValueError, match="L must be positive semi-definite"):
        choose([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 2)
    with pytest.raises(ValueError, match="L must be positive semi-definite"):
        choose(-good, 2)
    with pytest.raises(ValueError, match="L must be real"):
        choose(1j * good, 2)
    for k in (-1, 6, 2.0, True):
        with pytest.raises(ValueError, match=f"k must be between 0 and the 5 items of L, got {k}"):
            choose(good, k)


def test_bad_spectra_and_accuracies_are_named():
    with pytest.raises(ValueError, match="semi-definite, but its smallest eigenvalue is -1"):
        sample_kdpp(jax.random.key(0), np.diag([1.0, 2.0, -1.0]), 1)
    for sample in (sample_kdpp_mcmc, sample_kdpp_heat_bath):
        with pytest.raises(ValueError, match=r"accuracy must be .* between 0 and 1, got 1"):
            sample(jax.random.key(0), wishart(4, 0), 2, accuracy=1.0)


def test_bounds_fall_with_the_accuracy():
    assert metropolis_steps(50, 5, 1e-4) > metropolis_steps(50, 5, 1e-2)
    ratio = heat_bath_steps(50, 5, 0.01 * exp(-1)) - heat_bath_steps(50, 5, 0.01)
    assert ratio == pytest.approx(2 * 5, abs=1)
