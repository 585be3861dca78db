"""The trials of a study become points and values."""

import math
from typing import Any

import jax
import numpy as np
import optuna
import pytest
from optuna import Study, create_trial
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

import structbo as sb
from structbo.data import Data
from structbo.draws.driver import Driver
from structbo.draws.saved_state import state_to_bytes
from structbo.integrations.distributions import internal_space
from structbo.integrations.history import FAILED, PROPOSAL, History, proposal_of
from structbo.models.foundation.precision import double_precision
from structbo.samplers import Arguments, search_sampler

X = FloatDistribution(0.0, 2.0)
SPACE = internal_space({"x": X})


def trial(x: float, state: TrialState = TrialState.COMPLETE, **settings: Any) -> FrozenTrial:
    return create_trial(state=state, params={"x": x}, distributions={"x": X}, **settings)


@pytest.fixture
def study() -> Study:
    return optuna.create_study(direction="maximize")


def history(study: Study, number: int | None = None) -> History:
    """The history of a trial, by default of a new one."""
    if number is None:
        study.ask()
    frozen = study.trials[-1 if number is None else number]
    return History.of(study, frozen, {"x": X}, SPACE)


def test_states_of_trials_in_a_history(study: Study) -> None:
    """Failures and violated constraints are NaN, lost trials are excluded, reports count."""
    study.add_trial(trial(0.2, value=1.0))
    study.add_trial(trial(0.4, TrialState.PRUNED, value=2.0))
    study.add_trial(trial(0.6, TrialState.PRUNED))
    study.add_trial(trial(0.8, TrialState.FAIL))
    study.add_trial(trial(1.0, TrialState.FAIL, system_attrs={FAILED: True}))
    study.add_trial(trial(1.2, value=math.inf))
    study.add_trial(trial(1.4, value=3.0, constraints={"c": 0.1, "d": -1.0}))
    study.add_trial(trial(1.6, value=4.0, constraints={"c": 0.0, "d": -1.0}))
    study.add_trial(trial(1.8, TrialState.RUNNING))
    study.enqueue_trial({"x": 0.1})
    number = len(study.trials)
    study.add_trial(trial(2.0, TrialState.RUNNING))
    found = history(study, number)
    np.testing.assert_allclose(found.x[:, 0], [0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8])
    np.testing.assert_array_equal(found.y, [1.0, 2.0, np.nan, np.nan, np.nan, np.nan, 4.0])
    np.testing.assert_allclose(found.pending, [[0.9]])
    assert found.num_before == 8


def test_values_to_minimize_change_their_sign() -> None:
    study = optuna.create_study()
    study.add_trial(trial(0.2, value=1.5))
    assert history(study).y.tolist() == [-1.5]


def test_pruned_trials_have_the_value_of_the_last_report(study: Study) -> None:
    asked = study.ask({"x": X})
    asked.report(1.0, step=0)
    asked.report(7.0, step=1)
    study.tell(asked, state=TrialState.PRUNED)
    assert history(study).y.tolist() == [7.0]


def test_proposed_points_are_pending_before_their_values_are_asked_for(study: Study) -> None:
    """Another process may not have called `suggest_float` yet."""
    for x in (0.5, 1.5):
        study.add_trial(
            create_trial(
                state=TrialState.RUNNING, system_attrs={PROPOSAL: proposal_of({"x": x}, None)}
            )
        )
    assert history(study).pending.tolist() == [[0.25], [0.75]]


def test_trials_of_other_parameters_are_left_out_but_count(study: Study) -> None:
    Y = FloatDistribution(0.0, 1.0)
    study.add_trial(create_trial(params={"y": 0.5}, distributions={"y": Y}, value=1.0))
    wide = FloatDistribution(0.0, 9.0)
    study.add_trial(create_trial(params={"x": 8.0}, distributions={"x": wide}, value=1.0))
    study.add_trial(trial(1.0, value=2.0))
    found = history(study)
    assert (found.x.tolist(), found.y.tolist(), found.num_before) == ([[0.5]], [2.0], 3)


KIND = CategoricalDistribution(["a", "b"])
CONDITIONAL: dict[str, BaseDistribution] = {"kind": KIND, "of_a": X, "of_b": X}


