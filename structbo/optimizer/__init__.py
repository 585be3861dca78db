"""The entry points: `suggest`, `Optimizer`, `minimize`, `maximize`."""

from structbo.optimizer.engine import Engine, SpaceExhausted
from structbo.optimizer.minimization import Result, maximize, minimize
from structbo.optimizer.optimizer import Optimizer
from structbo.optimizer.settings import Method, Settings
from structbo.optimizer.suggestion import suggest

__all__ = [
    "Engine",
    "Method",
    "Optimizer",
    "Result",
    "Settings",
    "SpaceExhausted",
    "maximize",
    "minimize",
    "suggest",
]
