"""The engine behind `suggest` and `Optimizer`: the unit cube, and values to be maximized."""

import copy
import itertools
import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Unpack

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float

from structbo.acquisition import Acquisition, LogEI
from structbo.acquisition.expected_improvement import mean_improvement
from structbo.acquisition.joint import TINY_VARIANCE
from structbo.data import NO_WARPING, Data, Standardized, Transform, Warping, padded_size
from structbo.draws import Chain, Draws, DrawSource, Posteriors, step_seed
from structbo.models import ConditionedGP
from structbo.models.foundation.accelerator import has_accelerator, map_draws
from structbo.models.foundation.compilation import return_freed_memory
from structbo.models.foundation.device import on_device, platform
from structbo.models.foundation.precision import double_precision
from structbo.optimizer.exhaustion import SpaceExhausted
from structbo.optimizer.preparation import Ahead, num_first, programs
from structbo.optimizer.settings import KEYWORDS, Keywords, Settings, shows
from structbo.optimizer.waiting import announce_wait
from structbo.proposal import Situation, first_new, is_new, propose
from structbo.samplers import search_sampler
from structbo.space import NEUTRAL, Levels, Space

MIN_DRAWS, MAX_DRAWS = 3, 6
DRAWS_TIMES_DIMS = 60
"""Number of draws times D, since the cost of a draw grows with the dimension."""
DRAWS_AT_ONCE = 16
"""An accelerator computes this many draws in the time of one."""
PROPOSAL = 1
"""The `use` argument of `step_seed` for proposals."""
_logger = logging.getLogger(__name__)


