"""Truths and scores of examples/benchmarks/recovery.py, against values computed by hand."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from recovery_anova import nodes_of, population, random_points, table_shares
from recovery_data import data_set
from recovery_functions import Function, cube, g_function, ishigami
from recovery_models import by_posterior
from recovery_problems import FUNCTIONS, HALVES, mixed, problem_of
from recovery_random import random_function, random_shares
from recovery_records import Key, Records
from recovery_scores import Curve, average_precision, covered, log_density, scores_of
from recovery_table import mean_and_error
from recovery_trees import Columns, Leaves

import structbo as sb

NAN = float("nan")
CATEGORIES = sb.Space({"a": sb.Categorical([*"uvw"]), "b": sb.Categorical([*"xy"])})


def grid_shares(function: Function):
    """Shares from values at all nodes."""
    nodes = nodes_of(function.space)
    points = np.stack(np.meshgrid(*nodes, indexing="ij"), -1)
    values = function.at(points.reshape(-1, len(nodes)))
    return table_shares(values.reshape(points.shape[:-1])), float(values.var())


def test_shares_of_a_table():
    a, b, _ = np.meshgrid([-1, 1], [-1, 1], [0, 1, 2], indexing="ij")
    found = table_shares(1.0 * a + 2.0 * b + 3.0 * a * b + 7.0)
    np.testing.assert_allclose(found.main, np.array([1.0, 4.0, 0.0]) / 14.0, atol=1e-15)
    expected = np.zeros((3, 3))
    expected[0, 1] = expected[1, 0] = 9.0 / 14.0
    np.testing.assert_allclose(found.pairs, expected, atol=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        ishigami(7.0, 0.1, 3),
        ishigami(7.0, 0.05, 4),
        g_function((0.0, 1.0, 4.5), 3),
        g_function((1.0, 1.0), 3),
    ],
)
def test_shares_of_known_functions(function: Function):
    """Up to the error of 32 nodes, which is 0.0022 for one of Ishigami's main effects."""
    found, variance = grid_shares(function)
    np.testing.assert_allclose(found.main, function.truth.main, atol=4e-3)
    np.testing.assert_allclose(found.pairs, function.truth.pairs, atol=4e-3)
    assert variance == pytest.approx(function.variance, rel=0.01)


def test_published_indices_of_ishigamis_function():
    truth = ishigami(7.0, 0.1).truth
    np.testing.assert_allclose(truth.main[:4], [0.3139, 0.4424, 0.0, 0.0], atol=1e-4)
    assert truth.pairs[0, 2] == truth.pairs[2, 0] == pytest.approx(0.2437, abs=1e-4)


@pytest.mark.parametrize("sizes", [(None, None, None), (None, 3, 5), (2, 4, 6)])
def test_shares_of_random_functions_are_exact(sizes: tuple[int | None, ...]):
    function = mixed(sizes, 2, 2)(np.random.default_rng(0))
    found, variance = grid_shares(function)
    np.testing.assert_allclose(found.main, function.truth.main, atol=1e-12)
    np.testing.assert_allclose(found.pairs, function.truth.pairs, atol=1e-12)
    assert variance == pytest.approx(1.0)
    assert (function.truth.pairs > 0.0).sum() == 4 and (function.truth.main > 0.0).sum() == 2


@pytest.mark.parametrize("name", [*FUNCTIONS["development"], *FUNCTIONS["report"]])
def test_problems_have_the_variance_that_they_say(name: str):
    problem = problem_of(name, 0, Path())
    uniforms = np.random.default_rng(0).random((20_000, len(problem.space.names)))
    values = problem.at(random_points(problem.space, uniforms))
    assert values.var() == pytest.approx(problem.variance, rel=0.06)
    shares = problem.truth.main.sum() + problem.truth.pairs.sum() / 2.0
    assert shares == pytest.approx(1.0) or (shares < 1.0 and name.startswith("g_"))


def test_halves_share_no_problem():
    assert not {*HALVES["development"]} & {*HALVES["report"]}


