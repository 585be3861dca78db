"""The result of `minimize` and `maximize`."""

from dataclasses import dataclass
from typing import Any

from structbo.data import Trial
from structbo.optimizer.optimizer import Optimizer
from structbo.optimizer.ranking import Estimate
from structbo.posterior import Posterior


@dataclass(frozen=True)
class Result:
    """The result of `minimize` and `maximize`.

    Args:
        optimizer: the optimizer with all trials; continue with `ask` and `tell`, or pass it back
            in.
    """

    optimizer: Optimizer

    @property
    def best(self) -> Trial:
        """The trial with the best value, as in `Optimizer.best`."""
        return self.optimizer.best

    @property
    def best_params(self) -> Any:
        """The point with the best value; for noisy values see `best_trials`."""
        return self.best.params

    @property
    def best_value(self) -> float:
        """The best value, which is biased under noise."""
        value = self.best.value
        assert value is not None
        return value

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in order."""
        return self.optimizer.trials

    def best_trials(self, n: int = 1) -> list[Estimate]:
        """Trials with the best posterior means, for noisy values; see `Optimizer.best_trials`."""
        return self.optimizer.best_trials(n)

    @property
    def posterior(self) -> Posterior:
        """Posterior draws of the structure given all trials."""
        return self.optimizer.posterior

    def to_frame(self) -> Any:
        """All trials as a table, see `Optimizer.to_frame`."""
        return self.optimizer.to_frame()

    def __repr__(self) -> str:
        return f"Result({self.optimizer!r})"