def of_kind(kind: str, x: float | None, state: TrialState, **settings: Any) -> FrozenTrial:
    """A trial of a kind, with the parameter of that kind if it is known."""
    params = {"kind": kind} | ({} if x is None else {f"of_{kind}": x})
    distributions = {name: CONDITIONAL[name] for name in params}
    return create_trial(state=state, params=params, distributions=distributions, **settings)


def test_parameters_that_a_trial_does_not_have_are_neutral(study: Study) -> None:
    """Parameters are missing for good in complete trials, and if the conditions say so."""
    for kind, x in (("a", 0.2), ("b", 1.8), ("a", 0.4), ("b", 1.6)):
        study.add_trial(of_kind(kind, x, TrialState.COMPLETE, value=1.0))
    failed = {"system_attrs": {FAILED: True}}
    study.add_trial(of_kind("a", 0.6, TrialState.FAIL, **failed))
    study.add_trial(of_kind("b", None, TrialState.FAIL, **failed))
    study.add_trial(of_kind("b", 1.4, TrialState.RUNNING))
    study.add_trial(of_kind("a", None, TrialState.RUNNING))
    proposal = proposal_of({"kind": 0.0, "of_a": 0.8, "of_b": None}, None)
    study.add_trial(of_kind("a", None, TrialState.RUNNING, system_attrs={PROPOSAL: proposal}))
    study.ask()
    found = History.of(study, study.trials[-1], CONDITIONAL, internal_space(CONDITIONAL))
    np.testing.assert_allclose(
        found.x, [[0, 0.1, 0.5], [1, 0.5, 0.9], [0, 0.2, 0.5], [1, 0.5, 0.8], [0, 0.3, 0.5]]
    )
    np.testing.assert_allclose(found.pending, [[1, 0.5, 0.7], [0, 0.4, 0.5]])
    assert (found.num_before, found.unexplained) == (9, frozenset())
    assert found.conditions is not None
    assert found.conditions[1:, 0].tolist() == [[True, False], [False, True]]


def test_parameters_of_trials_that_nothing_else_tells_apart_are_unexplained(study: Study) -> None:
    for x in (0.2, None, 0.4, None):
        study.add_trial(of_kind("a", x, TrialState.COMPLETE, value=1.0))
    study.ask()
    found = History.of(study, study.trials[-1], CONDITIONAL, internal_space(CONDITIONAL))
    assert found.unexplained == {"of_a"}, "no trial has the other one"


def test_the_chain_is_that_of_the_last_trial_that_counts(study: Study) -> None:
    chains = {0: b"first", 1: b"second", 2: b"lost", 3: None}
    for number, chain in chains.items():
        state = TrialState.FAIL if number == 2 else TrialState.COMPLETE
        value = None if number == 2 else 1.0
        attribute = {PROPOSAL: proposal_of({"x": 0.5}, chain)}
        study.add_trial(trial(0.5, state, value=value, system_attrs=attribute))
    other = {PROPOSAL: proposal_of({"y": 0.5}, b"of other parameters")}
    study.add_trial(trial(0.5, value=1.0, system_attrs=other))
    assert history(study).chain == b"second"


@pytest.mark.parametrize("num_dims", [60, 300])
def test_databases_hold_the_chain_of_many_parameters(num_dims: int) -> None:
    """Random numbers do not compress."""
    data = Data.padded(np.full((20, num_dims), 0.5), np.zeros(20))
    options = {"num_warmup": None, "is_vectorized": False}
    driver = Driver.of(sb.default_model(), search_sampler, num_dims, **options)
    with double_precision():
        shapes = driver.start.shapes(jax.random.key(0), Arguments(*data.arguments))
    rng = np.random.default_rng(0)
    numbers = [leaf for leaf in jax.tree.leaves(shapes) if leaf.dtype == np.float64]
    state = [rng.standard_normal(leaf.shape) for leaf in numbers]
    saved = state_to_bytes((state, rng.random((num_dims, num_dims)) < 0.5))
    assert proposal_of({}, saved)["chain"] is not None


def test_chains_that_databases_cannot_hold_are_not_kept() -> None:
    assert proposal_of({}, bytes(100_000)) == {"params": {}, "chain": None}
