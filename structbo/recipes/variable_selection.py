"""Confidence bounds after a screening of the parameters (Chen, Castro and Krause 2012)."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float

from structbo.acquisition import UCB, HalfLog, Schedule
from structbo.data import Direction
from structbo.draws import Fitted
from structbo.maximizers import Maximizer, MultiStart, Search, ranked
from structbo.maximizers.maximizer import Function
from structbo.models import AdditiveGP, Model, active_sets
from structbo.models.foundation.arrays import AnyArray
from structbo.optimizer import Optimizer
from structbo.recipes.refitting import known_values
from structbo.screening import CoordinatewiseSampling, HierarchicalDiagonalSampling, Screening
from structbo.space import SpaceLike


def hds_gp_ucb(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    test: Literal["GPT", "FDT"] = "GPT",
    budget: int = 1000,
    thresholds: tuple[float, float] = (-10.0, 10.0),
    noise: float | None = None,
    outputscale: float | None = None,
    bandwidth: float | None = None,
    as_printed: bool = False,
    beta: Schedule | float = HalfLog(),
) -> Optimizer:
    """Hierarchical Diagonal Sampling, then GP-UCB on the parameters that it found.

    The evidence of the screening is the prior of an active set, which later observations may
    correct, and hyper-parameters are sampled. The paper instead fixes all other parameters for
    good, and assumes known hyper-parameters, see ``as_printed``.

    The paper picks thresholds from {5, 10, 20} and their negatives, and does not print the beta of
    its experiments; `structbo.acquisition.ActiveVariables` implements the beta of its theorem 4.1.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        seed: for all random choices.
        test: the sequential test, see `HierarchicalDiagonalSampling`.
        budget: maximum number of evaluations of the screening.
        thresholds: lower and upper threshold of the log likelihood ratio.
        noise: noise variance; by default estimated from repeated evaluations of one point.
        outputscale: variance of the function; by default estimated.
        bandwidth: bandwidth of the kernel, see `HierarchicalDiagonalSampling`; by default
            estimated. The paper's .1 on [-1, 1] is .05.
        as_printed: whether to do as the paper does: the printed index and differences of the
            tests, a prior mean of zero, and a search of the active parameters alone with the
            hyper-parameters of the screening. All other parameters keep their values at the random
            background point. Without active parameters, all are searched.
        beta: exploration parameter.

    Returns:
        The optimizer.

    References:
        Chen, Castro and Krause 2012, sections 3 and 4.
    """
    make = _ActiveAlone if as_printed else HierarchicalDiagonalSampling
    screening = make(
        space,
        test,
        budget=budget,
        thresholds=thresholds,
        noise=noise,
        outputscale=outputscale,
        bandwidth=bandwidth,
        mean=0.0 if as_printed else None,
        as_printed=as_printed,
        seed=seed,
    )
    return _after(screening, direction, seed, beta)


class _ActiveAlone(HierarchicalDiagonalSampling):
    """A screening whose hyper-parameters and active parameters are final."""

    def settings(self) -> dict[str, Any]:
        known = self.hypotheses
        if known is None:  # the budget was too small to estimate anything
            return super().settings()
        is_active = np.isin(self.space.names, self.active)
        is_active |= not is_active.any()
        background = self.space.snap(self.background)
        values: dict[str, ArrayLike] = {
            "active": is_active.astype(np.int32),
            "lengthscale": np.full(self.space.num_dims, known.bandwidth / np.sqrt(2.0)),
            "outputscale": known.outputscale,
            "noise": known.noise,
        }
        kept = [None if one else float(x) for one, x in zip(is_active, background, strict=True)]
        return {
            "model": AdditiveGP(active_sets(), categorical=self.space.categorical),
            "maximizer": OnSlice(tuple(kept)),
            "inference": partial(_known, values=values),
            "standardize": False,
        }


def _known(model: Model, seed: int, values: dict[str, ArrayLike]) -> Fitted:
    return Fitted(model, seed, partial(known_values, values=values))


@dataclass(frozen=True)
class OnSlice(Maximizer):
    """The default maximizer with some coordinates kept.

    Args:
        kept: the coordinate of every dimension in the unit cube, or None if it is free.
    """

    kept: tuple[float | None, ...]

    def starts(self, function: Function, search: Search) -> Float[Array, "K D"]:
        own = self._slice(search)
        own = own._replace(candidates=ranked(function, own.candidates))
        return MultiStart().starts(function, own)

    def prepare(self, function: Function, search: Search) -> None:
        MultiStart().prepare(function, self._slice(search))

    def __call__(self, function: Function, search: Search) -> Float[np.ndarray, "K D"]:
        return MultiStart()(function, self._slice(search))

    def _slice(self, search: Search) -> Search:
        """The search in which the kept coordinates have one level."""
        is_kept = jnp.array([x is not None for x in self.kept])
        at = jnp.array([0.0 if x is None else x for x in self.kept])

        def moved(points: Float[AnyArray, "*m D"]) -> Float[Array, "*m D"]:
            return jnp.where(is_kept, at, jnp.asarray(points))

        levels = search.levels
        values = jnp.pad(levels.values, ((0, 0), (0, levels.values.shape[1] == 0)))
        levels = levels._replace(
            values=jnp.where(is_kept[:, None], at[:, None], values),
            counts=jnp.where(is_kept, 1, levels.counts),
        )
        maxima = moved(search.maxima) if search.maxima.size else search.maxima
        return search._replace(
            levels=levels,
            candidates=moved(search.candidates),
            best=moved(search.best),
            maxima=maxima,
        )


def cws_gp_ucb(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    num_active: int,
    seed: int = 0,
    num_differences: int = 5,
    spacing: float | None = None,
    beta: Schedule | float = HalfLog(),
) -> Optimizer:
    """Coordinate-wise sampling, the baseline of the screening in `hds_gp_ucb`, then GP-UCB.

    The paper takes differences until they suffice; here their number is fixed.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        num_active: how many parameters matter.
        seed: for all random choices.
        num_differences: pairs of evaluations along each coordinate.
        spacing: distance of the two places of a pair, relative to the range; by default random.
        beta: exploration parameter.

    Returns:
        The optimizer.

    References:
        Chen, Castro and Krause 2012, section 5.
    """
    screening = CoordinatewiseSampling(
        space, num_active, num_differences=num_differences, spacing=spacing, seed=seed
    )
    return _after(screening, direction, seed, beta)


def _after(
    screening: Screening, direction: Direction, seed: int, beta: Schedule | float
) -> Optimizer:
    return Optimizer(
        screening.space,
        direction,
        screening=screening,
        seed=seed,
        criterion=UCB(beta),
        warp=False,
    )
