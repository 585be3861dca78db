"""Acquisition functions, averaged over posterior draws.

*Additive* ones are sums over components, which message passing maximizes exactly; *joint* ones
depend on the whole function. Both are averaged over draws before they are maximized.
"""

from structbo.acquisition.additive_criterion import (
    AdditiveAcquisition,
    AdditiveCriterion,
    ComponentCriterion,
)
from structbo.acquisition.additive_ucb import AdditiveUCB
from structbo.acquisition.criterion import Acquisition, Criterion
from structbo.acquisition.est import EST
from structbo.acquisition.expected_improvement import LogEI, LogEQI, log_improvement
from structbo.acquisition.exploration import (
    ActiveVariables,
    Constant,
    FiniteDomain,
    GroupLog,
    HalfLog,
    Iterations,
    Schedule,
)
from structbo.acquisition.independent_maximum import (
    approximate_maximum,
    expected_maximum,
    published_maximum,
)
from structbo.acquisition.interior_improvement import InteriorEI
from structbo.acquisition.joint import JointCriterion, best_means
from structbo.acquisition.max_value_entropy import MES, AdditiveMES, entropy_lost, gumbel_maxima
from structbo.acquisition.probability_of_improvement import LogPI
from structbo.acquisition.registry import CRITERIA, DEFAULT_CRITERION, as_criterion
from structbo.acquisition.thompson import Thompson
from structbo.acquisition.ucb import UCB
from structbo.maximizers.components import Components
from structbo.maximizers.search_state import Search

__all__ = [
    "CRITERIA",
    "DEFAULT_CRITERION",
    "EST",
    "MES",
    "UCB",
    "Acquisition",
    "ActiveVariables",
    "AdditiveAcquisition",
    "AdditiveCriterion",
    "AdditiveMES",
    "AdditiveUCB",
    "ComponentCriterion",
    "Components",
    "Constant",
    "Criterion",
    "FiniteDomain",
    "GroupLog",
    "HalfLog",
    "InteriorEI",
    "Iterations",
    "JointCriterion",
    "LogEI",
    "LogEQI",
    "LogPI",
    "Schedule",
    "Search",
    "Thompson",
    "approximate_maximum",
    "as_criterion",
    "best_means",
    "entropy_lost",
    "expected_maximum",
    "gumbel_maxima",
    "log_improvement",
    "published_maximum",
]
