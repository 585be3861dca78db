"""The default model, and checks of models; their sites, and the type of draws."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
from jax import Array

from structbo.models import AdditiveGP, Residual
from structbo.models.foundation.compilation import remembered
from structbo.models.foundation.precision import double_precision
from structbo.models.foundation.upstream import latent_sample_sites, prototype_trace
from structbo.models.likelihood import Model, likelihood_site

Draws = dict[str, Array]
"""Values of all latent sites, with the draws along the first axis."""
Found = TypeVar("Found")


def default_model(categorical: tuple[int, ...] = (), has_residual: bool = True) -> AdditiveGP:
    """The model of `suggest`: main effects, a random graph of pairs, and a residual.

    Args:
        categorical: indices of categorical dimensions.
        has_residual: whether there is one more component over all dimensions, which explains what
            main effects and pairs do not.

    Example:
        >>> default_model()
        AdditiveGP(residual=Residual())
    """
    return AdditiveGP(residual=Residual() if has_residual else None, categorical=categorical)


@remembered
def check_run(model: Model, num_dims: int) -> None:
    """Traces a model, which compiles nothing, to see early what is wrong with it.

    Args:
        model: a NumPyro model.
        num_dims: the number of dimensions D.

    Raises:
        ValueError: if it has no `MarginalGP`, or several. Errors that it raises itself are passed
            on.
    """
    _found_in_trace(likelihood_site, model, num_dims)


@remembered
def latent_sites(model: Model, num_dims: int) -> tuple[str, ...]:
    """Names of the latent sites of a model, which is traced and not compiled.

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
    """Traces a model to see whether its likelihood has the known noise that the model is given.

    Args:
        model: a NumPyro model that passes `check_run`.
        num_dims: the number of dimensions D.

    Raises:
        TypeError: if it does not take known noise, or does not hand it on.
    """
    try:
        has_known_noise = _found_in_trace(_has_known_noise, model, num_dims, known_noise=np.ones(2))
    except TypeError as error:
        if "known_noise" not in str(error):
            raise
        has_known_noise = False
    if not has_known_noise:
        raise TypeError(
            f"{model!r} does not use known noise of single observations: give it the argument "
            "known_noise=None, and its likelihood MarginalGP(covariance, X, noise, mask, "
            "known_noise)."
        )


def _has_known_noise(trace: dict[str, Any]) -> bool:
    return trace[likelihood_site(trace)]["fn"].known_noise is not None


def _found_in_trace(
    look: Callable[[dict[str, Any]], Found], model: Model, num_dims: int, **options: Any
) -> Found:
    """A function's result for the trace of a model, whose values are abstract."""
    found: list[Found] = []

    def run(key: Array) -> None:
        points, y, mask = np.full((2, num_dims), 0.5), np.zeros(2), np.ones(2, bool)
        found.append(look(prototype_trace(model, key, (points, y), {"mask": mask, **options})))

    with double_precision():
        jax.eval_shape(run, jax.random.key(0))
    return found[0]
