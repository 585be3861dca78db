"""Running trials of dead processes do not count as pending."""

import math
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import Mock

import optuna
import pytest
from optuna import Study, create_trial
from optuna.distributions import FloatDistribution
from optuna.storages import InMemoryStorage
from optuna.storages._heartbeat import BaseHeartbeat
from optuna.trial import FrozenTrial, TrialState

from structbo.integrations.distributions import internal_space
from structbo.integrations.history import FAILED, History
from structbo.integrations.liveness import lost_trials
from structbo.integrations.optuna import StructboSampler
from structbo.integrations.study_optimizer import StudyOptimizer

X = FloatDistribution(0.0, 1.0)
SPACE = internal_space({"x": X})
HOUR = 3600.0


def trial(
    x: float, state: TrialState, *, age: float, duration: float | None = None, **fields: Any
) -> FrozenTrial:
    """A trial that started `age` seconds ago."""
    made = create_trial(state=state, params={"x": x}, distributions={"x": X}, **fields)
    made.datetime_start = datetime.now() - timedelta(seconds=age)
    if duration is not None:
        made.datetime_complete = made.datetime_start + timedelta(seconds=duration)
    return made


def running(x: float, *, age: float) -> FrozenTrial:
    return trial(x, TrialState.RUNNING, age=age)


def complete(x: float, *, age: float, duration: float) -> FrozenTrial:
    return trial(x, TrialState.COMPLETE, age=age, duration=duration, value=1.0)


def study_with(*trials: FrozenTrial, storage: InMemoryStorage | None = None) -> Study:
    study = optuna.create_study(storage=storage)
    for one in trials:
        study.add_trial(one)
    return study


def history(study: Study, lost_after: float | None = None) -> History:
    """The history of a new trial."""
    asked = study.ask()
    return History.of(study, study.trials[asked.number], {"x": X}, SPACE, lost_after)


def pending(study: Study, lost_after: float | None = None) -> list[float]:
    return [x for (x,) in history(study, lost_after).pending.tolist()]


def test_ten_times_the_longest_duration_is_the_limit() -> None:
    study = study_with(
        complete(0.1, age=5 * HOUR, duration=60.0),
        complete(0.2, age=5 * HOUR, duration=200.0),
        running(0.3, age=2100.0),
        running(0.4, age=1900.0),
    )
    assert pending(study) == [0.4]


def test_ten_minutes_are_granted_however_short_trials_are() -> None:
    study = study_with(
        complete(0.1, age=HOUR, duration=0.01), running(0.2, age=590.0), running(0.3, age=610.0)
    )
    assert pending(study) == [0.2]


def test_failures_of_the_objective_have_typical_durations_and_lost_trials_have_not() -> None:
    failed = {"duration": 2 * HOUR, "system_attrs": {FAILED: True}}
    study = study_with(
        trial(0.1, TrialState.FAIL, age=30 * HOUR, **failed), running(0.2, age=19 * HOUR)
    )
    assert pending(study) == [0.2]
    study.add_trial(trial(0.3, TrialState.FAIL, age=99 * HOUR, duration=90 * HOUR))
    study.add_trial(running(0.4, age=21 * HOUR))
    assert pending(study) == [0.2]


def test_no_trial_is_lost_while_no_duration_is_known() -> None:
    """Trials added with their values have no duration."""
    study = study_with(running(0.2, age=1000 * HOUR))
    study.add_trial(create_trial(params={"x": 0.1}, distributions={"x": X}, value=1.0))
    assert pending(study) == [0.2]


def test_a_given_age_replaces_the_rule() -> None:
    study = study_with(complete(0.1, age=HOUR, duration=1.0), running(0.2, age=HOUR))
    assert (pending(study, 2 * HOUR), pending(study, 0.5 * HOUR)) == ([0.2], [])
    assert (pending(study, math.inf), pending(study)) == ([0.2], [])


