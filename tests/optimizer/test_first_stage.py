"""A screening as the first stage: batches, withdrawn trials, and spaces that do not match."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpyro
import pytest
from short_runs import MANY, minimize

import structbo as sb

SPACE = {f"x{d}": (0.0, 1.0) for d in range(4)}


def screened(space: Any = SPACE, **settings: Any) -> tuple[sb.Optimizer, sb.CoordinatewiseSampling]:
    screening = sb.CoordinatewiseSampling(space, 1, num_differences=1)
    return sb.Optimizer(space, screening=screening, **settings), screening


def prior(optimizer: sb.Optimizer) -> np.ndarray:
    """The model's prior probabilities that parameters are active."""
    with numpyro.handlers.seed(rng_seed=0), numpyro.handlers.trace() as trace:
        optimizer.method.model.structure(optimizer.space.num_dims)
    return np.asarray(trace["active"]["fn"].probs)


def test_values_of_a_batch_reach_the_screening_and_its_model() -> None:
    optimizer, screening = screened(num_initial=MANY)
    before = optimizer.method.model
    trials = optimizer.ask(8)
    other = optimizer.ask()
    assert screening.is_done and optimizer.method.model == before
    optimizer = pickle.loads(pickle.dumps(optimizer))
    for trial in trials:
        optimizer.tell(trial, 10.0 * trial.params["x3"] ** 2)
    optimizer.tell(other, 5.0)
    optimizer.ask()
    np.testing.assert_allclose(prior(optimizer), [0.05, 0.05, 0.05, 0.95])
    model = optimizer.method.model
    optimizer.ask()
    assert optimizer.method.model is model


def test_points_are_quasi_random_while_the_screening_waits() -> None:
    """This holds even if there are enough values for a model, which compiles for long."""
    optimizer, _ = screened(num_initial=1)
    trials = optimizer.ask(8)
    for trial in trials[:7]:
        optimizer.tell(trial, trial.params["x3"])
    more = [optimizer.ask(), *optimizer.ask(2)]
    assert optimizer.draws is None
    without, _ = screened(num_initial=MANY)
    for trial in without.ask(8)[:7]:
        without.tell(trial, trial.params["x3"])
    assert more == [without.ask(), *without.ask(2)]
    assert more != [without.ask(), *without.ask(2)]


@pytest.mark.parametrize("is_withdrawn", [True, False])
def test_withdrawn_and_failed_trials_do_not_block(is_withdrawn: bool) -> None:
    optimizer, screening = screened(num_initial=MANY)
    *others, first, second = optimizer.ask(8)
    for trial in others:
        optimizer.tell(trial, 10.0 * trial.params["x0"])
    for trial in (first, second):
        optimizer.withdraw(trial) if is_withdrawn else optimizer.tell(trial)
    state = "withdrawn" if is_withdrawn else "failed"
    assert [t.state for t in screening.trials] == ["complete"] * 6 + [state] * 2
    optimizer.ask()
    np.testing.assert_allclose(prior(optimizer), [0.95, 0.05, 0.05, 0.05])


def test_earlier_pending_trials_of_a_screening_are_awaited() -> None:
    screening = sb.CoordinatewiseSampling(SPACE, 1, num_differences=1)
    trials = [screening.ask() for _ in range(8)]
    optimizer = sb.Optimizer(SPACE, screening=screening, num_initial=MANY)
    optimizer.ask()
    for trial in trials:
        optimizer.tell(trial.number, 10.0 * trial.params["x1"])
    optimizer.ask()
    np.testing.assert_allclose(prior(optimizer), [0.05, 0.95, 0.05, 0.05])


BINARY = {name: sb.Integer(0, 1) for name in "abc"}


def test_an_ask_that_fails_loses_no_trial_of_the_screening() -> None:
    optimizer, screening = screened(BINARY)
    again = copy.deepcopy(optimizer)
    for _ in range(2):
        with pytest.raises(sb.SpaceExhausted):
            optimizer.ask(20)
    assert optimizer.trials == ()
    trials = optimizer.ask(4)
    assert trials == again.ask(4)
    assert len(screening.trials) == 6
    for trial in [*trials, *optimizer.ask(2)]:
        optimizer.tell(trial, 1.0)
    assert all(t.state == "complete" for t in screening.trials)


def test_a_run_with_many_workers_evaluates_the_whole_space() -> None:
    screening = sb.CoordinatewiseSampling(BINARY, 1, num_differences=1)
    with (
        pytest.warns(UserWarning, match="every point of the space is evaluated"),
        ThreadPoolExecutor(2) as executor,
    ):
        result = minimize(
            lambda p: p["a"] - p["b"],
            BINARY,
            screening=screening,
            executor=executor,
            n_jobs=20,
            num_initial=MANY,
        )
    assert len({tuple(t.params.values()) for t in result.trials}) == 8
    assert {t.state for t in (*result.trials, *screening.trials)} == {"complete"}


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (
            sb.Space(SPACE, [sb.LinearConstraint({"x0": 1.0, "x1": 1.0}, high=1.0)]),
            "a screening ignores constraints: pass a space without constraints, or no screening, "
            "got .*LinearConstraint",
        ),
        (SPACE | {"x2": (0.0, 2.0)}, "screening .* 'x2' is .*2.0.* got .*1.0.*: pass the same"),
        (SPACE | {"x2": sb.Integer(0, 1)}, "screening .* 'x2' is Integer.* got Real"),
        (SPACE | {"c": sb.Fixed(3)}, "screening .* 'c' is Fixed.*3.* got None"),
        (np.array([[0.0, 1.0]] * 4), "screening .* which are arrays, got dicts: pass the same"),
        ({"y": (0.0, 1.0)}, r"space of screening must have the names \['y'\]; unknown 'x0', "),
    ],
)
def test_a_screening_of_another_space_is_refused(space: Any, message: str) -> None:
    screening = sb.CoordinatewiseSampling(SPACE, 1)
    with pytest.raises(ValueError, match=message):
        sb.Optimizer(space, screening=screening)


def test_a_refused_screening_shows_which_of_many_names_differ() -> None:
    names = [f"p{i}" for i in range(30)]
    screening = sb.CoordinatewiseSampling(dict.fromkeys(names, (0.0, 1.0)), 1)
    swapped = dict.fromkeys([*names[:-2], "p29", "p28"], (0.0, 1.0))
    with pytest.raises(ValueError, match=r"\(30 in all\)\]; 'p28' stands where 'p29' must"):
        sb.Optimizer(swapped, screening=screening)
    other = dict.fromkeys([*names[:-1], "q"], (0.0, 1.0))
    faults = r"unknown 'p29' \(did you mean 'p9'\?\), missing 'q'\."
    with pytest.raises(ValueError, match=r"\(30 in all\)\]; " + faults):
        sb.Optimizer(other, screening=screening)
