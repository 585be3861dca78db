"""The default model, and checks of models; the type of draws."""

from typing import Any

import jax
import numpy as np
from jax import Array

from structbo.models import AdditiveGP, Residual
from structbo.models.compilation import remembered
from structbo.models.likelihood import Model, likelihood_site
from structbo.models.precision import double_precision
from structbo.models.upstream import prototype_trace

Draws = dict[str, Array]
"""Values of all latent sites, with the draws along the first axis."""


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

    _has_known_noise(model, num_dims, {})


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
        has_known_noise = _has_known_noise(model, num_dims, {"known_noise": np.ones(2)})
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


def _has_known_noise(model: Model, num_dims: int, options: dict[str, Any]) -> bool:
    """Whether the likelihood of a model, which is traced, has known noise."""
    found: list[bool] = []

    def run(key: Array) -> None:
        points, y, mask = np.full((2, num_dims), 0.5), np.zeros(2), np.ones(2, bool)
        trace = prototype_trace(model, key, (points, y), {"mask": mask, **options})
        found.append(trace[likelihood_site(trace)]["fn"].known_noise is not None)

    with double_precision():
        jax.eval_shape(run, jax.random.key(0))
    return found[0]
