"""The Optuna samplers that `real.py` compares on real tasks, given first points."""

from collections.abc import Callable
from dataclasses import replace

import optuna
from paired_methods import ROUGH
from posterior_model import MODEL, THREE_QUARTERS
from real_tasks import Task

from structbo.integrations.optuna import StructboSampler
from structbo.models import AdditiveGP

Maker = Callable[[Task, int], optuna.samplers.BaseSampler]


def of_model(model: AdditiveGP) -> Maker:
    """Samplers with a model that has the task's categorical dimensions."""
    return lambda task, seed: StructboSampler(
        seed=seed, model=replace(model, categorical=task.categorical)
    )


SAMPLERS: dict[str, Maker] = {
    "structbo": lambda _, seed: StructboSampler(seed=seed),
    "log_eqi": lambda _, seed: StructboSampler(seed=seed, criterion="log_eqi"),
    "independent": of_model(MODEL),
    "three_quarters": of_model(THREE_QUARTERS),
    "matern52": of_model(ROUGH),
    "gp": lambda _, seed: optuna.samplers.GPSampler(seed=seed, n_startup_trials=1),
    "tpe": lambda _, seed: optuna.samplers.TPESampler(seed=seed, n_startup_trials=1),
}
