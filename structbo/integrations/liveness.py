"""Detection of running trials whose process has died."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from optuna import Study
from optuna.storages._heartbeat import BaseHeartbeat, is_heartbeat_enabled
from optuna.trial import FrozenTrial, TrialState

FACTOR = 10.0
"""A trial is lost after this multiple of the longest duration in its study."""
LEAST_SECONDS = 600.0
"""Minimum age of a lost trial: compiling a model may take minutes on a busy machine."""


def lost_trials(
    study: Study, trials: Sequence[FrozenTrial], lost_after: float | None = None
) -> set[int]:
    """The numbers of the running trials that count as lost. Their states do not change.

    Args:
        study: the study.
        trials: its running trials, and the finished ones whose durations are typical.
        lost_after: the age in seconds beyond which a running trial is lost. By default the
            storage's heartbeat decides, if enabled. Otherwise, the limit is ten times the longest
            duration, but at least ten minutes; without any duration, no trial is lost.
    """
    running = [trial for trial in trials if trial.state == TrialState.RUNNING]
    storage = study._storage
    if lost_after is None and is_heartbeat_enabled(storage):
        assert isinstance(storage, BaseHeartbeat)
        stale = set(storage._get_stale_trial_ids(study._study_id))
        return {trial.number for trial in running if trial._trial_id in stale}
    finished = (trial for trial in trials if trial.state.is_finished())
    limit = _age_limit(finished) if lost_after is None else lost_after
    now = datetime.now()
    return {trial.number for trial in running if _seconds(trial.datetime_start, now) > limit}


def _age_limit(finished: Iterable[FrozenTrial]) -> float:
    """The age beyond which a trial is lost. Trials added as finished have no duration."""
    durations = [_seconds(one.datetime_start, one.datetime_complete) for one in finished]
    longest = max(durations, default=0.0)
    return max(LEAST_SECONDS, FACTOR * longest) if longest > 0.0 else float("inf")


def _seconds(start: datetime | None, end: datetime | None) -> float:
    return 0.0 if start is None or end is None else (end - start).total_seconds()