def test_a_result_that_comes_late_counts() -> None:
    study = study_with(complete(0.1, age=5 * HOUR, duration=1.0), running(0.25, age=HOUR))
    assert pending(study) == []
    study.tell(1, 7.0)
    found = history(study)
    assert (found.x.tolist(), found.y.tolist()) == ([[0.1], [0.25]], [-1.0, -7.0])


class HeartbeatStorage(InMemoryStorage, BaseHeartbeat):
    """A storage in which the heartbeat of the trials in `stale` has stopped."""

    stale: list[int]

    def record_heartbeat(self, trial_id: int) -> None: ...

    def _get_stale_trial_ids(self, study_id: int) -> list[int]:
        return self.stale

    def get_heartbeat_interval(self) -> int:
        return 60

    def get_heartbeat_stale_trial_callback(self) -> None:
        return None


@pytest.mark.filterwarnings("ignore:Heartbeat of storage:UserWarning")
def test_a_heartbeat_decides_whatever_the_age() -> None:
    storage = HeartbeatStorage()
    study = study_with(
        complete(0.1, age=9 * HOUR, duration=1.0),
        running(0.2, age=8 * HOUR),
        running(0.3, age=1.0),
        storage=storage,
    )
    storage.stale = [study.trials[2]._trial_id]
    assert pending(study) == [0.2]
    assert study.trials[2].state == TrialState.RUNNING
    assert pending(study, HOUR) == [0.3], "a given age goes first"


@pytest.mark.filterwarnings("ignore:Heartbeat of storage:UserWarning")
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_the_databases_of_optuna_know_stale_trials(tmp_path: Any) -> None:
    storage = optuna.storages.RDBStorage(
        f"sqlite:///{tmp_path}/runs.db", heartbeat_interval=60, grace_period=120
    )
    study = optuna.create_study(storage=storage)
    alive, dead = study.ask(), study.ask()
    for asked in (alive, dead):
        storage.record_heartbeat(asked._trial_id)
    long_ago = datetime(2020, 1, 1)
    with storage.engine.begin() as connection:
        statement = "UPDATE trial_heartbeats SET heartbeat = ? WHERE trial_id = ?"
        connection.exec_driver_sql(statement, (str(long_ago), dead._trial_id))
    assert lost_trials(study, study.trials) == {dead.number}
    storage.engine.dispose()


def test_the_point_of_a_lost_trial_is_asked_for_again() -> None:
    """The sampler hands its argument on."""
    sampler = StructboSampler({"x": (0.0, 1.0)}, num_initial=99, lost_after=HOUR)
    study = optuna.create_study(sampler=sampler)
    point = study.ask().suggest_float("x", 0.0, 1.0)
    assert study.ask().suggest_float("x", 0.0, 1.0) != point
    fresh = study_with(running(point, age=2 * HOUR))
    fresh.sampler = sampler
    assert fresh.ask().suggest_float("x", 0.0, 1.0) == point


def test_a_report_counts_no_lost_trial_as_pending() -> None:
    """A trial that this process has asked for is evaluated here, however long it takes."""
    study = study_with(
        complete(0.1, age=5 * HOUR, duration=60.0),
        running(0.2, age=9 * HOUR),
        running(0.3, age=60.0),
    )
    optimizer = StudyOptimizer(study, {"x": (0.0, 1.0)}, num_initial=99)
    assert [t.state for t in optimizer.trials] == ["complete", "withdrawn", "pending"]
    slow = optimizer.ask()
    study.add_trial(complete(0.4, age=1.0, duration=1.0))
    later = datetime.now() + timedelta(hours=9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("structbo.integrations.liveness.datetime", Mock(now=lambda: later))
        optimizer.read()
        assert [t.state for t in optimizer.trials[2:]] == ["withdrawn", "pending", "complete"]
        assert optimizer.tell(slow.number, 2.0).value == 2.0


@pytest.mark.parametrize("lost_after", [0.0, -1.0, math.nan, "1 h"])
def test_ages_that_are_none_are_refused(lost_after: Any) -> None:
    with pytest.raises(ValueError, match="lost_after must be a number of seconds above 0, got"):
        StructboSampler(lost_after=lost_after)
