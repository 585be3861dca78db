"""The probabilities of sets under a k-DPP, and its entropy."""

import math
from functools import partial
from itertools import combinations
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Int, Key
from scipy.special import entr

from structbo.models.foundation.arguments import checked_count
from structbo.models.foundation.precision import double_precision
from structbo.samplers.kdpp.exact import (
    checked_kernel,
    log_elementary_sums,
    sample_kdpp,
    spectrum,
)

MAX_SETS = 20_000
"""Maximum number of sets for an enumeration."""


class Entropy(NamedTuple):
    """An entropy in nats.

    Args:
        value: the entropy, or an unbiased estimate.
        standard_error: the standard error of the estimate; 0 if the entropy is exact.
    """

    value: float
    standard_error: float


def kdpp_log_prob(L: ArrayLike, items: ArrayLike) -> Float[Array, "*S"]:
    """The log probability of sets under the k-DPP of a matrix.

    Args:
        L: symmetric positive semi-definite matrix of rank at least k, shape (n, n).
        items: k different items, or several sets of them, shape (..., k).

    Returns:
        ``log det(L_S)`` minus the logarithm of its sum over all sets of k items.

    Raises:
        ValueError: if L does not meet these conditions.

    References:
        Kulesza and Taskar 2011, "k-DPPs: fixed-size determinantal point processes", eq. (9) and
        (14).

    Example:
        >>> kdpp_log_prob(jnp.diag(jnp.array([1.0, 3.0, 2.0])), [[1], [2]]).round(4).tolist()
        [-0.6931, -1.0986]
    """
    items = jnp.asarray(items)
    with double_precision():
        L = checked_kernel(L, items.shape[-1])
        return _log_determinants(L, items) - _log_normalizer(L, items.shape[-1])


def kdpp_entropy(key: Key[Array, ""], L: ArrayLike, k: int, *, num_samples: int = 1000) -> Entropy:
    """The entropy of a k-DPP, exact by enumeration for at most 20,000 sets, otherwise estimated.

    The estimate is the mean of minus the log probability over exact samples.

    Args:
        key: a JAX random key.
        L: symmetric positive semi-definite matrix of rank at least k, shape (n, n).
        k: number of items of a set, static.
        num_samples: number of samples of an estimate, at least 2.

    Raises:
        ValueError: if L does not meet these conditions, or an argument is out of range.

    References:
        Kathuria et al. 2016, section 3.3.

    Example:
        >>> entropy = kdpp_entropy(jax.random.key(0), jnp.eye(4), 2)  # 6 sets, equally probable
        >>> bool(jnp.isclose(entropy.value, jnp.log(6.0))), entropy.standard_error
        (True, 0.0)
    """
    checked_count("num_samples", num_samples, least=2)
    with double_precision():
        L = checked_kernel(L, k)
        if k in (0, len(L)):
            return Entropy(0.0, 0.0)
        if math.comb(len(L), k) <= MAX_SETS:
            sets = np.array(list(combinations(range(len(L)), k)))
            log_probs = np.asarray(kdpp_log_prob(L, sets))
            return Entropy(float(entr(np.exp(log_probs)).sum()), 0.0)
        keys = jax.random.split(key, num_samples)
        surprises = -np.asarray(kdpp_log_prob(L, jax.vmap(partial(sample_kdpp, L=L, k=k))(keys)))
        return Entropy(float(surprises.mean()), float(surprises.std(ddof=1) / num_samples**0.5))


def _log_determinants(L: Float[Array, "n n"], items: Int[Array, "*S k"]) -> Float[Array, "*S"]:
    sign, log_determinant = jnp.linalg.slogdet(L[items[..., :, None], items[..., None, :]])
    return jnp.where(sign > 0, log_determinant, -jnp.inf)


def _log_normalizer(L: Float[Array, "n n"], k: int) -> Float[Array, ""]:
    values, _ = spectrum(L, k)
    return log_elementary_sums(jnp.log(values), k)[0][k]
