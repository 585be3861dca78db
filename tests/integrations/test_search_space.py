"""Parameters of a study, and the conditions on which they exist."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import optuna
import pytest
from optuna import Study, Trial, create_trial
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.distributions import IntDistribution as Int
from optuna.trial import FrozenTrial, TrialState

from structbo import Categorical, Integer, Real, Space
from structbo.integrations.distributions import internal_space
from structbo.integrations.search_space import (
    NUM_RECENT,
    common_search_space,
    conditions,
    union_search_space,
)
from structbo.space import Levels

nan = np.nan


def spaces(*distributions: BaseDistribution, name: str = "x") -> list[FrozenTrial]:
    """A trial with each distribution."""
    lows = [
        d.choices[0] if isinstance(d, CategoricalDistribution) else d.low for d in distributions
    ]
    return [
        create_trial(params={name: low}, distributions={name: d}, value=0.0)
        for low, d in zip(lows, distributions, strict=True)
    ]


def span(*distributions: BaseDistribution) -> BaseDistribution | None:
    return union_search_space(spaces(*distributions)).get("x")


def test_all_parameters_of_complete_trials_are_found_in_alphabetical_order() -> None:
    kind = CategoricalDistribution(["a", "b"])
    trials = [
        *spaces(kind, name="kind"),
        *spaces(Int(1, 4), name="depth"),
        *spaces(CategoricalDistribution(["cpu"]), name="device"),
    ]
    assert union_search_space(trials) == {"depth": Int(1, 4), "kind": kind}
    assert list(union_search_space(trials)) == ["depth", "kind"]


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([Int(1, 4), Int(3, 9)], Int(1, 9)),
        ([Int(1, 5, step=2), Int(3, 9, step=2)], Int(1, 9, step=2)),
        ([Int(1, 5, step=2), Int(2, 8, step=2)], Int(1, 8)),
        ([Int(1, 4, log=True), Int(1, 9, log=True)], Int(1, 9, log=True)),
        ([Int(1, 1), Int(1, 3)], Int(1, 3)),
        ([FloatDistribution(0.0, 0.5), FloatDistribution(-1.0, 0.2)], FloatDistribution(-1.0, 0.5)),
        (
            [FloatDistribution(0.0, 0.3, step=0.1), FloatDistribution(0.2, 0.9, step=0.1)],
            FloatDistribution(0.0, 0.9, step=0.1),
        ),
        (
            [FloatDistribution(0.0, 0.3, step=0.1), FloatDistribution(0.0, 0.5, step=0.25)],
            FloatDistribution(0.0, 0.5),
        ),
        ([FloatDistribution(1.0, 2.0), FloatDistribution(1.0, 2.0, log=True)], None),
        ([FloatDistribution(1.0, 2.0), Int(1, 2)], None),
        ([CategoricalDistribution(["a", "b"]), CategoricalDistribution(["a", "c"])], None),
    ],
    ids=str,
)
def test_a_range_that_varies_spans_all(
    ranges: list[BaseDistribution], expected: BaseDistribution | None
) -> None:
    assert span(*ranges) == span(*reversed(ranges)) == expected


def test_the_common_range_contains_the_points_of_all_trials() -> None:
    trials = spaces(Int(1, 99), *[Int(2, 9)] * NUM_RECENT, Int(5, 5))
    assert common_search_space(trials) == {"x": Int(1, 99)}
    failed = create_trial(state=TrialState.FAIL, params={"x": 0}, distributions={"x": Int(0, 9)})
    assert common_search_space([*trials, failed]) == {"x": Int(0, 99)}
    assert common_search_space([*trials, *spaces(Int(1, 4), name="y")]) == {}
    assert common_search_space([failed]) == {}


def test_a_range_is_forgotten_when_the_latest_trials_agree_on_another() -> None:
    assert span(Int(1, 99), *[Int(1, 9)] * (NUM_RECENT - 1)) == Int(1, 99)
    assert span(Int(1, 99), *[Int(1, 9)] * NUM_RECENT) == Int(1, 9)
    assert span(Int(1, 99), *[Int(1, 9), Int(1, 8)] * NUM_RECENT) == Int(1, 99)


Objective = Callable[[Trial], Any]


def by_kind(trial: Trial) -> Any:
    x = trial.suggest_float("x", 0.0, 1.0)
    if trial.suggest_categorical("kind", ["svm", "tree", "knn"]) != "knn":
        return x + trial.suggest_float("only", 0.0, 1.0)
    return x


def by_number(trial: Trial) -> Any:
    layers = trial.suggest_int("layers", 1, 5)
    trial.suggest_int("other", 1, 50)
    return sum(trial.suggest_float(f"width{layer}", 0.0, 1.0) for layer in range(layers))


def inside(trial: Trial) -> Any:
    kind = trial.suggest_categorical("kind", ["sgd", "adam"])
    trial.suggest_categorical("other", ["u", "v", "w"])
    if kind == "sgd" and trial.suggest_categorical("momentum", [False, True]):
        return trial.suggest_float("rate", 0.0, 1.0)
    return 0.0


def by_two(trial: Trial) -> Any:
    first = trial.suggest_categorical("first", ["a", "b", "c"])
    second = trial.suggest_int("second", 1, 4)
    return trial.suggest_float("both", 0.0, 1.0) if first == "b" and second > 2 else 0.0


def studied(objective: Objective, num_trials: int = 60) -> tuple[Study, Space, Levels]:
    """Random trials of an objective, their space, and its levels with the learned conditions."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=num_trials)
    space = internal_space(union_search_space(study.trials))
    return study, space, Levels.of(space.levels, conditions=conditions(table(study, space), space))


