"""The default model, checks of models and their sites, and the type of draws."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import jax
import numpy as np
import numpyro.distributions as dist
from jax import Array
from jaxtyping import Key, Shaped

from structbo.models import AdditiveGP, Residual, edges, main_effects
from structbo.models.decomposition import Structure, pairs
from structbo.models.foundation.arrays import AnyArray
from structbo.models.foundation.compilation import remembered
from structbo.models.foundation.precision import double_precision
from structbo.models.foundation.program import one_trace
from structbo.models.foundation.upstream import latent_sample_sites, prototype_trace
from structbo.models.kernels import Centered
from structbo.models.kernels.levels import LevelKernel
from structbo.models.likelihood import Model, likelihood_site
from structbo.space import Space

Draw = Mapping[str, Shaped[AnyArray, "..."]]
"""Values of all latent sites in one draw."""
Draws = Mapping[str, Shaped[AnyArray, "S ..."]]
"""Values of all latent sites, with the S draws along the first axis."""
Found = TypeVar("Found")
FEW_DIMS = 20
"""Number of dimensions up to which the default model has no main effect in common."""
MOST_PAIRS = 2**12
"""Number of pairs for which draws of the default model have room.

Observations determine far fewer. Room for all 124,750 pairs of 500 dimensions takes 62 MB per draw,
and a log density given 128 observations then takes 0.37 instead of 0.04 s.
"""
MANY_DIMS = 200
"""Number of dimensions up to which the default model has pairs.

A hundred observations of 300 parameters tell nothing about pairs, which take half of the time."""


def default_model(
    categorical: tuple[int, ...] = (), has_residual: bool = True, *, num_dims: int = 1
) -> AdditiveGP:
    """The model of `suggest`: main effects, a random graph of pairs, and a residual.

    Args:
        categorical: indices of categorical dimensions.
        has_residual: whether to add a component over all dimensions, for effects that main effects
            and pairs do not explain.
        num_dims: number of dimensions. The residual for more than `FEW_DIMS` has a main effect that
            parameters have in common, whose share of it is Beta(1, 4). At most `MOST_PAIRS` pairs
            are present, and for more than `MANY_DIMS` there are none.

    Example:
        >>> default_model()
        AdditiveGP(residual=Residual())
    """
    common = dist.Beta(1.0, 4.0) if num_dims > FEW_DIMS else None
    residual = Residual(common=common) if has_residual else None
    return AdditiveGP(_structure(num_dims), residual=residual, categorical=categorical)


def _structure(num_dims: int) -> Structure:
    if num_dims > MANY_DIMS:
        return main_effects()
    if num_dims * (num_dims - 1) // 2 <= MOST_PAIRS:
        return edges()
    return edges(components=partial(pairs, capacity=MOST_PAIRS))


def with_categories(model: Model, space: Space) -> Model:
    """The model with the categorical dimensions of a space, unless it is custom or has its own.

    Raises:
        ValueError: if a kernel of levels has another number of levels than its parameter.
    """
    if not isinstance(model, AdditiveGP):
        return model
    for dim, kernel in (model.kernels or {}).items():
        of_levels = kernel.kernel if isinstance(kernel, Centered) else kernel
        levels = space.levels[dim] if dim < space.num_dims else None
        if isinstance(of_levels, LevelKernel) and levels is not None:
            _check_levels(of_levels, space.names[dim], len(levels))
    return model if model.categorical else replace(model, categorical=space.categorical)


def _check_levels(kernel: LevelKernel, name: str, num_levels: int) -> None:
    if kernel.num_levels != num_levels:
        raise ValueError(
            f"the kernel of {name!r} has {kernel.num_levels} levels, and the parameter has "
            f"{num_levels}: give it {type(kernel).__name__}({num_levels})."
        )


@remembered
def check_run(model: Model, num_dims: int) -> None:
    """Checks a model early, by a trace without compilation.

    Args:
        model: a NumPyro model. Errors that it raises are passed on.
        num_dims: the number of dimensions D.

    Raises:
        ValueError: if the model does not have exactly one `MarginalGP`.
    """
    _found_in_trace(likelihood_site, model, num_dims)


@remembered
def latent_sites(model: Model, num_dims: int) -> tuple[str, ...]:
    """Names of the latent sites of a model, from a trace without compilation.

    Args:
        model: a NumPyro model. Errors that it raises are passed on.
        num_dims: the number of dimensions D.

    Example:
        >>> latent_sites(default_model(has_residual=False), 3)
        ('Z', 'lengthscale', 'outputscale', 'noise')
    """
    names: tuple[str, ...] = _found_in_trace(latent_sample_sites, model, num_dims)
    return names


@remembered
def check_known_noise(model: Model, num_dims: int) -> None:
    """Checks that a model passes known noise to its likelihood, by a trace without compilation.

    Args:
        model: a NumPyro model that passes `check_run`.
        num_dims: the number of dimensions D.

    Raises:
        TypeError: if the model does not accept known noise, or does not pass it on.
    """
    try:
        has_known_noise = _found_in_trace(_has_known_noise, model, num_dims, known_noise=np.ones(2))
    except TypeError as error:
        if "known_noise" not in str(error):
            raise
        has_known_noise = False
    if not has_known_noise:
        raise TypeError(
            f"{model!r} does not use known noise of single observations: add the argument "
            "known_noise=None, and pass it on as MarginalGP(covariance, X, noise, mask, "
            "known_noise)."
        )


def _has_known_noise(trace: dict[str, Any]) -> bool:
    return trace[likelihood_site(trace)]["fn"].known_noise is not None


def _found_in_trace(
    look: Callable[[dict[str, Any]], Found], model: Model, num_dims: int, **options: Any
) -> Found:
    """The result of a function of the model's trace, which has abstract values."""
    found: list[Found] = []

    def run(key: Key[Array, ""]) -> None:
        points, y, mask = np.full((2, num_dims), 0.5), np.zeros(2), np.ones(2, bool)
        found.append(look(prototype_trace(model, key, (points, y), {"mask": mask, **options})))

    with double_precision(), one_trace:
        jax.eval_shape(run, jax.random.key(0))
    return found[0]