def draws_per_proposal(num_dims: int) -> int:
    """The number of posterior draws that the criterion of a proposal is averaged over.

    It is six for up to 10 dimensions, four for 15, three for 20 and more; on an accelerator always
    `DRAWS_AT_ONCE`.
    """
    if has_accelerator():
        return DRAWS_AT_ONCE
    return min(max(DRAWS_TIMES_DIMS // num_dims, MIN_DRAWS), MAX_DRAWS)


class Engine:
    """Proposes points, keeping the Markov chain between calls.

    Args:
        space: the search space.
        settings: the fields of `Settings`, as keyword arguments.

    Attributes:
        method: the settings in use.
        ahead: the padded sizes whose programs are compiled.
        draws: the draws behind the last proposal, see `Optimizer.draws`.
    """

    @shows(KEYWORDS)
    def __init__(self, space: Space, **settings: Unpack[Keywords]) -> None:
        self.space = space
        self.method = Settings.of(space, **settings)
        self._acquisition: Acquisition | None = None
        self._conditions: Bool[np.ndarray, "D D M"] | None = None
        self._maximum: tuple[Float[np.ndarray, "1 D"], Standardized, Warping] | None = None
        self.ahead = Ahead()
        self.draws: Draws | None = None
        with self._computing(0):
            self._begin()

    def _begin(self) -> None:
        """A new source of draws, for the current device."""
        model, seed, inference = self.method.model, self.method.seed, self.method.inference
        sampler = self.method.sampler or search_sampler
        self._platform = platform()
        self._source: DrawSource = (
            Chain(model, draws_per_proposal(self.space.num_dims), seed, sampler)
            if inference is None
            else inference(model, seed)
        )

    @contextmanager
    def _computing(self, num_rows: int) -> Iterator[None]:
        """Computes with double precision, on the device for a number of observations."""
        device = on_device(self.method.device, num_rows, self.space.num_dims)
        with device, double_precision():
            yield

    def _follow_device(self, num_rows: int) -> None:
        """Begins new draws if the device changes; a saved chain of its kind continues."""
        with self._computing(num_rows):
            if platform() != self._platform:
                saved = None if self.chain is None else self.chain.saved()
                self._begin()
                if self.chain is not None:
                    self.chain.restore(saved)

    @property
    def chain(self) -> Chain | None:
        """The Markov chain of the draws; None if `inference` uses no chain."""
        return self._source if isinstance(self._source, Chain) else None

    def propose(
        self,
        x: Float[np.ndarray, "m D"],
        y: Float[np.ndarray, " m"],
        pending: Float[np.ndarray, "p D"],
        n: int,
        *,
        sem: Float[np.ndarray, " m"] | None = None,
        num_before: int | None = None,
        conditions: Bool[np.ndarray, "D D M"] | None = None,
    ) -> Float[np.ndarray, "n D"]:
        """The next points.

        Args:
            x: evaluated points.
            y: their values; not finite for failed evaluations.
            pending: points being evaluated.
            n: how many points to propose.
            sem: standard errors of the values; None if there are none.
            num_before: number of points asked for before, by default m + p. It determines the next
                points of the quasi-random sequence, and the random choices.
            conditions: conditions on which parameters exist, see `Levels`; None if all always
                exist.

        Returns:
            Legal points, different from each other and from all given points.

        Raises:
            SpaceExhausted: if a finite space has fewer than n other points.
        """
        start = time.monotonic()
        self._conditions = conditions
        known = np.concatenate([x, pending])
        step = len(known) if num_before is None else num_before
        self.check_room(known, n)
        if not self.is_modeled(y):
            return self._new_points(known, n, skip=step)
        self._follow_device(len(x))
        if padded_size(len(x)) not in self.ahead:
            announce_wait(len(x), self.space.num_dims)
            self.compile(x, len(pending), sem, is_batch=n > 1 or len(pending) > 0)
        settings = self.method
        with self._computing(len(x)):
            data, standardized, warping = self._transformed(x, y, sem, self.chain)
            self.draws = self._source.advance(data)
            seed = step_seed(settings.seed, step, use=PROPOSAL)
            posteriors = Posteriors.of(settings.model, self.draws, data)
            self._log_inducing(posteriors)
            ranked, self._acquisition = propose(
                Situation(posteriors, self._levels, pending),
                n,
                jax.random.key(seed),
                settings.criterion,
                settings.batch,
                settings.maximizer,
            )
        points = np.empty((0, self.space.num_dims))
        for candidates in ranked:
            taken = np.concatenate([known, points])
            first = first_new(self._legal(candidates), taken)
            if not len(first):
                first = self._new_points(taken, 1, skip=step + len(points))
            points = np.concatenate([points, first])
        if missing := n - len(points):
            taken = np.concatenate([known, points])
            others = self._new_points(taken, missing, skip=step + len(points))
            points = np.concatenate([points, others])
        self._maximum = points[:1], standardized, warping
        if padded_size(len(x)) not in self.ahead:
            self.ahead.begin(len(x), time.monotonic() - start)
            return_freed_memory()
        return points

    def transform(
        self,
        x: Float[np.ndarray, "m D"],
        y: Float[np.ndarray, " m"],
        sem: Float[np.ndarray, " m"] | None,
    ) -> Transform:
        """The transform by which a search models these values. The search does not change.

        If the last proposal had the same values, this is its transform. Otherwise it is the most
        likely one given the current state of the chain, or a new chain.

        Args:
            x: evaluated points.
            y: their values; at least one is finite.
            sem: standard errors of the values; None if there are none.
        """
        standardized, warping = self._standardized(y), None
        if self._maximum is not None:
            _, last, last_warping = self._maximum
            if np.array_equal(last.values, standardized.values):
                warping = last_warping
        if warping is None:
            with self._computing(len(x)):
                *_, warping = self._transformed(x, y, sem, copy.copy(self.chain))
        powers = Warping(*map(float, warping))
        return Transform(1.0, standardized.location, standardized.scale, powers)

    def _standardized(self, y: Float[np.ndarray, " m"]) -> Standardized:
        return Standardized.of(y) if self.method.standardize else Standardized.unchanged(y)

    def _transformed(
        self,
        x: Float[np.ndarray, "m D"],
        y: Float[np.ndarray, " m"],
        sem: Float[np.ndarray, " m"] | None,
        chain: Chain | None,
    ) -> tuple[Data, Standardized, Warping]:
        """Padded data on the scale of the model, and the transform."""
        standardized = self._standardized(y)
        known_noise = None if sem is None else (sem / standardized.scale) ** 2
        data = Data.padded(x, standardized.values, known_noise)
        if not self.method.warps or chain is None:
            return data, standardized, NO_WARPING
        data, warping = chain.warped(data)
        return data, standardized, warping

    def prepare(
        self,
        x: Float[np.ndarray, "m D"],
        num_pending: int,
        *,
        sem: Float[np.ndarray, " m"] | None = None,
        num_expected: float = math.inf,
    ) -> None:
        """Compiles the programs of the next proposals in the background.

        Args:
            x: evaluated points.
            num_pending: how many points are being evaluated.
            sem: standard errors of the values; None if there are none.
            num_expected: how many points will be evaluated at most.
        """
        size = padded_size(len(x))
        if size in self.ahead:
            is_needed = num_expected > size + 1
            number, rows = is_needed * self.ahead.due(len(x), num_pending), size + 1
        else:
            number, rows = num_first(self._num_needed - len(x) - num_pending), self._num_needed
        if number:
            table = np.resize(x, (rows, self.space.num_dims))
            self.compile(table, 0, sem, is_batch=num_pending > 1, number=number)

    def compile(
        self,
        x: Float[np.ndarray, "m D"],
        num_pending: int,
        sem: Float[np.ndarray, " k"] | None,
        *,
        is_batch: bool,
        number: int | None = None,
    ) -> None:
        """Compiles the programs of a proposal in the background.

        Args:
            x: as many evaluated points as there will be.
            num_pending: how many points are being evaluated.
            sem: standard errors of the values so far; None if there are none.
            is_batch: whether the proposal is for a batch.
            number: compiles this many of the programs; by default all.
        """
        if self.chain is None:
            return
        with self._computing(len(x)):
            # The chain of another device does not continue.
            if platform() == self._platform:
                steps = programs(
                    self.method,
                    self.chain,
                    self._levels,
                    x,
                    num_pending=num_pending,
                    is_batch=is_batch,
                    has_noise=sem is not None,
                )
                list(itertools.islice(steps, number))

    def _log_inducing(self, posteriors: Posteriors) -> None:
        """Logs that the model has inducing points, once per padded size."""
        number = posteriors.num_inducing
        if number is not None and len(posteriors.data.x) not in self.ahead:
            message = "with %d observations, the model has %d inducing points"
            _logger.info(message, np.sum(posteriors.data.mask), number)

    def is_modeled(self, y: Float[np.ndarray, " m"]) -> bool:
        """Whether a proposal given these values uses the model and is not quasi-random."""
        return bool(np.isfinite(y).sum() >= self._num_needed)

    def will_compile(self, y: Float[np.ndarray, " m"], num_pending: int = 0) -> bool:
        """Whether a proposal waits for compilation, including programs that it prepares.

        Args:
            y: the values.
            num_pending: how many points are being evaluated.
        """
        if padded_size(len(y)) in self.ahead:
            return False
        if self.is_modeled(y):
            return True
        num_missing = self._num_needed - len(y) - num_pending - 1
        return self.chain is not None and len(y) > 0 and num_first(num_missing) > 0

    @property
    def expected_gain(self) -> float | None:
        """The expected improvement at the first point of the last proposal, in units of values.

        None before the first maximization.

        Raises:
            ValueError: if the criterion is not expected improvement.
        """
        criterion = self.method.criterion
        if not isinstance(criterion, LogEI):
            raise ValueError(
                'the expected gain needs the criterion "interior_ei", "log_ei" or "log_eqi", got '
                f"{criterion}."
            )
        if self._maximum is None or self._acquisition is None:
            return None
        point, standardized, warping = self._maximum
        with double_precision():
            mean, deviation, best = _improvements(self._acquisition, point)
            gain = mean_improvement(mean, deviation, best, warping.inverse)
        return standardized.scale * gain

    def score(
        self, x: Float[np.ndarray, "m D"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """The acquisition of the last proposal at points, and its Monte Carlo error.

        Raises:
            ValueError: before the first maximization.
        """
        if self._acquisition is None:
            raise ValueError(
                "there are no scores yet: the points so far are quasi-random. Ask for a point when "
                f"{self._num_needed} values are told."
            )
        with double_precision():
            values, errors = _values_and_errors(self._acquisition, x)
            return np.asarray(values), np.asarray(errors)

    @property
    def _num_needed(self) -> int:
        """The number of finite values that the model requires."""
        return max(self.method.num_initial, 1)

    def check_room(self, known: Float[np.ndarray, "m D"], n: int) -> None:
        """Checks that a finite space has n points besides the known ones.

        Raises:
            SpaceExhausted: if there are fewer.
        """
        num_points = self.space.num_points
        num_known = len({row.tobytes() for row in known})
        if num_points is not None and num_points - num_known < n:
            raise SpaceExhausted(
                f"{n} new points were asked for, but the space has {num_points} points in all and "
                f"{num_known} of them are evaluated or pending: {num_points - num_known} are left."
            )

    def _new_points(
        self, known: Float[np.ndarray, "m D"], n: int, skip: int
    ) -> Float[np.ndarray, "n D"]:
        """Quasi-random points other than the known ones."""
        rows = self._quasi_random(skip, number=256 + 4 * n)
        points = rows[is_new(rows, known)][:n]
        if len(points) < n and self.space.num_points is not None and self._conditions is None:
            taken = {row.tobytes() for row in self.space.snap(np.concatenate([known, points]))}
            levels = [level for level in self.space.levels if level is not None]
            rest = (np.array(row) for row in itertools.product(*levels))
            new = (row for row in rest if row.tobytes() not in taken)
            more = list(itertools.islice(new, n - len(points)))
            points = np.concatenate([points, np.reshape(more, (-1, self.space.num_dims))])
        if len(points) < n:
            raise SpaceExhausted(f"{n} new points were asked for, but only {len(points)} are left.")
        return points

    def _quasi_random(self, skip: int, number: int) -> Float[np.ndarray, "{number} D"]:
        """Legal points of a scrambled Sobol sequence."""
        from scipy.stats import qmc

        sequence = qmc.Sobol(self.space.num_dims, seed=self.method.seed)
        start = sequence.random_base2((skip + number - 1).bit_length())[skip : skip + number]
        with double_precision():
            return self._legal(np.asarray(_even(self._levels, start)))

    def existing(self, x: Float[np.ndarray, "m D"]) -> Bool[np.ndarray, "m D"]:
        """Which parameters exist at points, by the conditions of the last proposal."""
        with double_precision():
            return np.asarray(_existing(self._levels, x))

    def _legal(self, x: Float[np.ndarray, "m D"]) -> Float[np.ndarray, "m D"]:
        """The legal points nearest to points."""
        legal = self.space.snap(x)
        return legal if self._conditions is None else np.where(self.existing(legal), legal, NEUTRAL)

    @property
    def _levels(self) -> Levels:
        """The legal coordinates, in double precision if it is switched on."""
        return self.space.legal_coordinates(self._conditions)


_existing = jax.jit(jax.vmap(Levels.existing, in_axes=(None, 0)))
_even = jax.jit(Levels.even)


@jax.jit
def _values_and_errors(
    acquisition: Acquisition, x: Float[Array, "m D"]
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    return acquisition(x), acquisition.standard_error(x)


@jax.jit
def _improvements(
    acquisition: Acquisition, x: Float[Array, "1 D"]
) -> tuple[Float[Array, " S"], Float[Array, " S"], Float[Array, " S"]]:
    """Means and deviations of improvements at one point, and incumbents, of all draws."""
    criterion = acquisition.criterion
    assert isinstance(criterion, LogEI)

    def of_draw(
        draw: ConditionedGP, context: Float[Array, "*context"]
    ) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        mean, variance = draw.predict(x)
        deviation = jnp.sqrt(variance + TINY_VARIANCE)
        return criterion.normal(mean[0], deviation[0], context)

    return map_draws(lambda item: of_draw(*item), (acquisition.draws, acquisition.contexts))
