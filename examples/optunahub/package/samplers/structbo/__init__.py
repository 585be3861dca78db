"""Bayesian optimization that learns which parameters interact, as a sampler of OptunaHub."""

from structbo.integrations.importance import StructboImportanceEvaluator
from structbo.integrations.optuna import StructboSampler

__all__ = ["StructboImportanceEvaluator", "StructboSampler"]
