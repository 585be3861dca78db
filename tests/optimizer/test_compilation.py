"""A run of hundreds of evaluations compiles a few functions, once per padded size.

The tests count all compilations that JAX logs while one engine proposes points for a growing table.
"""

from collections.abc import Callable

import jax
import numpy as np
import pytest
from short_runs import slow_schedule

from structbo import Categorical, Integer, Space, suggest
from structbo.draws import maximum_likelihood
from structbo.models import AdditiveGP, partitions
from structbo.models.foundation.program import compiler_options
from structbo.optimizer import Engine

SPACE = Space({"lr": (1e-3, 1.0, "log"), "k": Integer(1, 5), "act": Categorical(["a", "b", "c"])})
SIZES = (20, 64, 65, 103)
SOON = range(52, 64)
"""The numbers of observations at which the next padded size is prepared."""
PREPARED = ["_warp", "run", "_conditioned", "search_starts", "_value_and_gradient"]
FUNCTIONS = {"start", "run", "_conditioned", "search_starts", "_value_and_gradient"}
"""All functions compiled for a suggestion, except for a few primitives outside of them."""


def table(num_points: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and values; the parity of the seed decides which pair interacts."""
    x = SPACE.snap(np.random.default_rng(seed).random((num_points, 3)))
    pair = x[:, 0] * x[:, 1] if seed % 2 else x[:, 1] * x[:, 2]
    return x, np.sin(6.0 * x[:, 0]) + 3.0 * pair


def waves(num_points: int, num_dims: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and values.

    Every test uses other dimensions, so that no other test compiles its programs.
    """
    x = np.random.default_rng(0).random((num_points, num_dims))
    return x, np.sin(x.sum(1))


def test_the_counter_counts(compiled) -> None:
    def brand_new(x: jax.Array) -> jax.Array:
        return x + 1.0

    function = jax.jit(brand_new)
    assert compiled(lambda: function(np.ones(2))) == ["brand_new"]
    assert compiled(lambda: function(np.ones(2))) == []
    assert compiled(lambda: function(np.ones(3))) == ["brand_new"]


@pytest.mark.nightly
def test_a_first_suggestion_compiles_few_programs(compiled) -> None:
    """Hardly any besides the large ones: each operation outside of them compiles another."""
    jax.clear_caches()
    compiler_options()  # tries them out, once for a process
    x = np.random.default_rng(0).random((8, 4))
    engine = Engine(Space.box([[0.0, 1.0]] * 4), seed=0)
    names = compiled(lambda: engine.propose(x, x.sum(1), np.empty((0, 4)), 1))
    assert set(names) >= FUNCTIONS
    assert len(names) <= 24, names


def slow_engine(space: Space, seed: int = 0) -> Engine:
    """An engine of a run with slow evaluations."""
    engine = Engine(space, seed=seed)
    engine.ahead = slow_schedule()
    return engine


def proposals(engine: Engine, x: np.ndarray, y: np.ndarray, n: int) -> Callable[[], None]:
    """A proposal from n observations, and the preparation of the next ones."""

    def run() -> None:
        engine.propose(x[:n], y[:n], np.empty((0, x.shape[1])), 1)
        engine.prepare(x[:n], 1)

    return run


@pytest.mark.nightly
def test_a_growing_table_compiles_shortly_before_its_padded_size_grows(compiled) -> None:
    engine = slow_engine(SPACE)
    x, y = table(128, seed=0)
    new = [compiled(proposals(engine, x, y, n)) for n in SIZES]
    assert set(new[0]) >= FUNCTIONS
    assert new[1:] == [PREPARED, [], []]
    assert compiled(lambda: engine.propose(x, y, np.empty((0, 3)), 1)) == [], "the last of its size"

    engine = slow_engine(SPACE, seed=1)
    x, y = table(max(SIZES), seed=1)
    for n in SIZES:
        assert compiled(proposals(engine, x, y, n)) == []


@pytest.mark.nightly
def test_at_most_one_program_is_prepared_after_a_proposal(compiled) -> None:
    engine = slow_engine(Space.box([[0.0, 1.0]] * 5))
    x, y = waves(64, 5)
    compiled(proposals(engine, x, y, SOON[0] - 1))
    new = [compiled(proposals(engine, x, y, n)) for n in SOON]
    assert max(map(len, new)) == 1
    assert [name for names in new for name in names] == PREPARED


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("batch", "num_dims", "last"),
    [("believer", 6, []), ("dpp_max", 8, ["candidates", "_moments"])],
)
def test_batches_are_prepared_with_their_first_points(batch, num_dims, last, compiled) -> None:
    """Programs of batches are compiled with the others, also for the next padded size."""
    engine = Engine(Space.box([[0.0, 1.0]] * num_dims), seed=0, batch=batch, num_initial=20)
    x, y = waves(72, num_dims)
    none = np.empty((0, num_dims))

    def asked(n: int) -> list[str]:
        return [*compiled(lambda: engine.propose(x[:n], y[:n], none, 4))]

    names = compiled(lambda: engine.prepare(x[:16], 4))
    assert names[len(names) - len(last) :] == last
    first = asked(20)
    assert not {*first} & {*names}
    assert compiled(lambda: engine.prepare(x[:60], 4)) == [*PREPARED, *last]
    assert not {*asked(64), *asked(68)} & {*PREPARED, *last}


def test_a_single_suggestion_prepares_nothing(compiled) -> None:
    names = compiled(lambda: suggest(Space.box([[0.0, 1.0]] * 7), [], [], n=20, num_initial=20))
    assert not {*names} & FUNCTIONS


@pytest.mark.nightly
def test_maximum_likelihood_compiles_once_per_padded_size(compiled) -> None:
    """This holds for any structure and any number of observations within a padded size."""
    model = AdditiveGP(partitions())
    x, y = table(100, seed=0)

    def fit(n: int, labels: list[int]) -> list[str]:
        return compiled(lambda: maximum_likelihood(model, x[:n], y[:n], {"labels": labels}))

    assert fit(20, [0, 0, 1]).count("loss") == 1
    assert fit(20, [0, 1, 2]) == fit(21, [0, 0, 0]) == fit(64, [0, 1, 1]) == []
    assert fit(65, [0, 1, 1]) == ["loss"]
    assert fit(100, [0, 1, 0]) == fit(21, [0, 1, 0]) == []
