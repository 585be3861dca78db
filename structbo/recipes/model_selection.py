"""Expected improvement averaged over partitions, and baselines (Gardner et al. 2017)."""

from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from structbo.acquisition import LogEI
from structbo.data import Direction
from structbo.draws import partition_search
from structbo.draws.partition_search import ParameterCount
from structbo.models import AdditiveGP, BlockGP, Model, canonical
from structbo.models.foundation.arguments import check_name, checked_count
from structbo.optimizer import Optimizer
from structbo.recipes.refitting import (
    Values,
    best_of_bag,
    most_likely,
    partition_model,
    refitted,
)
from structbo.space import Space, SpaceLike

Hyperparameters = Literal["dimension", "block", "shared"]
KINDS = get_args(Hyperparameters)


def model_mcmc(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    num_models: int = 50,
    num_initial: int = 10,
    cycle: int = 1,
    hyperparameters: Hyperparameters | None = None,
    as_printed: bool = False,
) -> Optimizer:
    """Model MCMC: expected improvement averaged over a Markov chain of partitions.

    Splits and merges are accepted by the BIC evidence of partitions, with maximized
    hyper-parameters and the corrected proposal ratio of `SplitMerge`. The chain starts with all
    dimensions in one block, and continues from its last partition.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        seed: for all random choices.
        num_models: length k of the chain in every cycle.
        num_initial: size of the initial design, which the paper does not print.
        cycle: number of observations between updates of partitions and hyper-parameters. The paper
            uses 1, which takes seconds each time.
        hyperparameters: "dimension" for a lengthscale per dimension; "block" for a lengthscale and
            a variance per block, which the BIC counts; "shared" for one of both, as for one base
            kernel. By default "dimension", and "block" if ``as_printed``.
        as_printed: whether to do as the paper does: improvement is over the best observation, and
            the acquisition of each model is maximized alone, eq. (11). By default, improvement is
            over the best posterior mean, and the average over models is maximized.

    Returns:
        The optimizer.

    References:
        Gardner et al. 2017, section 5 and eq. (10) and (11).
    """
    space = Space(space)
    parts = _parts(space, hyperparameters, as_printed)
    return refitted(
        space,
        direction,
        seed=seed,
        model=parts.model,
        criterion=parts.criterion,
        maximizer=parts.maximizer,
        fitter=_PartitionChain(num_models, parts.num_parameters),
        num_initial=num_initial,
        cycle=cycle,
    )


class _Parts(NamedTuple):
    """The parts of the recipes that differ between the paper and this library."""

    model: AdditiveGP | BlockGP
    criterion: LogEI
    maximizer: str
    num_parameters: ParameterCount | None


def _parts(space: Space, hyperparameters: Hyperparameters | None, as_printed: bool) -> _Parts:
    kind = hyperparameters or ("block" if as_printed else "dimension")
    check_name("hyperparameters", kind, KINDS)
    criterion = LogEI("value" if as_printed else "mean")
    maximizer = "draw_by_draw" if as_printed else "multi_start"
    if kind == "dimension":
        return _Parts(partition_model(space.categorical), criterion, maximizer, None)
    model = BlockGP(kind == "shared", categorical=space.categorical)
    return _Parts(model, criterion, maximizer, model.num_parameters)


class _PartitionChain:
    """A chain of partitions that continues from its last one."""

    def __init__(self, num_models: int, num_parameters: ParameterCount | None) -> None:
        self._num_models = checked_count("num_models", num_models)
        self._num_parameters = num_parameters
        self._last: Int[np.ndarray, " D"] | None = None

    def __call__(
        self,
        model: Model,
        X: Float[np.ndarray, "n D"],
        y: Float[np.ndarray, " n"],
        seed: int,
    ) -> Values:
        found = partition_search.model_mcmc(
            model,
            X,
            y,
            num_models=self._num_models,
            start=self._last,
            num_parameters=self._num_parameters,
            seed=seed,
        )
        self._last = found.labels[-1]
        return [fit.values for fit in found.fits]


def bag_of_models(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    num_models: int = 50,
    num_initial: int = 10,
    cycle: int = 1,
    hyperparameters: Hyperparameters | None = None,
    as_printed: bool = False,
) -> Optimizer:
    """Bag of models: expected improvement under the best of a bag of random partitions.

    A new bag is drawn in every cycle. For the arguments see `model_mcmc`.

    References:
        Gardner et al. 2017, section 6, after Kandasamy, Schneider and Poczos 2015.
    """
    space, num_models = Space(space), checked_count("num_models", num_models)
    parts = _parts(space, hyperparameters, as_printed)
    return refitted(
        space,
        direction,
        seed=seed,
        model=parts.model,
        criterion=parts.criterion,
        maximizer=parts.maximizer,
        fitter=partial(best_of_bag, num_models=num_models, num_parameters=parts.num_parameters),
        num_initial=num_initial,
        cycle=cycle,
    )


def known_partition(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    labels: ArrayLike | None = None,
    seed: int = 0,
    num_initial: int = 10,
    cycle: int = 1,
    hyperparameters: Hyperparameters | None = None,
    as_printed: bool = False,
) -> Optimizer:
    """Expected improvement under one partition, with maximized hyper-parameters.

    The true partition gives the oracle of the paper, one block its fully dependent model.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        labels: dimensions with the same label share a block, shape (D,); by default all do.
        seed: for all random choices.
        num_initial: size of the initial design, which the paper does not print.
        cycle: number of observations between maximizations of hyper-parameters.
        hyperparameters, as_printed: see `model_mcmc`.

    Returns:
        The optimizer.

    Raises:
        ValueError: if the labels do not have shape (D,).

    References:
        Gardner et al. 2017, section 6.
    """
    space = Space(space)
    blocks = np.asarray([0] * space.num_dims if labels is None else labels)
    if blocks.shape != (space.num_dims,):
        raise ValueError(f"labels must have shape ({space.num_dims},), got {blocks.shape}.")
    # Labels can be of any kind, such as names of the blocks.
    structure = {"labels": canonical(np.unique(blocks, return_inverse=True)[1])}
    parts = _parts(space, hyperparameters, as_printed)
    return refitted(
        space,
        direction,
        seed=seed,
        model=parts.model,
        criterion=parts.criterion,
        maximizer=parts.maximizer,
        fitter=partial(most_likely, given=structure),
        num_initial=num_initial,
        cycle=cycle,
    )
