"""Every maximizer of the registry finds the maximum of a function, and of an acquisition."""

import pickle
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import structbo as sb
from structbo.maximizers import (
    MAXIMIZERS,
    Components,
    Maximizer,
    MultiStart,
    Search,
    as_maximizer,
    evaluate,
)
from structbo.maximizers.junction_tree import dependency_graph, make_layout, triangulate
from structbo.models import AdditiveGP, main_effects
from structbo.recipes.variable_selection import OnSlice
from structbo.space import Levels

LEVELS = [None, np.array([0.0, 0.35, 1.0]), None]
KEY = jax.random.key(0)
SPACE = sb.Space({"a": (0.0, 1.0), "b": sb.Integer(0, 3)})
REFINING = ("multi_start", "coordinate_ascent", "gradient_ascent", "direct")


def bump(x: jax.Array) -> jax.Array:
    """A function with its maximum at (0.3, 0.35, 0.8)."""
    return -jnp.square(x - jnp.array([0.3, 0.4, 0.8])).sum(1)


FUNCTION = jax.tree_util.Partial(bump)
SCOPES = (np.array([[0, 1]]), np.array([[2]]))
LAYOUT = make_layout(triangulate(dependency_graph(SCOPES, 3)), SCOPES, num_grid=3)


def search(maxima: np.ndarray) -> Search:
    legal = Levels.of(LEVELS)
    candidates = jax.jit(legal.even)(np.random.default_rng(0).random((64, 3)))
    members = np.array([[[True, True, False], [False, False, True]]])
    return Search(
        levels=legal,
        candidates=jnp.asarray(np.concatenate([maxima, candidates])),
        best=candidates[0],
        num_observed=8.0,
        components=Components.of(members),
        layouts=LAYOUT,
        key=KEY,
        maxima=maxima,
    )


@pytest.mark.parametrize("name", MAXIMIZERS)
def test_the_first_point_is_at_least_as_good_as_every_start(name: str) -> None:
    maximizer = MAXIMIZERS[name]
    state = search(np.array([[0.9, 1.0, 0.1], [0.31, 0.35, 0.7]]))
    state = state._replace(starts=jax.jit(maximizer.starts)(FUNCTION, state))
    points = np.asarray(maximizer(FUNCTION, state))
    values = np.asarray(evaluate(FUNCTION, points))
    assert points.shape[1] == 3 and ((points >= 0.0) & (points <= 1.0)).all()
    assert set(points[:, 1].tolist()) <= {0.0, 0.35, 1.0}
    assert (np.diff(values) <= 0.0).all(), "best first"
    assert values[0] >= np.max(evaluate(FUNCTION, state.starts))
    if name in REFINING:
        np.testing.assert_allclose(points[0], [0.3, 0.35, 0.8], atol=0.1)


def test_a_slice_has_the_best_of_its_candidates_as_starts() -> None:
    """On the slice, the order of the candidates is not the one in the whole space."""
    state = search(np.array([[0.9, 1.0, 0.1]]))
    maximizer = OnSlice((None, None, 0.0))
    starts = np.asarray(jax.jit(maximizer.starts)(FUNCTION, state))
    on_slice = np.array(state.candidates) * [1.0, 1.0, 0.0]
    values = np.sort(np.asarray(evaluate(FUNCTION, on_slice)))[::-1]
    best = starts[MultiStart().num_coordinate :]
    np.testing.assert_allclose(evaluate(FUNCTION, best), values[: len(best)])


@pytest.mark.parametrize("name", ["direct", "componentwise"])
def test_baselines_end_inside_of_the_constraints(name: str) -> None:
    """The maximum of the whole cube is far outside."""
    space = sb.Space(
        {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)},
        constraints=[sb.LinearConstraint({"a": 1.0, "c": 1.0}, high=0.5)],
    )
    levels = space.legal_coordinates()
    starts = jax.jit(levels.even)(np.random.default_rng(0).random((64, 3)))
    state = search(np.zeros((0, 3)))._replace(levels=levels, starts=starts)
    points = np.asarray(MAXIMIZERS[name](FUNCTION, state))
    assert (points[:, 0] + points[:, 2] <= 0.5).all()
    assert evaluate(FUNCTION, points)[0] >= np.max(evaluate(FUNCTION, starts))


@pytest.mark.parametrize("name", MAXIMIZERS)
def test_maximizers_are_values(name: str) -> None:
    maximizer = MAXIMIZERS[name]
    copied = pickle.loads(pickle.dumps(maximizer))
    assert copied is not maximizer and copied == maximizer
    assert hash(copied) == hash(maximizer)
    assert repr(copied) == repr(maximizer)
    assert [other for other in MAXIMIZERS.values() if other == maximizer] == [maximizer]


def suggested(maximizer: Any) -> dict[str, Any]:
    x = SPACE.from_unit(SPACE.snap(np.random.default_rng(0).random((8, 2))))
    y = [np.sin(5.0 * p["a"]) + abs(p["b"] - 2) for p in x]
    model = AdditiveGP(main_effects())
    (point,) = sb.suggest(SPACE, x, y, model=model, num_initial=4, maximizer=maximizer)
    return point


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) for name in MAXIMIZERS]
)
def test_every_maximizer_suggests(name: str) -> None:
    """The minimum of the objective is at a = 0.94, b = 2."""
    point = suggested(name)
    assert point["b"] == 2 and point["a"] > 0.8


@dataclass(frozen=True)
class Corner(Maximizer):
    """A maximizer that returns the candidate nearest to the origin."""

    def __call__(self, function: Any, search: Search) -> np.ndarray:
        assert evaluate(function, search.candidates).shape == (len(search.candidates),)
        return np.asarray(search.candidates)[np.argsort(np.asarray(search.candidates).sum(1))]


@pytest.mark.nightly
def test_a_maximizer_of_ones_own_has_the_last_word() -> None:
    point = suggested(Corner())
    assert point["b"] == 0 and point["a"] < 0.05


def test_unknown_maximizers_are_named() -> None:
    with pytest.raises(ValueError, match="maximizer must be one of 'multi_start'"):
        as_maximizer("dircet")
    with pytest.raises(TypeError, match="maximizer must be one of"):
        sb.Optimizer(SPACE, maximizer=Corner)
