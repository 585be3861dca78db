"""From trials to the next points: `suggest`, `Optimizer` and their common parts."""

from structbo.optimizer.engine import Engine
from structbo.optimizer.exhaustion import SpaceExhausted, as_many_as_left
from structbo.optimizer.optimizer import Optimizer
from structbo.optimizer.ranking import Estimate
from structbo.optimizer.result import Result
from structbo.optimizer.settings import Keywords, Settings
from structbo.optimizer.stopping import StopBelowGain, StopSearch
from structbo.optimizer.suggestion import suggest

__all__ = [
    "Engine",
    "Estimate",
    "Keywords",
    "Optimizer",
    "Result",
    "Settings",
    "SpaceExhausted",
    "StopBelowGain",
    "StopSearch",
    "as_many_as_left",
    "suggest",
]
