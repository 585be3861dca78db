"""Optuna studies, to store runs of `minimize` and `maximize` or to read other runs."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from structbo.data import Direction
from structbo.optimizer import Keywords, Optimizer
from structbo.space import Space, SpaceLike

if TYPE_CHECKING:
    from structbo.integrations.study_optimizer import StudyOptimizer

PASSWORD = re.compile(r"(?<=://)([^:/@\s]*):[^@\s]*@")


def open_storage(
    storage: Any,
    study_name: str | None,
    load_if_exists: bool,
    space: SpaceLike,
    direction: Direction,
    settings: Keywords,
) -> Optimizer:
    """Creates or continues a study; running trials of an existing study count as lost.

    Args:
        storage: the URL of a database, or a storage of Optuna.
        study_name: name of the study; by default Optuna generates one.
        load_if_exists: whether to continue an existing study of this name.
        space: the search space.
        direction: whether small or large values are good.
        settings: how points are found.

    Returns:
        An optimizer with the trials of the study, and the attribute ``study``.

    Raises:
        ImportError: if Optuna is not installed.
        ValueError: if the storage cannot be opened, or the study has another direction or
            other parameters.
    """
    optuna = _optuna()
    from structbo.integrations.optuna import StructboSampler
    from structbo.integrations.study_optimizer import StudyOptimizer

    sampler = StructboSampler(space, **settings)  # checks settings before a study is created
    try:
        with _opening(storage):
            study = optuna.create_study(
                storage=storage,
                sampler=sampler,
                study_name=study_name,
                direction=direction,
                load_if_exists=load_if_exists,
            )
    except optuna.exceptions.DuplicatedStudyError:
        raise ValueError(
            f"study_name={study_name!r} exists in the storage: pass load_if_exists=True to "
            "continue it, or another name."
        ) from None
    directions = [one.name.lower() for one in study.directions]
    if directions != [direction]:
        raise ValueError(f"study {study.study_name!r} is to {directions}, not to {direction}.")
    optimizer = StudyOptimizer(study, space, **settings)
    optimizer.check_parameters()
    optimizer.withdraw_running()
    return optimizer


def read_study(
    storage: str,
    study_name: str | None = None,
    space: SpaceLike | None = None,
    **settings: Unpack[Keywords],
) -> "StudyOptimizer":
    """An optimizer with the trials of a study, which may come from any sampler.

    Args:
        storage: the URL of a database.
        study_name: name of the study; optional if there is only one.
        space: the search space; by default from the distributions of the study, with the span of
            a range that varies, and with the order of choices and the constraints that structbo
            searched with.
        settings: how points are found.

    Raises:
        ImportError: if Optuna is not installed.
        FileNotFoundError: if the database is a file that does not exist.
        ValueError: if the storage cannot be opened or has no such study, or the study has several
            objectives or trials with different parameters.
    """
    optuna = _optuna()
    from sqlalchemy.engine import make_url

    from structbo.integrations.study_optimizer import StudyOptimizer

    with _opening(storage):
        file = make_url(storage).database if storage.startswith("sqlite") else None
    if file and not Path(file).exists():
        raise FileNotFoundError(f"storage: there is no file {file}.")
    with _opening(storage):
        names = optuna.get_all_study_names(storage)
    if study_name is None and len(names) == 1:
        (study_name,) = names
    if study_name not in names:
        told = "give the name of a study" if study_name is None else f"no study {study_name!r}"
        raise ValueError(f"{told}: the storage has {', '.join(map(repr, names)) or 'none'}.")
    study = optuna.load_study(storage=storage, study_name=study_name)
    if len(study.directions) > 1:
        raise ValueError(f"study {study_name!r} has {len(study.directions)} objectives, not one.")
    return StudyOptimizer(study, _space_of(study) if space is None else space, **settings)


def _space_of(study: Any) -> Space:
    """The space of the trials of a study, with the order and the constraints stored in it."""
    from optuna.trial import TrialState

    from structbo.integrations.distributions import space_of
    from structbo.integrations.history import counts
    from structbo.integrations.search_space import common_search_space
    from structbo.integrations.stored_space import stored_constraints, stored_ordinals

    trials = [t for t in study.get_trials(deepcopy=False) if counts(t)]
    common = common_search_space(trials)
    complete = [t for t in trials if t.state == TrialState.COMPLETE]
    others = {name for trial in complete for name in trial.params if name not in common}
    if others or not common:
        reason = f"not all have {', '.join(sorted(others))}" if others else "there are none"
        raise ValueError(
            f"the complete trials of study {study.study_name!r} must have the same parameters: "
            f"{reason}."
        )
    return space_of(common, stored_ordinals(study), stored_constraints(study))


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ImportError(
            'storage needs Optuna: pip install "structbo[optuna]".', name="optuna"
        ) from error
    return optuna


@contextmanager
def _opening(storage: Any) -> Iterator[None]:
    """Removes the password of a storage from errors on opening it."""
    try:
        yield
    except _optuna().exceptions.DuplicatedStudyError:
        raise
    except Exception as error:
        reason = PASSWORD.sub(r"\1:***@", str(error))
        given = PASSWORD.sub(r"\1:***@", repr(storage))
        raise ValueError(f"storage {given} cannot be opened: {reason}") from None
