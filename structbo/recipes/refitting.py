"""What the recipes share whose values are found by a function of the data, not drawn."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from jax.typing import ArrayLike

from structbo.acquisition import Criterion
from structbo.data import Direction
from structbo.draws import Cycle, Fitted, Fitter
from structbo.models import AdditiveGP, fully_dependent, partitions
from structbo.models.arguments import checked_count
from structbo.optimizer import Optimizer
from structbo.space import SpaceLike

Values = Sequence[Mapping[str, ArrayLike]]
"""Values of all sites, one or more of them."""


def refitted(
    space: SpaceLike,
    direction: Direction,
    *,
    seed: int,
    model: AdditiveGP,
    criterion: str | Criterion,
    fitter: Fitter,
    num_initial: int | None,
    cycle: int,
) -> Optimizer:
    """An optimizer that calls a function of the data after every ``cycle`` observations."""
    cycle = checked_count("cycle", cycle)
    return Optimizer(
        space,
        direction,
        seed=seed,
        model=model,
        num_initial=num_initial,
        criterion=criterion,
        inference=lambda model, seed: Cycle(Fitted(model, seed, fitter), cycle),
    )


@lru_cache(maxsize=16)
def dependent_model(categorical: tuple[int, ...]) -> AdditiveGP:
    """One component; the same arguments give the same object, so that it is compiled once."""
    return AdditiveGP(fully_dependent(), categorical=categorical)


@lru_cache(maxsize=16)
def partition_model(categorical: tuple[int, ...]) -> AdditiveGP:
    """One component per block of a partition, likewise."""
    return AdditiveGP(partitions(), categorical=categorical)
