"""Probabilities and entropies of k-DPPs against the determinants of all sets."""

from itertools import combinations
from math import comb

import jax
import numpy as np
import pytest
from scipy.stats import entropy

from structbo.samplers import kdpp_entropy, kdpp_log_prob
from structbo.samplers.kdpp import entropy as module

KEY = jax.random.key(0)


def wishart(n: int, rank: int) -> np.ndarray:
    factor = np.random.default_rng(2).normal(size=(n, rank))
    return factor @ factor.T


def enumerated(L: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    sets = np.array(list(combinations(range(len(L)), k)))
    weights = np.array([np.linalg.det(L[np.ix_(one, one)]) for one in sets])
    return sets, weights / weights.sum()


@pytest.mark.parametrize("k", [1, 3, 6, 7])
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_probabilities_and_entropy_are_those_of_the_determinants(k: int, scale: float) -> None:
    L = scale * (wishart(7, 7) + np.eye(7))
    sets, expected = enumerated(L, k)
    np.testing.assert_allclose(np.exp(kdpp_log_prob(L, sets)), expected, rtol=1e-8)
    found = kdpp_entropy(KEY, L, k)
    assert found.value == pytest.approx(entropy(expected), abs=1e-10)
    assert found.standard_error == 0.0


def test_sets_of_determinant_zero_are_impossible_and_have_no_entropy() -> None:
    """Two equal items are never drawn together, which leaves two pairs of four weights 6."""
    L = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    log_probs = np.asarray(kdpp_log_prob(L, [[0, 1], [0, 2], [1, 2]]))
    np.testing.assert_allclose(np.exp(log_probs), [0.0, 0.5, 0.5], atol=1e-12)
    assert kdpp_entropy(KEY, L, 2).value == pytest.approx(np.log(2.0))
    assert kdpp_entropy(KEY, L, 0) == (0.0, 0.0)


def test_independent_items_are_all_sets_with_equal_probability() -> None:
    """The closed form log C(n, k), which holds for any multiple of the identity."""
    found = kdpp_entropy(KEY, 3.0 * np.eye(40), 8, num_samples=5)
    assert found.value == pytest.approx(np.log(comb(40, 8)))
    assert found.standard_error == pytest.approx(0.0, abs=1e-9)


def test_an_estimate_agrees_with_the_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within four standard errors, which are right by a factor of 1.3."""
    L = wishart(9, 9)
    exact = kdpp_entropy(KEY, L, 3).value
    monkeypatch.setattr(module, "MAX_SETS", 0)
    found = kdpp_entropy(KEY, L, 3, num_samples=2000)
    assert abs(found.value - exact) < 4.0 * found.standard_error
    _, probabilities = enumerated(L, 3)
    surprises = -np.log(probabilities)
    deviation = np.sqrt(probabilities @ (surprises - exact) ** 2 / 2000)
    assert 1.0 / 1.3 < found.standard_error / deviation < 1.3


def test_what_has_no_entropy_is_refused() -> None:
    with pytest.raises(ValueError, match="L has rank 2"):
        kdpp_entropy(KEY, wishart(5, 2), 3)
    with pytest.raises(ValueError, match="num_samples must be"):
        kdpp_entropy(KEY, np.eye(3), 2, num_samples=1)
