"""Posterior draws and what follows from them: probabilities, effects, predictions, tables."""

from structbo.posterior.alignment import aligned
from structbo.posterior.calibration import Calibration
from structbo.posterior.convergence import ConvergenceWarning, convergence_problems
from structbo.posterior.draws import PosteriorDraws
from structbo.posterior.effects import Effect
from structbo.posterior.fitting import fit
from structbo.posterior.functional_anova import anova_model
from structbo.posterior.importances import Importances, Shares
from structbo.posterior.leave_one_out import compare
from structbo.posterior.posterior import Posterior
from structbo.posterior.runs_to_decide import Runs
from structbo.posterior.structures import (
    Probabilities,
    Structures,
    distance_to_mode,
    indicator_probabilities,
    indicator_rhat,
    pair_labels,
)
from structbo.posterior.units import Units

__all__ = [
    "Calibration",
    "ConvergenceWarning",
    "Effect",
    "Importances",
    "Posterior",
    "PosteriorDraws",
    "Probabilities",
    "Runs",
    "Shares",
    "Structures",
    "Units",
    "aligned",
    "anova_model",
    "compare",
    "convergence_problems",
    "distance_to_mode",
    "fit",
    "indicator_probabilities",
    "indicator_rhat",
    "pair_labels",
]
