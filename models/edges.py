"""Edge matrices as random variables: the prior over dependency graphs."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.core import Tracer
from jax.typing import ArrayLike
from numpy.typing import NDArray
from numpyro.distributions import constraints
from numpyro.distributions.util import validate_sample

from structbo.models.decomposition import Decomposition, pairs

Structure = Callable[[int], Decomposition]
"""A NumPyro sub-program: from the number of dimensions to a random decomposition."""


class Adjacency(constraints.Constraint):
    """Symmetric 0/1 matrices with an empty diagonal."""

    is_discrete = True
    event_dim = 2

    def __call__(self, x: ArrayLike) -> Array:
        x = jnp.asarray(x)
        binary = ((x == 0) | (x == 1)).all((-2, -1))
        symmetric = (x == jnp.swapaxes(x, -2, -1)).all((-2, -1))
        return binary & symmetric & (jnp.diagonal(x, axis1=-2, axis2=-1) == 0).all(-1)

    def feasible_like(self, prototype: ArrayLike) -> Array:
        return jnp.zeros_like(jnp.asarray(prototype))

    def tree_flatten(self) -> tuple[tuple[()], tuple[tuple[()], dict[str, object]]]:
        return (), ((), {})


adjacency = Adjacency()
"""The support of edge matrices; samplers find their sites by it."""


class EdgeBernoulli(dist.Distribution):
    """Independent edges: ``Z_ij = Z_ji ~ Bernoulli(p_ij)`` for i < j, with an empty diagonal.

    Args:
        num_dims: the number of dimensions D.
        probs: probability of an edge, a scalar or a symmetric matrix of shape (D, D).

    Raises:
        ValueError: if the probabilities have the wrong shape, or (where known) are not in [0, 1].

    References:
        Rolland et al. 2018, section 4.

    Example:
        >>> Z = EdgeBernoulli(4, 0.5).sample(jax.random.key(0))
        >>> Z.shape, bool(adjacency(Z))
        ((4, 4), True)
    """

    support = adjacency
    pytree_data_fields = ("probs",)
    pytree_aux_fields = ("num_dims",)

    def __init__(
        self, num_dims: int, probs: ArrayLike = 0.5, *, validate_args: bool | None = None
    ) -> None:
        self.num_dims = num_dims
        self.probs = jnp.asarray(probs, float)
        if self.probs.ndim >= 2 and self.probs.shape[-2:] != (num_dims, num_dims):
            raise ValueError(
                f"probs must be a number or a matrix of shape {(num_dims, num_dims)}, "
                f"got shape {self.probs.shape}."
            )
        if not isinstance(self.probs, Tracer) and not bool(
            ((self.probs >= 0) & (self.probs <= 1)).all()
        ):
            raise ValueError(f"probs must be in [0, 1], got {np.asarray(probs)}.")
        super().__init__(event_shape=(num_dims, num_dims), validate_args=validate_args)

    @property
    def _is_upper(self) -> NDArray[np.bool_]:
        return np.triu(np.ones(self.event_shape, bool), 1)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        shape = (*sample_shape, *self.event_shape)
        present = jax.random.bernoulli(key, self.probs, shape) & self._is_upper
        upper = present.astype(jnp.int32)
        return upper + jnp.swapaxes(upper, -2, -1)

    @validate_sample
    def log_prob(self, value: ArrayLike) -> Array:
        present = jnp.asarray(value) == 1
        # Chosen before the logarithm: what is not used, as on the diagonal, has no derivative.
        chosen = jnp.where(present, self.probs, 1.0 - self.probs)
        return jnp.log(jnp.where(self._is_upper, chosen, 1.0)).sum((-2, -1))


def edges(
    probability: ArrayLike | dist.Distribution | None = None,
    components: Callable[[Array], Decomposition] = pairs,
) -> Structure:
    """The structure whose random variable is an edge matrix, site ``Z``.

    Args:
        probability: of an edge: a number, a symmetric (D, D) matrix, or a distribution, which adds
            the site ``edge_probability``. The default, ``1 / max(D - 1, 2)``, expects at most D / 2
            edges.
        components: from an edge matrix to a decomposition: `pairs`, `cliques`, or your own.

    Returns:
        A structure for `AdditiveGP`.

    Example:
        >>> structure = edges(dist.Beta(1.0, 4.0))
        >>> with numpyro.handlers.seed(rng_seed=0):
        ...     structure(3).members.shape
        (6, 3)
    """

    def structure(num_dims: int) -> Decomposition:
        probs = 1.0 / max(num_dims - 1, 2) if probability is None else probability
        if isinstance(probs, dist.Distribution):
            probs = numpyro.sample("edge_probability", probs)
        return components(numpyro.sample("Z", EdgeBernoulli(num_dims, probs)))

    return structure