def test_random_functions_differ_by_seed():
    first, same, other = (problem_of("graph10", seed, Path()) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.truth.pairs, same.truth.pairs)
    assert (first.truth.pairs != other.truth.pairs).any()


def test_data_of_a_factorial_are_distinct_rows_without_noise():
    truth = random_shares(2, 2, 1, np.random.default_rng(0))
    problem = random_function(CATEGORIES, truth, np.random.default_rng(1))
    data = data_set(problem, "random", 4, 0.5, 0)
    rows = np.concatenate([data.x, data.test_x])
    assert data.x.shape == (4, 2)
    np.testing.assert_array_equal(rows[np.lexsort(rows.T[::-1])], population(CATEGORIES))
    np.testing.assert_array_equal(data.y, problem.at(data.x))


def test_data_of_a_function_have_noise():
    data = data_set(ishigami(7.0, 0.1), "random", 2000, 0.25, 0)
    errors = (data.y - ishigami(7.0, 0.1).at(data.x)) / np.sqrt(ishigami(7.0, 0.1).variance)
    assert errors.var() == pytest.approx(0.25, rel=0.1)


def test_shares_of_a_tree():
    """0 below one half of a number; above it 3 for one level of a category and 1 for the other."""
    space = sb.Space({"x": (0.0, 1.0), "kind": sb.Categorical(["a", "b"])})
    tree = SimpleNamespace(
        children_left=[1, -1, 3, -1, -1],
        children_right=[2, -1, 4, -1, -1],
        feature=[0, -2, 2, -2, -2],
        threshold=[0.5, -2.0, 0.5, -2.0, -2.0],
        value=np.array([1.0, 0.0, 2.0, 3.0, 1.0])[:, None, None],
    )
    found = Leaves.of([tree, tree], Columns.of(space)).shares(1.5)
    np.testing.assert_allclose(found.main, [1.0 / 1.5, 0.25 / 1.5])
    np.testing.assert_allclose(found.pairs, [[0.0, 0.25 / 1.5], [0.25 / 1.5, 0.0]])


def test_shares_of_a_forest_are_the_shares_of_its_predictions():
    ensemble = pytest.importorskip("sklearn.ensemble")
    points, columns = population(CATEGORIES), Columns.of(CATEGORIES)
    y = np.random.default_rng(0).normal(size=len(points))
    forest = ensemble.RandomForestRegressor(10, random_state=0).fit(columns.of_points(points), y)
    predicted = forest.predict(columns.of_points(points))
    trees = [tree.tree_ for tree in forest.estimators_]
    found = Leaves.of(trees, columns).shares(predicted.var())
    expected = table_shares(predicted.reshape(3, 2))
    np.testing.assert_allclose(found.main, expected.main)
    np.testing.assert_allclose(found.pairs, expected.pairs)


@pytest.mark.parametrize(
    ("is_true", "scores", "expected"),
    [
        ([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], (1.0 + 2.0 / 3.0) / 2.0),
        ([1, 1, 0, 0], [0.9, 0.8, 0.7, 0.1], 1.0),
        ([1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5], 0.25),
        ([0, 0], [0.5, 0.4], NAN),
        ([1, 0], [NAN, NAN], NAN),
    ],
)
def test_average_precision(is_true: list[int], scores: list[float], expected: float):
    found = average_precision(np.array(is_true, bool), np.array(scores))
    assert found == pytest.approx(expected, nan_ok=True)


def test_intervals_hold_their_ends_and_a_tenth_of_a_percent_more():
    true, lower = np.array([0.0, 0.1, 0.2, 0.3]), np.array([0.0009, 0.2, 0.1, 0.1])
    assert covered(true, lower, lower + 0.1) == 0.5
    assert covered(true, lower + 0.001, lower + 0.099) == 0.25
    assert np.isnan(covered(true, np.full(4, NAN), lower))


def test_log_density_of_normals():
    found = log_density(np.array([1.0, 2.0]), np.array([1.0, 0.0]), np.array([1.0, 4.0]))
    assert found == pytest.approx(np.mean([-0.918939, -0.918939 - np.log(2.0) - 0.5]), abs=1e-6)


