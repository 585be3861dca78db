"""What the sections of a report draw on; each part is computed once."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structbo.data import Trial, direction_sign, filled_errors, trial_values
from structbo.models.foundation.arrays import FloatArray
from structbo.optimizer import Optimizer, as_many_as_left, suggest
from structbo.posterior import Calibration, Importances, Posterior, Runs, Units
from structbo.report.digits import column_texts, parameter_texts
from structbo.report.support import Support
from structbo.space import Parameter
from structbo.space.space import RESOLUTION

if TYPE_CHECKING:
    import pandas as pd

_logger = logging.getLogger(__name__)

TINY = 1e-12
"""Least standard deviation of a prediction, on the scale of the model."""
NUM_POINTS = 256
"""Number of points, spread over the space, at which predictions are compared with the runs."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The trials of a search, its posterior, and what follows from them.

    Args:
        optimizer: with two or more complete trials.
        num_suggestions: number of points to propose.
        elsewhere: points that are being evaluated without being trials of the optimizer.
        value_name: name of the objective.
    """

    optimizer: Optimizer
    num_suggestions: int
    elsewhere: Sequence[Any] = ()
    value_name: str = "objective"

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior given everything told."""
        _logger.info(
            "fitting a model to %d runs with Markov chains, which may take some minutes",
            len(self.told),
        )
        return self.optimizer.posterior

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return self.optimizer.space.names

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters by name."""
        return dict(zip(self.names, self.optimizer.space.parameters, strict=True))

    @property
    def sign(self) -> float:
        """1 if large values are good, -1 if small ones are."""
        return direction_sign(self.optimizer.direction)

    @cached_property
    def told(self) -> list[Trial]:
        """Complete and failed trials, in the order of the posterior's observations."""
        return [t for t in self.optimizer.trials if t.is_told]

    @cached_property
    def best_first(self) -> list[Trial]:
        """Complete trials, the best value first."""
        complete = [t for t in self.told if t.value is not None]
        return sorted(complete, key=lambda t: -self.sign * (t.value or 0.0))

    @property
    def best(self) -> Trial:
        """The complete trial with the best value."""
        return self.best_first[0]

    @property
    def num_failed(self) -> int:
        """How many evaluations failed."""
        return len(self.told) - len(self.best_first)

    @cached_property
    def pending(self) -> list[Any]:
        """Points that are being evaluated."""
        trials = self.optimizer.trials
        return [*(t.params for t in trials if t.state == "pending"), *self.elsewhere]

    @property
    def on_model_scale(self) -> Posterior:
        """The posterior with values on the scale of the model, where larger is better."""
        return replace(self.posterior, units=Units(self.optimizer.space))

    @cached_property
    def support(self) -> Support:
        """How well the runs predict the function of the model over the whole space."""
        from scipy.stats import qmc

        space = self.optimizer.space
        cube = qmc.Sobol(space.num_dims, seed=0).random(NUM_POINTS)
        spread = np.asarray(space.legal_coordinates().even(cube))
        posterior = self.on_model_scale
        moments = posterior.predict(space.from_unit(spread))
        return Support.of(self._known(posterior.calibration()), *moments)

    @cached_property
    def importances(self) -> Importances | None:
        """Shares of the variation, with intervals that the runs support.

        They are None for a model with a projection, which has no such shares.
        """
        if self.posterior.is_projected:
            return None
        return self.support.widened(self.posterior.importances())

    @cached_property
    def like_prior(self) -> NDArray[np.bool_]:
        """About which pairs of parameters the runs say nothing, shape (D, D)."""
        return self.posterior.like_prior()

    def runs_to_decide(self, first: str, second: str) -> Runs | None:
        """How many runs decide whether two parameters interact; None if the model has no edges."""
        posterior = self.posterior
        if len(posterior.edge_sites) != 1 or posterior.families:
            return None
        if posterior.ends_of(*posterior.edge_sites) != posterior.names:
            return None
        return posterior.runs_to_decide(first, second)

    @cached_property
    def calibration(self) -> Calibration:
        """Predictions of all known values; the values of failed evaluations are made up."""
        return self._known(self.posterior.calibration())

    def _known(self, calibration: Calibration) -> Calibration:
        return calibration.chosen(np.array([trial.state == "complete" for trial in self.told]))

    @cached_property
    def summary(self) -> "pd.DataFrame":
        """The diagnostics of all quantities."""
        return self.posterior.summary()

    @cached_property
    def is_modeled(self) -> bool:
        """Whether the model chooses the next points, which are else spread evenly."""
        return len(self.best_first) >= self.optimizer.method.num_initial

    @cached_property
    def next_points(self) -> Sequence[Any]:
        """Points to evaluate next, as many as there are, with few digits."""
        if not self.num_suggestions:
            return []
        optimizer, told = self.optimizer, self.told
        _logger.info("choosing %d points to run next", self.num_suggestions)

        def ask(n: int) -> list[Any]:
            points = suggest(
                optimizer.space,
                [trial.params for trial in told],
                trial_values(told),
                n,
                direction=optimizer.direction,
                sem=filled_errors(trial.sem for trial in told),
                pending=self.pending,
                **vars(optimizer.method),
            )
            return list(points)

        taken = [*(trial.params for trial in told), *self.pending]
        found = as_many_as_left(ask, self.num_suggestions)
        return list(optimizer.space.rounded(found, taken=taken))

    def cells(self, points: Sequence[Any], resolution: float = RESOLUTION) -> list[list[str]]:
        """The values of points as texts, in the order of the names, a list for every point.

        Args:
            points: legal points.
            resolution: of their numbers, see `parameter_texts`.
        """
        named = [self.optimizer.space.by_name(point) for point in points]
        columns = [
            parameter_texts(parameter, [point[name] for point in named], resolution)
            for name, parameter in self.parameters.items()
        ]
        return [list(row) for row in zip(*columns, strict=True)]

    @cached_property
    def of_best_first(self) -> "Predictions":
        """Predictions at `best_first`."""
        return self.predictions([trial.params for trial in self.best_first])

    @cached_property
    def of_next_points(self) -> "Predictions":
        """Predictions at `next_points`."""
        return self.predictions(self.next_points)

    @property
    def best_expected(self) -> float:
        """The best expected value of all complete trials."""
        return self.sign * float((self.sign * self.of_best_first.mean).max())

    @cached_property
    def measurement_error(self) -> float | None:
        """The standard deviation of measurements around the true value of the best trial.

        It is None if the model has no single noise, or trials have standard errors of their own.
        """
        noise = self.posterior.draws.get("noise")
        if noise is None or np.ndim(noise) != 2 or any(trial.sem for trial in self.told):
            return None
        transform = self.posterior.units.transform
        (of_one,) = transform.errors(np.ones(1), trial_values([self.best]))
        return float(np.sqrt(np.mean(noise)) / of_one)

    def chances(self, points: Sequence[Any]) -> FloatArray:
        """Probabilities that the function at points is better than `best_expected`, shape (m,)."""
        from scipy.stats import norm

        mean, variance = self.on_model_scale.predict(points)
        (best,) = self.posterior.units.transform([self.best_expected])
        return np.asarray(norm.sf(best, mean, np.maximum(np.sqrt(variance), TINY)))

    def predictions(self, points: Sequence[Any]) -> "Predictions":
        """Predictions at points."""
        mean, _, *interval = self.posterior.describe(points)
        return Predictions(mean, *interval)


class Predictions(NamedTuple):
    """Predictions of the function, without measurement noise.

    Args:
        mean: shape (m,).
        lower: lower ends of 90 % intervals, shape (m,).
        upper: their upper ends, shape (m,).
    """

    mean: FloatArray
    lower: FloatArray
    upper: FloatArray

    def cells(self, number: int | None = None) -> list[tuple[str, str]]:
        """Means and intervals as texts, a pair for each of the first points.

        Example:
            >>> Predictions(np.array([86.26]), np.array([78.4]), np.array([94.2])).cells()
            [('86.3', '78.4 to 94.2')]
        """
        shown = [values[:number] for values in self]
        texts = column_texts(np.concatenate(shown), digits=3)
        count = len(shown[0])
        means, lows, highs = (texts[k * count : (k + 1) * count] for k in range(3))
        ends = [f"{low} to {high}" for low, high in zip(lows, highs, strict=True)]
        return list(zip(means, ends, strict=True))
