"""The engine behind `suggest` and `Optimizer`: the unit cube, and values to be maximized."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.stats import qmc

from structbo.acquisition import Acquisition, Criterion, as_criterion
from structbo.batches import BatchStrategy, Hallucination, as_strategy
from structbo.data import Data, standardized
from structbo.draws import Chain, Inference, check_run, default_model, step_seed
from structbo.models import AdditiveGP
from structbo.models.arguments import check_model, checked_count
from structbo.models.arrays import FloatArray
from structbo.models.precision import double_precision
from structbo.proposal import is_new, propose, propose_batch
from structbo.space import Levels, Space

NUM_DRAWS = 6
MAX_SEED = 2**63 - 1


class SpaceExhausted(ValueError):
    """A finite space has no more new points."""


class Engine:
    """Proposes points, keeping the Markov chain between calls.

    Args:
        space: the search space.
        model: a NumPyro model, or None for `default_model`.
        num_initial: how many finite values are needed before the model is used; None for twice the
            number of dimensions, between 4 and 20.
        seed: of everything random.
        criterion: what makes a point worth evaluating, an instance or its name.
        inference: from the model and the seed to a source of draws, by default a `Chain`.
        batch: what makes points worth evaluating together, an instance or its name.
    """

    def __init__(
        self,
        space: Space,
        model: AdditiveGP | None,
        num_initial: int | None,
        seed: int,
        criterion: str | Criterion = "log_ei",
        inference: Inference | None = None,
        batch: str | BatchStrategy = "believer",
    ) -> None:
        self.space = space
        self.model = default_model(space.categorical) if model is None else model
        check_model(self.model)
        if model is not None:
            check_run(model, space.num_dims)
        if num_initial is None:
            num_initial = int(np.clip(2 * space.num_dims, 4, 20))
        self.num_initial = checked_count("num_initial", num_initial, least=0)
        self.criterion = as_criterion(criterion)
        self.batch = as_strategy(batch)
        self._seed = checked_count("seed", seed, least=0)
        if self._seed > MAX_SEED:
            raise ValueError(f"seed must be at most {MAX_SEED}, got {seed}.")
        self._acquisition: Acquisition | None = None
        self._source = (
            Chain(self.model, NUM_DRAWS, seed) if inference is None else inference(self.model, seed)
        )

    def propose(self, x: FloatArray, y: FloatArray, pending: FloatArray, n: int) -> FloatArray:
        """The next points.

        Args:
            x: evaluated points, shape (m, D).
            y: their values, shape (m,); those of failed evaluations are not finite.
            pending: points being evaluated, shape (p, D).
            n: how many points to propose.

        Returns:
            Legal points, shape (n, D), different from each other and from all those given.

        Raises:
            SpaceExhausted: if a finite space has fewer than n other points.
        """
        known = np.concatenate([x, pending])
        self._check_room(known, n)
        if np.isfinite(y).sum() < max(self.num_initial, 1):
            return self._new_points(known, n)
        with double_precision():
            data = Data.padded(x, standardized(y))
            draws = self._source.advance(data)
            seed = step_seed(self._seed, len(known))
            given = self.model, draws, data, self.space.levels, n, seed, pending, self.criterion
            if isinstance(self.batch, Hallucination):
                ranked, self._acquisition = propose(*given, self.batch.lie)
            else:
                ranked, self._acquisition = propose_batch(*given, self.batch)
        points = np.empty((0, self.space.num_dims))
        for candidates in ranked:
            taken = np.concatenate([known, points])
            legal = self.space.snap(candidates)
            new = legal[is_new(legal, taken)]
            points = np.concatenate([points, new[:1] if len(new) else self._new_points(taken, 1)])
        missing = self._new_points(np.concatenate([known, points]), n - len(points))
        return np.concatenate([points, missing])

    def score(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What was maximized last, at points (m, D), and its Monte Carlo error, both of shape (m,).

        Raises:
            ValueError: if nothing was maximized yet.
        """
        if self._acquisition is None:
            raise ValueError(
                "there are no scores yet: the points so far are quasi-random. Ask for a point when "
                f"{max(self.num_initial, 1)} values are told."
            )
        with double_precision():
            values, errors = _values_and_errors(self._acquisition, x)
            return np.asarray(values), np.asarray(errors)

    def _check_room(self, known: FloatArray, n: int) -> None:
        num_points = self.space.num_points
        num_known = len({row.tobytes() for row in known})
        if num_points is not None and num_points - num_known < n:
            raise SpaceExhausted(
                f"{n} new points were asked for, but the space has {num_points} points in all and "
                f"{num_known} of them are evaluated or pending: {num_points - num_known} are left."
            )

    def _new_points(self, known: FloatArray, n: int) -> FloatArray:
        """Quasi-random points that are not known yet."""
        rows = self._quasi_random(skip=len(known), number=256 + 4 * n)
        points = rows[is_new(rows, known)][:n]
        if len(points) < n and self.space.num_points is not None:
            taken = {row.tobytes() for row in self.space.snap(np.concatenate([known, points]))}
            levels = [level for level in self.space.levels if level is not None]
            rest = (np.array(row) for row in itertools.product(*levels))
            new = (row for row in rest if row.tobytes() not in taken)
            more = list(itertools.islice(new, n - len(points)))
            points = np.concatenate([points, np.reshape(more, (-1, self.space.num_dims))])
        return points

    def _quasi_random(self, skip: int, number: int) -> FloatArray:
        """Legal points of a scrambled Sobol sequence."""
        sequence = qmc.Sobol(self.space.num_dims, seed=self._seed)
        start = sequence.random_base2((skip + number - 1).bit_length())[skip : skip + number]
        with double_precision():
            return self.space.snap(np.asarray(Levels.of(self.space.levels).even(start)))


@jax.jit
def _values_and_errors(acquisition: Acquisition, x: FloatArray) -> tuple[Array, Array]:
    points = jnp.asarray(x)
    return acquisition(points), acquisition.standard_error(points)
