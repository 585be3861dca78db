"""Bayesian optimization that learns the structure of the objective, as NumPyro models."""

from structbo import acquisition, batches, integrations, maximizers, models, recipes, samplers
from structbo.data import Trial
from structbo.draws import default_model
from structbo.models.foundation.kept_programs import keep_programs
from structbo.optimizer import (
    Optimizer,
    Result,
    Settings,
    SpaceExhausted,
    StopBelowGain,
    StopSearch,
    suggest,
)
from structbo.plots import (
    plot_agreement,
    plot_alike,
    plot_calibration,
    plot_convergence,
    plot_effects,
    plot_importances,
    plot_interactions,
    plot_prior_posterior,
    plot_surface,
    plot_together,
    plot_trace,
)
from structbo.posterior import (
    Calibration,
    Effect,
    Importances,
    Posterior,
    anova_model,
    compare,
    fit,
)
from structbo.report import write_report
from structbo.runs import maximize, minimize
from structbo.screening import CoordinatewiseSampling, HierarchicalDiagonalSampling
from structbo.space import Categorical, Fixed, Integer, LinearConstraint, Ordinal, Real, Space

__version__ = "0.1.0"

__all__ = [
    "Calibration",
    "Categorical",
    "CoordinatewiseSampling",
    "Effect",
    "Fixed",
    "HierarchicalDiagonalSampling",
    "Importances",
    "Integer",
    "LinearConstraint",
    "Optimizer",
    "Ordinal",
    "Posterior",
    "Real",
    "Result",
    "Settings",
    "Space",
    "SpaceExhausted",
    "StopBelowGain",
    "StopSearch",
    "Trial",
    "acquisition",
    "anova_model",
    "batches",
    "compare",
    "default_model",
    "fit",
    "integrations",
    "keep_programs",
    "maximize",
    "maximizers",
    "minimize",
    "models",
    "plot_agreement",
    "plot_alike",
    "plot_calibration",
    "plot_convergence",
    "plot_effects",
    "plot_importances",
    "plot_interactions",
    "plot_prior_posterior",
    "plot_surface",
    "plot_together",
    "plot_trace",
    "recipes",
    "samplers",
    "suggest",
    "write_report",
]
