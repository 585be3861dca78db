"""Expected improvement averaged over partitions, and baselines (Gardner et al. 2017)."""

from functools import partial

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from structbo.data import Direction
from structbo.draws import partition_search
from structbo.models import Model, canonical
from structbo.models.foundation.arguments import checked_count
from structbo.optimizer import Optimizer
from structbo.recipes.refitting import (
    Values,
    best_of_bag,
    most_likely,
    partition_model,
    refitted,
)
from structbo.space import Space, SpaceLike


def model_mcmc(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    num_models: int = 50,
    num_initial: int = 10,
    cycle: int = 1,
) -> Optimizer:
    """Model MCMC: expected improvement averaged over a Markov chain of partitions.

    Splits and merges are accepted by the BIC evidence of partitions, with maximized
    hyper-parameters. The chain starts with all dimensions in one block, and continues from its last
    partition. The paper maximizes the acquisition block by block, so its result depends on the
    start; here the average over all models is maximized jointly, and the proposal ratio is
    corrected (see `SplitMerge`).

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        seed: for all random choices.
        num_models: length k of the chain in every cycle.
        num_initial: size of the initial design, which the paper does not print.
        cycle: number of observations between updates of partitions and hyper-parameters. The paper
            uses 1, which takes seconds each time.

    Returns:
        The optimizer.

    References:
        Gardner et al. 2017, section 5 and eq. (10) and (11).
    """
    space = Space(space)
    return refitted(
        space,
        direction,
        seed=seed,
        model=partition_model(space.categorical),
        criterion="log_ei",
        fitter=_PartitionChain(num_models),
        num_initial=num_initial,
        cycle=cycle,
    )


class _PartitionChain:
    """A chain of partitions that continues from its last one."""

    def __init__(self, num_models: int) -> None:
        self._num_models = checked_count("num_models", num_models)
        self._last: Int[np.ndarray, " D"] | None = None

    def __call__(
        self,
        model: Model,
        X: Float[np.ndarray, "n D"],
        y: Float[np.ndarray, " n"],
        seed: int,
    ) -> Values:
        found = partition_search.model_mcmc(
            model, X, y, num_models=self._num_models, start=self._last, seed=seed
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
) -> Optimizer:
    """Bag of models: expected improvement under the best of a bag of random partitions.

    A new bag is drawn in every cycle. For the arguments see `model_mcmc`.

    References:
        Gardner et al. 2017, section 6, after Kandasamy, Schneider and Poczos 2015.
    """
    space, num_models = Space(space), checked_count("num_models", num_models)
    return refitted(
        space,
        direction,
        seed=seed,
        model=partition_model(space.categorical),
        criterion="log_ei",
        fitter=partial(best_of_bag, num_models=num_models),
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
    return refitted(
        space,
        direction,
        seed=seed,
        model=partition_model(space.categorical),
        criterion="log_ei",
        fitter=partial(most_likely, given=structure),
        num_initial=num_initial,
        cycle=cycle,
    )