def table(study: Study, space: Space) -> np.ndarray:
    """The points of a study, NaN where a parameter is missing."""
    rows = np.full((len(study.trials), space.num_dims), nan)
    for row, trial in zip(rows, study.trials, strict=True):
        for dim, (name, parameter) in enumerate(zip(space.names, space.parameters, strict=True)):
            if name in trial.params:
                internal = trial.distributions[name].to_internal_repr(trial.params[name])
                row[dim] = parameter.to_unit(internal)
    return rows


@pytest.mark.parametrize("objective", [by_kind, by_number, inside, by_two])
def test_conditions_of_programs_are_learned(objective: Objective) -> None:
    """The conditions hold in other trials of the same objective."""
    _, space, levels = studied(objective)
    others = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    others.optimize(objective, n_trials=40)
    rng = np.random.default_rng(0)
    for row in table(others, space):
        anywhere = space.snap(rng.random(space.num_dims))
        point = np.where(np.isnan(row), anywhere, row)
        assert np.array_equal(np.asarray(levels.existing(jnp.asarray(point))), ~np.isnan(row))


SPACE = Space({"kind": Categorical(["a", "b", "c"]), "n": Integer(1, 5), "x": (0.0, 1.0)})


def existing(x: list[list[float]], point: list[float], space: Space = SPACE) -> list[bool]:
    allowed = conditions(np.array(x), space)
    exists = Levels.of(space.levels, conditions=allowed).existing(jnp.array(point))
    return [bool(one) for one in exists]


def test_there_are_no_conditions_where_all_points_have_everything() -> None:
    assert conditions(np.array([[0.0, 0.25, 0.1], [0.5, 0.5, 0.2]]), SPACE) is None
    assert conditions(np.empty((0, 3)), SPACE) is None


def test_a_choice_that_was_never_made_has_no_children() -> None:
    seen = [[0.0, 0.25, 0.1], [0.5, 0.5, nan]]
    assert existing(seen, [0.0, 0.0, 0.1])[2]
    assert not existing(seen, [0.5, 0.0, 0.1])[2]
    assert not existing(seen, [1.0, 0.0, 0.1])[2]


def test_numbers_beyond_those_seen_are_like_their_neighbors() -> None:
    """The condition is n > 2, and n = 5 was not observed."""
    seen = [[0.0, 0.0, nan], [0.5, 0.0, nan], [0.0, 0.25, nan], [0.0, 0.75, 0.3], [0.5, 0.5, 0.3]]
    assert [existing(seen, [0.0, n, 0.3])[2] for n in (0.0, 0.25, 0.5, 0.75, 1.0)] == [
        *(False, False, True, True, True)
    ]


def test_a_parameter_without_a_condition_exists_nowhere() -> None:
    seen = [[0.0, 0.0, nan], [0.0, 0.0, 0.4], [0.5, 0.5, 0.5], [0.5, 0.5, nan]]
    assert existing(seen, [0.0, 0.0, 0.4]) == [True, True, False]


def test_a_parameter_that_came_later_exists_when_the_latest_trials_have_it() -> None:
    old = [[0.0, 0.0, nan], [0.5, 0.5, nan], [1.0, 1.0, nan]]
    new = [[k % 3 / 2, k % 5 / 4, 0.3] for k in range(NUM_RECENT)]
    assert not existing([*old, *new[:-1]], [0.0, 0.0, 0.3])[2]
    assert existing([*old, *new], [0.0, 0.0, 0.3])[2]
    assert not existing([*new, *old * 4], [0.0, 0.0, 0.3])[2], "and one that was given up does not"


def test_numbers_with_very_many_values_are_no_parents() -> None:
    """Any such number would separate a few points."""
    space = Space({"n": Integer(1, 1000), "y": Real(0.0, 1.0), "x": (0.0, 1.0)})
    seen = [[0.0, 0.1, nan], [1.0, 0.9, 0.3]]
    assert existing(seen, [1.0, 0.9, 0.3], space) == [True, True, False]
