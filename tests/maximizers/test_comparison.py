"""The papers' own maximizers find what brute force finds, in few dimensions."""

from itertools import product

import jax.numpy as jnp
import numpy as np
import pytest

from structbo.maximizers.comparison import componentwise_search, direct

LEVELS = [None, np.array([0.0, 0.35, 1.0]), None]
COMPONENTS = [[0, 1], [1, 2]]
FINE = np.linspace(0.0, 1.0, 129)


def rugged(seed: int):
    """A sum over overlapping pairs of random waves."""
    rng = np.random.default_rng(seed)
    frequency, phase = 7.0 * rng.normal(size=(2, 6, 2)), 2.0 * np.pi * rng.random((2, 6))

    def function(x):
        pairs = jnp.stack([x[:, :2], x[:, 1:]])
        return jnp.cos(jnp.einsum("cfa,cna->cnf", frequency, pairs) + phase[:, None]).sum((0, 2))

    return function


def brute_force(function) -> float:
    return float(function(jnp.array(list(product(FINE, LEVELS[1], FINE)))).max())


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2, 3))]
)
def test_direct_finds_the_maximum(seed: int) -> None:
    function = rugged(seed)
    x, value = direct(function, LEVELS, max_evaluations=3000)
    assert x[1] in LEVELS[1]
    assert value == pytest.approx(float(function(x[None])[0]))
    assert value == pytest.approx(brute_force(function), abs=0.02)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_componentwise_search_finds_the_maximum_from_some_start(seed: int) -> None:
    """From every start the search ends at a point that no single component can improve."""
    function = rugged(seed)
    best = []
    for start in product([0.1, 0.9], LEVELS[1], [0.1, 0.9]):
        x, value = componentwise_search(
            function, COMPONENTS, LEVELS, np.array(start), num_grid=len(FINE)
        )
        assert x[1] in LEVELS[1]
        assert value >= float(function(jnp.array([start]))[0])
        for component in COMPONENTS:
            free = [FINE if LEVELS[v] is None else LEVELS[v] for v in range(3)]
            others = product(*(free[v] if v in component else [x[v]] for v in range(3)))
            assert float(function(jnp.array(list(others))).max()) <= value + 1e-9
        best.append(value)
    assert max(best) == pytest.approx(brute_force(function), abs=1e-9)
