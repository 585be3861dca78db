"""Parts of the recipes that compute site values from the data instead of sampling them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Float

from structbo.acquisition import Criterion
from structbo.data import Direction
from structbo.draws import Cycle, Fitted, Fitter, maximum_likelihood, partition_search
from structbo.draws.partition_search import ParameterCount
from structbo.models import (
    AdditiveGP,
    Model,
    fully_dependent,
    independent_lengthscale,
    partitions,
)
from structbo.models.foundation.arguments import checked_count
from structbo.optimizer import Optimizer
from structbo.space import SpaceLike

Values = Sequence[Mapping[str, ArrayLike]]
"""One or more assignments of values to all sites."""


def refitted(
    space: SpaceLike,
    direction: Direction,
    *,
    seed: int,
    model: Any,
    criterion: str | Criterion,
    fitter: Fitter,
    num_initial: int | None,
    cycle: int,
    maximizer: str = "multi_start",
    standardize: bool = True,
) -> Optimizer:
    """An optimizer that refits its model every ``cycle`` observations."""
    cycle = checked_count("cycle", cycle)
    return Optimizer(
        space,
        direction,
        seed=seed,
        model=model,
        num_initial=num_initial,
        criterion=criterion,
        maximizer=maximizer,
        inference=partial(_source, fitter=fitter, cycle=cycle),
        standardize=standardize,
    )


def _source(model: Model, seed: int, *, fitter: Fitter, cycle: int) -> Cycle:
    return Cycle(Fitted(model, seed, fitter), cycle)


def most_likely(
    model: Model,
    X: Float[np.ndarray, "n D"],
    y: Float[np.ndarray, " n"],
    seed: int,
    *,
    given: Mapping[str, ArrayLike] | None = None,
    with_priors: bool = False,
) -> Values:
    """A `Fitter`: the hyper-parameters of `maximum_likelihood`, which needs no seed."""
    return [maximum_likelihood(model, X, y, given or {}, with_priors=with_priors).values]


def known_values(
    model: Model,
    X: Float[np.ndarray, "n D"],
    y: Float[np.ndarray, " n"],
    seed: int,
    *,
    values: Mapping[str, ArrayLike],
) -> Values:
    """A `Fitter`: the given values of all sites."""
    return [values]


def best_of_bag(
    model: Model,
    X: Float[np.ndarray, "n D"],
    y: Float[np.ndarray, " n"],
    seed: int,
    *,
    num_models: int,
    group_size: int | None = None,
    num_parameters: ParameterCount | None = None,
) -> Values:
    """A `Fitter`: the best of some random partitions, with maximized hyper-parameters."""
    bag = partition_search.bag_of_models(
        model,
        X,
        y,
        num_models=num_models,
        group_size=group_size,
        num_parameters=num_parameters,
        seed=seed,
    )
    return [bag.best.values]


def dependent_model(categorical: tuple[int, ...]) -> AdditiveGP:
    """One component over all dimensions."""
    lengthscale = independent_lengthscale
    return AdditiveGP(fully_dependent(), lengthscale=lengthscale, categorical=categorical)


def partition_model(categorical: tuple[int, ...]) -> AdditiveGP:
    """One component per block of a partition."""
    lengthscale = independent_lengthscale
    return AdditiveGP(partitions(), lengthscale=lengthscale, categorical=categorical)
