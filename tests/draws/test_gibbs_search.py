"""Gibbs search: full conditionals, the budget of likelihoods, the best draw, renewals."""

from collections import Counter
from itertools import product
from math import perm
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.special import factorial, softmax

from structbo.data import Data
from structbo.draws import GibbsSearch, gibbs_search, log_likelihoods
from structbo.models import (
    AdditiveGP,
    DirichletMultinomialPartition,
    FiniteUniform,
    canonical,
    cliques,
    edges,
    partitions,
)
from structbo.models.foundation.precision import double_precision

LEVELS = [0.2, 0.6]
KNOWN = {"outputscale": FiniteUniform([1.0]), "noise": FiniteUniform([0.1])}


def observed(num_points: int = 8, num_dims: int = 3) -> Data:
    """An interaction of the first two dimensions, and a main effect of the last one."""
    x = np.random.default_rng(3).random((num_points, num_dims))
    y = np.sin(5.0 * x[:, 0] * x[:, 1]) + np.cos(4.0 * x[:, -1])
    return Data.padded(x, (y - y.mean()) / y.std())


def graph_model(probability: float = 0.3, levels: list[float] = LEVELS) -> AdditiveGP:
    return AdditiveGP(edges(probability, cliques), lengthscale=FiniteUniform(levels), **KNOWN)


def partition_model(max_size: int | None = None, num_groups: int = 4) -> AdditiveGP:
    structure = partitions(lambda d: DirichletMultinomialPartition(d, num_groups), max_size)
    return AdditiveGP(structure, lengthscale=FiniteUniform([0.5]), **KNOWN)


def all_graphs(num_dims: int) -> list[np.ndarray]:
    upper = np.triu_indices(num_dims, 1)
    graphs = []
    for bits in product([0, 1], repeat=len(upper[0])):
        Z = np.zeros((num_dims, num_dims), np.int32)
        Z[upper] = bits
        graphs.append(Z + Z.T)
    return graphs


