"""Runs of `minimize` and `maximize` that are Optuna studies."""

import re
from typing import Any

from structbo.data import Direction
from structbo.optimizer import Optimizer, Settings
from structbo.optimizer.storage import opens_storages
from structbo.space import SpaceLike

PASSWORD = re.compile(r"(?<=://)([^:/@\s]*):[^@\s]*@")


@opens_storages
def open_storage(
    storage: Any,
    study_name: str | None,
    load_if_exists: bool,
    space: SpaceLike,
    direction: Direction,
    settings: Settings,
) -> Optimizer:
    """Creates a study or continues one, all of whose running trials are taken for lost.

    Args:
        storage: the URL of a database, or a storage of Optuna.
        study_name: by default Optuna makes one up.
        load_if_exists: whether to continue a study of this name.
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
    try:
        import optuna
    except ImportError as error:
        raise ImportError(
            'storage needs Optuna: pip install "structbo[optuna]".', name="optuna"
        ) from error
    from structbo.integrations.optuna import StructboSampler
    from structbo.integrations.study_optimizer import StudyOptimizer

    sampler = StructboSampler(space, **settings)  # a setting that is wrong leaves no empty study
    try:
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
    except Exception as error:
        reason = PASSWORD.sub(r"\1:***@", str(error))
        given = PASSWORD.sub(r"\1:***@", repr(storage))
        raise ValueError(f"storage {given} cannot be opened: {reason}") from None
    directions = [one.name.lower() for one in study.directions]
    if directions != [direction]:
        raise ValueError(f"study {study.study_name!r} is to {directions}, not to {direction}.")
    optimizer = StudyOptimizer(study, space, **settings)
    optimizer.withdraw_running()
    return optimizer
