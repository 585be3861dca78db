"""Bayesian optimization that learns the structure of the objective, as NumPyro models."""

from structbo import acquisition, batches, models, recipes, samplers
from structbo.coordinatewise_sampling import CoordinatewiseSampling
from structbo.effects import Effect
from structbo.engine import SpaceExhausted, default_model
from structbo.fit import fit
from structbo.hierarchical_diagonal_sampling import HierarchicalDiagonalSampling
from structbo.leave_one_out import compare
from structbo.minimize import Result, maximize, minimize
from structbo.optimizer import Optimizer
from structbo.parameters import Categorical, Integer, Ordinal, Real
from structbo.plots import (
    plot_agreement,
    plot_convergence,
    plot_effects,
    plot_interactions,
    plot_prior_posterior,
    plot_surface,
    plot_together,
    plot_trace,
)
from structbo.posterior import Posterior
from structbo.space import Space
from structbo.suggest import suggest
from structbo.trial import Trial

__version__ = "0.1.0"

__all__ = [
    "Categorical",
    "CoordinatewiseSampling",
    "Effect",
    "HierarchicalDiagonalSampling",
    "Integer",
    "Optimizer",
    "Ordinal",
    "Posterior",
    "Real",
    "Result",
    "Space",
    "SpaceExhausted",
    "Trial",
    "acquisition",
    "batches",
    "compare",
    "default_model",
    "fit",
    "maximize",
    "minimize",
    "models",
    "plot_agreement",
    "plot_convergence",
    "plot_effects",
    "plot_interactions",
    "plot_prior_posterior",
    "plot_surface",
    "plot_together",
    "plot_trace",
    "recipes",
    "samplers",
    "suggest",
]
