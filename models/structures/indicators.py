"""Independent indicators of edges or active variables: probabilities and densities."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Bool, Float

from structbo.models.foundation.arguments import is_concrete


def checked_probabilities(probs: ArrayLike, event_shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Probabilities as an array: a number, or one for each indicator.

    Args:
        probs: a scalar, or an array with the event axes last.
        event_shape: the shape of the indicators.

    Raises:
        ValueError: if the shape differs, or (unless traced) they are not in [0, 1].
    """
    array = jnp.asarray(probs, float)
    if array.ndim > 0 and array.shape[-len(event_shape) :] != event_shape:
        raise ValueError(
            f"probs must be a number or an array of shape {event_shape}, got shape {array.shape}."
        )
    # NumPy, because JAX traces operations on concrete numbers in compiled functions too.
    if is_concrete(array) and not ((np.asarray(array) >= 0) & (np.asarray(array) <= 1)).all():
        raise ValueError(f"probs must be in [0, 1], got {np.asarray(probs)}.")
    return array


def log_probability(
    happened: Bool[Array, "*shape"], probs: Float[Array, "..."]
) -> Float[Array, "*shape"]:
    """Log probability of each indicator, with finite gradients for certain indicators.

    The probability is chosen before the logarithm is taken, so the unused one, which may be zero,
    does not enter the gradient.
    """
    return jnp.log(jnp.where(happened, probs, 1.0 - probs))


def probability_site(name: str, probs: ArrayLike | dist.Distribution) -> ArrayLike:
    """Given probabilities unchanged; a distribution of them as an additional site."""
    if isinstance(probs, dist.Distribution):
        sampled: Array = numpyro.sample(name, probs)
        return sampled
    return probs
