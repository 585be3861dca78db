"""Other libraries, which need their own packages: `pip install optuna cmaes botorch smac`."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float
from papers.problem import Problem
from papers.smac_hebo import Hebo, Smac


class Optuna:
    """A sampler of Optuna.

    Args:
        sampler: name of the sampler.
        problem: the function to maximize.
        seed: seed of the sampler.
    """

    def __init__(self, sampler: str, problem: Problem, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._trial: Any = None
        self._space: dict[str, Any] = {
            f"x{d}": optuna.distributions.FloatDistribution(low, high)
            for d, (low, high) in enumerate(problem.bounds)
        }
        self._study = optuna.create_study(
            direction="maximize", sampler=getattr(optuna.samplers, sampler)(seed=seed)
        )

    def ask(self) -> Float[np.ndarray, " D"]:
        """The next point."""
        self._trial = self._study.ask(self._space)
        return np.array([self._trial.params[name] for name in self._space])

    def tell(self, point: Float[np.ndarray, " D"], value: float) -> None:
        """Reports the value of the point that was asked for, or of a first point."""
        from optuna.trial import create_trial

        if self._trial is None:
            params = dict(zip(self._space, point.tolist(), strict=True))
            trial = create_trial(params=params, distributions=self._space, value=value)
            self._study.add_trial(trial)
        else:
            self._study.tell(self._trial, value)


class Method(Protocol):
    """A method that is asked for one point at a time."""

    def ask(self) -> Float[np.ndarray, " D"]:
        """The next point."""
        ...

    def tell(self, point: Float[np.ndarray, " D"], value: float) -> None:
        """Reports the value of a point."""
        ...


class Default:
    """BoTorch's default: a process with dimension-scaled prior, and its expected improvement.

    Args:
        problem: the function to maximize, on the unit cube.
        seed: seed of all random choices.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        from benchmarks.methods import BoTorch

        self._running = BoTorch(problem.num_dims, seed=seed)
        self.tell = self._running.tell

    def ask(self) -> Float[np.ndarray, " D"]:
        """The next point."""
        return self._running.ask(1)[0]


def turbo(problem: Problem, seed: int) -> Method:
    """TuRBO-1, on the unit cube."""
    from benchmarks.wide_turbo import Turbo

    return Turbo(problem, seed)


class Rescaled:
    """A method for the unit cube, on another box.

    Args:
        make: makes the method.
        problem: the function to maximize.
        seed: seed of the method.
    """

    def __init__(self, make: Callable[[Problem, int], Method], problem: Problem, seed: int) -> None:
        self._low, high = np.transpose(problem.bounds)
        self._width = high - self._low
        self._method = make(problem, seed)

    def ask(self) -> Float[np.ndarray, " D"]:
        """The next point."""
        return np.asarray(self._low + self._width * self._method.ask())

    def tell(self, point: Float[np.ndarray, " D"], value: float) -> None:
        """Reports the value of a point."""
        self._method.tell((point - self._low) / self._width, value)


PEERS: dict[str, Callable[[Problem, int], Method]] = {
    "TPE": partial(Optuna, "TPESampler"),
    "GPSampler": partial(Optuna, "GPSampler"),
    "CMA-ES": partial(Optuna, "CmaEsSampler"),
    "BoTorch": partial(Rescaled, Default),
    "TuRBO": partial(Rescaled, turbo),
    "SMAC": Smac,
    "HEBO": Hebo,
}