def key_of(draw: dict[str, Any]) -> bytes:
    return b"".join(np.round(np.asarray(draw[name], float), 6).tobytes() for name in sorted(draw))


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> list[gibbs_search._Point]:
    """The visited points, and their evaluations as a counter."""
    noted = []
    draw = gibbs_search._drawn

    def drawn(rng, points):
        noted.append(draw(rng, points))
        return noted[-1]

    monkeypatch.setattr(gibbs_search, "_drawn", drawn)
    return noted


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every draw whose likelihood is computed."""
    noted = []
    log_probs = gibbs_search._log_probs

    def noting(model, draw, data):
        noted.append(draw)
        return log_probs(model, draw, data)

    monkeypatch.setattr(gibbs_search, "_log_probs", noting)
    return noted


def lookup(
    monkeypatch: pytest.MonkeyPatch, model: AdditiveGP, data: Data, draws: list, log_priors: Any
) -> dict:
    """Enumerated log densities, which replace evaluations one by one."""
    with double_precision():
        together = {name: jnp.asarray(np.stack([d[name] for d in draws])) for name in draws[0]}
        likelihoods = np.asarray(log_likelihoods(model, together, data))
    table = dict(zip(map(key_of, draws), zip(log_priors, likelihoods, strict=True), strict=True))
    for draw in draws[:: len(draws) // 3]:
        np.testing.assert_allclose(gibbs_search._log_probs(model, draw, data), table[key_of(draw)])
    monkeypatch.setattr(gibbs_search, "_log_probs", lambda model, draw, data: table[key_of(draw)])
    return table


def check_frequencies(table: dict, visited: list) -> None:
    """Total variation distance to the enumerated posterior below .03; one of a prior is .3."""
    posterior = dict(zip(table, softmax([sum(pair) for pair in table.values()]), strict=True))
    counts = Counter(key_of(point.draw) for point in visited)
    distance = 0.5 * sum(abs(counts[k] / len(visited) - p) for k, p in posterior.items())
    assert 0.05 < max(posterior.values()) < 0.9
    assert distance < 0.03


def test_graphs_and_lengthscales_have_their_enumerated_frequencies(
    monkeypatch: pytest.MonkeyPatch, points: list
) -> None:
    """All 8 graphs of three dimensions times 8 vectors of lengthscales."""
    model, data = graph_model(), observed()
    fixed = {"outputscale": np.array(1.0), "noise": np.array(0.1)}
    vectors = [np.array(v) for v in product(LEVELS, repeat=3)]
    draws = [{"Z": Z, "lengthscale": v} | fixed for Z in all_graphs(3) for v in vectors]
    num_edges = np.array([d["Z"].sum() // 2 for d in draws])
    log_priors = num_edges * np.log(0.3) + (3 - num_edges) * np.log(0.7) - 3.0 * np.log(2.0)
    table = lookup(monkeypatch, model, data, draws, log_priors)
    GibbsSearch(model, 0, 60_000).advance(data)
    # An edge costs one likelihood and so does one of two lengthscales.
    assert len(points) == 59_999
    check_frequencies(table, points)


def test_partitions_have_their_enumerated_frequencies(
    monkeypatch: pytest.MonkeyPatch, points: list
) -> None:
    """The 14 partitions of four dimensions into at most three groups."""
    model, data = partition_model(num_groups=3), observed(num_dims=4)
    fixed = {"lengthscale": np.full(4, 0.5), "outputscale": np.array(1.0), "noise": np.array(0.1)}
    labels = {tuple(np.asarray(canonical(np.array(v)))) for v in product(range(4), repeat=4)}
    assert len(labels) == 15
    draws = [{"labels": np.array(v, np.int32)} | fixed for v in sorted(labels)]
    # Assignments to 3 named groups are Dirichlet-multinomial; k blocks have 3! / (3 - k)! names.
    sizes = [np.bincount(d["labels"]) for d in draws]
    with np.errstate(divide="ignore"):
        log_priors = [np.log(factorial(s).prod() * perm(3, len(s)) * 2 / 720) for s in sizes]
    table = lookup(monkeypatch, model, data, draws, log_priors)
    start = {"labels": np.array([0, 1, 2, 0], np.int32)}
    GibbsSearch(model, 0, 20_000, start).advance(data)
    check_frequencies(table, points)


@pytest.mark.parametrize("num_likelihoods", [1, 2, 7, 20])
def test_the_budget_counts_likelihoods(num_likelihoods: int, evaluations: list) -> None:
    """The start and two sweeps of 3 edges and 3 lengthscales on a set of 3 cost 1 + 2 (3 + 6)."""
    model, data = graph_model(levels=[0.2, 0.4, 0.8]), observed()
    GibbsSearch(model, 0, num_likelihoods).advance(data)
    assert len(evaluations) == min(num_likelihoods, 20)
    np.testing.assert_array_equal(evaluations[0]["Z"], np.zeros((3, 3)))
    np.testing.assert_array_equal(evaluations[0]["lengthscale"], [0.4] * 3)
    if num_likelihoods == 20:
        changed = [[n for n in d if (d[n] != evaluations[0][n]).any()] for d in evaluations[1:4]]
        assert changed == [["Z"]] * 3
        moved = {float(d["lengthscale"][0]) for d in evaluations[4:6]}
        assert moved == {0.2, 0.8}


def test_impossible_partitions_cost_nothing(evaluations: list) -> None:
    """The four dimensions are in two blocks, both of which are full."""
    model, data = partition_model(max_size=2, num_groups=3), observed(num_dims=4)
    start = {"labels": np.array([0, 0, 1, 1], np.int32)}
    GibbsSearch(model, 0, 40, start).advance(data)
    counts = [float(log_likelihoods(model, stacked(d), data)[0]) for d in evaluations]
    assert np.isneginf(counts).any() and np.isfinite(counts).sum() <= 40
    assert len(evaluations) > 40


def stacked(draw: dict[str, Any]) -> dict[str, jax.Array]:
    with double_precision():
        return {name: jnp.asarray(value)[None] for name, value in draw.items()}


def test_the_result_is_the_most_likely_visited_draw_and_the_next_start(
    points: list, evaluations: list
) -> None:
    """The prior does not count, unlike in the draws of edges."""
    model, data = graph_model(0.05, [0.2, 0.4, 0.8]), observed(20)
    search = GibbsSearch(model, 1, 60)
    first = search.advance(data)
    best = max(points, key=lambda point: point.log_likelihood)
    assert best.log_likelihood > points[-1].log_likelihood
    assert key_of(best.draw) == key_of({name: value[0] for name, value in first.items()})
    likelihood = float(log_likelihoods(model, first, data)[0])
    np.testing.assert_allclose(likelihood, best.log_likelihood)
    evaluations.clear()
    second = search.advance(data)
    assert key_of(evaluations[0]) == key_of(best.draw)
    assert float(log_likelihoods(model, second, data)[0]) >= likelihood


def test_known_values_cost_one_likelihood(evaluations: list) -> None:
    model = AdditiveGP(cliques_of_star, lengthscale=FiniteUniform([0.2]), **KNOWN)
    found = GibbsSearch(model, 0, 50).advance(observed())
    assert len(evaluations) == 1
    np.testing.assert_array_equal(found["lengthscale"], [[0.2, 0.2, 0.2]])


def cliques_of_star(num_dims: int) -> Any:
    return cliques(jnp.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]))


def test_what_a_search_cannot_start_from_is_refused() -> None:
    model = AdditiveGP(edges(0.5), lengthscale=dist.LogNormal(0.0, 1.0))
    with pytest.raises(ValueError, match=r"site 'lengthscale' is .*: give it a prior such as Fin"):
        GibbsSearch(model, 0, 10).advance(observed())
    with pytest.raises(ValueError, match=r"start must be possible under the model, got .*labels"):
        GibbsSearch(partition_model(num_groups=2), 0, 10).advance(observed(num_dims=4))
    with pytest.raises(ValueError, match="num_likelihoods must be"):
        GibbsSearch(graph_model(), 0, 0)