def test_reliability_curve():
    probabilities = np.array([0.0, 0.05, 0.55, 0.95, 1.0, 1.0])
    found = Curve.of(np.array([False, True, False, True, True, False]), probabilities)
    np.testing.assert_array_equal(found.num_items, [2, 0, 0, 0, 0, 1, 0, 0, 0, 3])
    np.testing.assert_allclose(found.frequency[[0, 5, 9]], [0.5, 0.0, 2.0 / 3.0])
    np.testing.assert_allclose(found.probability[[0, 5, 9]], [0.025, 0.55, 2.95 / 3.0])
    assert np.isnan(found.frequency[1])


RUN = {
    "main": {"true": [0.5, 0.2], "share": [0.4, 0.3], "lower": None, "upper": None},
    "pairs": {
        "true": [0.2, 0.01, 0.0],
        "share": [0.1, 0.03, 0.02],
        "lower": [0.05, 0.0, 0.01],
        "upper": [0.15, 0.05, 0.05],
        "probability": [0.95, 0.2, 0.9],
    },
    "correlation": 0.8,
    "log density": None,
    "R-hat": 1.01,
    "CPU s": 2.0,
}


def test_scores_of_a_run():
    expected = {
        "called": 2.0,
        "called right": 1.0,
        "found": 2.0,
        "found right": 1.0,
        "none": 0.0,
        "none right": 0.0,
        "AP prob. 2.0%": 1.0,
        "AP share 2.0%": 1.0,
        "AP prob. 0.5%": (1.0 + 2.0 / 3.0) / 2.0,
        "AP share 0.5%": 1.0,
        "strongest": 1.0,
        "error pairs": 0.14 / 3.0,
        "error main": 0.1,
        "error higher": 0.06,
        "cover pairs": 1.0 / 3.0,
        "cover edges": 0.5,
        "cover main": NAN,
        "correlation": 0.8,
        "log density": NAN,
        "R-hat": 1.01,
        "CPU s": 2.0,
    }
    assert scores_of(RUN) == pytest.approx(expected, nan_ok=True)


def test_no_pair_is_strongest_where_no_pairs_exist():
    pairs = {**RUN["pairs"], "true": [0.0, 0.0, 0.0], "probability": None}
    scores = scores_of({**RUN, "pairs": pairs})
    assert np.isnan([scores[name] for name in ("strongest", "cover edges", "called")]).all()


def test_errors_of_means_are_those_between_seeds():
    values = [np.array([1.0, 3.0]), np.array([10.0, 10.0, NAN, 16.0]), np.array([NAN])]
    mean, error = mean_and_error(values)
    assert mean == pytest.approx((2.0 + 12.0) / 2.0)
    assert error == pytest.approx(np.sqrt(2.0 / 2.0 + 12.0 / 3.0) / 2.0)


def test_records_are_read_as_they_were_written(tmp_path: Path):
    path, key = tmp_path / "runs.jsonl", Key("graph10", "random", 0.01, 50, "fit", 3)
    run = {"main": {"share": np.array([0.5, NAN]), "lower": np.full(2, NAN)}, "CPU s": 1.0}
    Records(path).add(key, run)
    found = Records(path).runs
    assert found == {key: {"main": {"share": [0.5, None], "lower": None}, "CPU s": 1.0}}


@pytest.mark.nightly
def test_answers_of_a_posterior():
    space = cube(3)

    def short(space, x, y, seed):
        settings = {"num_warmup": 4, "num_samples": 8, "num_chains": 2, "seed": seed}
        model = sb.default_model()
        return sb.fit(model, space.from_unit(x), y, space=space, **settings)

    x = np.random.default_rng(0).random((30, 3))
    y = 5.0 + 10.0 * x[:, 0]
    answer = by_posterior(short, space, x, y, 0)
    mean, variance = answer.predict(x[:7])
    assert np.abs(mean - y[:7]).max() < 3.0 and (variance > 0.0).all()
    assert answer.main.share.shape == (3,) and answer.pairs.upper.shape == (3, 3)
    assert answer.main.share.argmax() == 0 and answer.seconds > 0.0
