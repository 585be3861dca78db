"""Partitions as random variables: every dimension belongs to exactly one component."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.scipy.special import gammaln
from jax.typing import ArrayLike
from jaxtyping import Float, Int, Int32

from structbo.models.decomposition import Decomposition
from structbo.models.foundation.arguments import check_positive, check_vector, checked_count
from structbo.models.foundation.arrays import RandomKey
from structbo.models.foundation.upstream import validate_sample
from structbo.models.foundation.values import Value
from structbo.models.supports import canonical, partition


def block_sizes(labels: ArrayLike) -> Int[Array, "*S D"]:
    """The number of dimensions with each of the labels 0 to D - 1."""
    labels = jnp.asarray(labels)
    return (labels[..., None] == jnp.arange(labels.shape[-1])).sum(-2)


def blocks(labels: Array, max_size: int | None = None) -> Decomposition:
    """The decomposition whose components are the blocks of a partition.

    Args:
        labels: dimensions with the same label share a block, shape (D,).
        max_size: the largest block that is valid; None for any.

    Returns:
        A decomposition with one component per block, in the order of the canonical labels.

    Raises:
        ValueError: if labels is not a vector, or the bound is less than 1.

    Example:
        >>> blocks(jnp.array([0, 1, 0])).members.astype(int).tolist()
        [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    """
    max_size = _checked_bound(max_size)
    check_vector("labels", labels)
    members = canonical(labels) == jnp.arange(labels.shape[0])[:, None]
    sizes = members.sum(1)
    valid = jnp.array(True) if max_size is None else sizes.max() <= max_size
    return Decomposition(members, sizes.astype(float), valid, max_size=max_size)


class PartitionPrior(dist.Distribution):
    """A distribution over partitions, defined by draws of labels.

    Args:
        num_dims: the number of dimensions D.
    """

    support = partition
    pytree_aux_fields = ("num_dims",)

    def __init__(self, num_dims: int, *, validate_args: bool | None = None) -> None:
        self.num_dims = checked_count("num_dims", num_dims)
        super().__init__(event_shape=(num_dims,), validate_args=validate_args)

    @abstractmethod
    def draw(self, key: RandomKey) -> Int[Array, " D"]:
        """One partition, in labels that need not be canonical."""

    def sample(self, key: RandomKey, sample_shape: tuple[int, ...] = ()) -> Int32[Array, "*S D"]:
        keys = jax.random.split(key, math.prod(sample_shape))
        return canonical(jax.vmap(self.draw)(keys)).reshape(*sample_shape, self.num_dims)


class UniformPartition(PartitionPrior):
    """All partitions, or all whose blocks are small, with equal probability.

    Args:
        num_dims: the number of dimensions D.
        max_size: the largest block with positive probability; None for any.

    References:
        Gardner et al. 2017, section 4.

    Example:
        >>> prior = UniformPartition(4)  # there are 15 partitions of 4
        >>> round(float(jnp.exp(-prior.log_prob(jnp.array([0, 0, 1, 2])))), 3)
        15.0
    """

    pytree_aux_fields = ("max_size",)

    def __init__(
        self, num_dims: int, max_size: int | None = None, *, validate_args: bool | None = None
    ) -> None:
        self.max_size = _checked_bound(max_size)
        super().__init__(num_dims, validate_args=validate_args)

    def draw(self, key: RandomKey) -> Int[Array, " D"]:
        """Cuts a random order of the dimensions into blocks, whose sizes are drawn in turn."""
        key_order, key_size = jax.random.split(key)
        _, log_weights = _uniform_tables(self.num_dims, self.max_size)
        sizes = 1 + jax.random.categorical(key_size, jnp.asarray(log_weights))

        def step(state: tuple[Array, Array], size: Array) -> tuple[tuple[Array, Array], Array]:
            label, room = state
            label, room = jnp.where(room == 0, label + 1, label), jnp.where(room == 0, size, room)
            return (label, room - 1), label

        _, labels = jax.lax.scan(step, (jnp.zeros_like(sizes[0]), jnp.zeros_like(sizes[0])), sizes)
        return jax.random.permutation(key_order, labels)

    @validate_sample
    def log_prob(self, value: ArrayLike) -> Float[Array, "*S"]:
        log_count, _ = _uniform_tables(self.num_dims, self.max_size)
        limit = self.num_dims if self.max_size is None else self.max_size
        return jnp.where(block_sizes(value).max(-1) <= limit, -log_count, -jnp.inf)


class CRPPartition(PartitionPrior):
    """The Chinese restaurant process: a new dimension joins a block in proportion to its size.

    Args:
        num_dims: the number of dimensions D.
        concentration: the weight of a new block, a positive number; it may be random.

    References:
        Aldous 1985, "Exchangeability and related topics".

    Example:
        >>> prior = CRPPartition(3, 1.0)
        >>> round(float(jnp.exp(prior.log_prob(jnp.array([0, 0, 0])))), 4)
        0.3333
    """

    pytree_data_fields = ("concentration",)

    def __init__(
        self, num_dims: int, concentration: ArrayLike, *, validate_args: bool | None = None
    ) -> None:
        self.concentration = _checked_concentration(concentration)
        super().__init__(num_dims, validate_args=validate_args)

    def draw(self, key: RandomKey) -> Int[Array, " D"]:
        key_new, key_other = jax.random.split(key)
        dims = jnp.arange(self.num_dims)
        is_new = jax.random.bernoulli(key_new, self.concentration / (self.concentration + dims))
        # Joining a block in proportion to its size means joining the block of a random earlier
        # dimension.
        earlier = jax.random.randint(key_other, dims.shape, 0, jnp.maximum(dims, 1))

        def seat(labels: Array, dim: Array) -> tuple[Array, None]:
            label = jnp.where(is_new[dim], dim, labels[earlier[dim]])
            return labels.at[dim].set(label), None

        return jax.lax.scan(seat, jnp.zeros_like(dims), dims)[0]

    @validate_sample
    def log_prob(self, value: ArrayLike) -> Float[Array, "*S"]:
        sizes, a = block_sizes(value), self.concentration
        within = jnp.where(sizes > 0, gammaln(jnp.maximum(sizes, 1)), 0.0).sum(-1)
        num_blocks = (sizes > 0).sum(-1)
        return num_blocks * jnp.log(a) + within + gammaln(a) - gammaln(a + self.num_dims)


class DirichletMultinomialPartition(PartitionPrior):
    """Partitions into a number of exchangeable groups.

    Group probabilities have a symmetric Dirichlet distribution, and dimensions choose groups by
    them; names of groups and empty groups are ignored.

    Args:
        num_dims: the number of dimensions D.
        num_groups: the number of groups, hence the largest number of blocks.
        concentration: concentration of the Dirichlet distribution, a positive number; it may be
            random.

    References:
        Wang, Li, Jegelka and Kohli 2017, "Batched high-dimensional Bayesian optimization via
        structural kernel learning".

    Example:
        >>> prior = DirichletMultinomialPartition(2, num_groups=2, concentration=1.0)
        >>> round(float(jnp.exp(prior.log_prob(jnp.array([0, 0])))), 4)
        0.6667
    """

    pytree_data_fields = ("concentration",)
    pytree_aux_fields = ("num_groups",)

    def __init__(
        self,
        num_dims: int,
        num_groups: int,
        concentration: ArrayLike = 1.0,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.num_groups = checked_count("num_groups", num_groups)
        self.concentration = _checked_concentration(concentration)
        super().__init__(num_dims, validate_args=validate_args)

    def draw(self, key: RandomKey) -> Int[Array, " D"]:
        key_probs, key_groups = jax.random.split(key)
        log_gammas = jax.random.loggamma(key_probs, self.concentration, (self.num_groups,))
        return jax.random.categorical(key_groups, log_gammas, shape=(self.num_dims,))

    @validate_sample
    def log_prob(self, value: ArrayLike) -> Float[Array, "*S"]:
        sizes, a, num_groups = block_sizes(value), self.concentration, self.num_groups
        within = (gammaln(a + sizes) - gammaln(a)).sum(-1)
        num_blocks = (sizes > 0).sum(-1)
        empty = jnp.maximum(num_groups - num_blocks, 0)
        log_namings = gammaln(num_groups + 1.0) - gammaln(empty + 1.0)
        total = gammaln(num_groups * a) - gammaln(num_groups * a + self.num_dims)
        return jnp.where(num_blocks <= num_groups, within + log_namings + total, -jnp.inf)


@dataclass(frozen=True, eq=False, repr=False)
class partitions(Value):
    """The structure whose random variable is a partition, site ``labels``.

    Args:
        prior: a function from the number of dimensions to a distribution over partitions, by
            default `UniformPartition`. It may sample further sites.
        max_size: the largest block that is valid; None for any.

    References:
        Gardner et al. 2017.

    Example:
        >>> structure = partitions(lambda num_dims: CRPPartition(num_dims, 1.0))
        >>> with numpyro.handlers.seed(rng_seed=0):
        ...     structure(3).members.shape
        (3, 3)
    """

    prior: Callable[[int], dist.Distribution] | None = None
    max_size: int | None = None

    def __post_init__(self) -> None:
        _checked_bound(self.max_size)

    def __call__(self, num_dims: int) -> Decomposition:
        prior = (
            partial(UniformPartition, max_size=self.max_size) if self.prior is None else self.prior
        )
        labels = numpyro.sample("labels", prior(num_dims))
        return blocks(labels, self.max_size)


@lru_cache(maxsize=64)
def _uniform_tables(num_dims: int, max_size: int | None) -> tuple[float, Float[np.ndarray, "D D"]]:
    """Log number of partitions, and log weights of block sizes.

    A given one of n dimensions is in a block of size k in ``binomial(n - 1, k - 1) N(n - k)``
    partitions; the sum over k is the number of partitions ``N(n)``. Row p of the weights is for the
    n = D - p dimensions that remain after p.
    """
    limit = num_dims if max_size is None else min(max_size, num_dims)
    counts, log_weights = [1], np.full((num_dims, num_dims), -np.inf)
    for n in range(1, num_dims + 1):
        ways = [math.comb(n - 1, k - 1) * counts[n - k] for k in range(1, min(n, limit) + 1)]
        counts.append(sum(ways))
        log_weights[num_dims - n, : len(ways)] = [math.log(way) for way in ways]
    return math.log(counts[-1]), log_weights


def _checked_bound(max_size: int | None) -> int | None:
    return None if max_size is None else checked_count("max_size", max_size)


def _checked_concentration(concentration: ArrayLike) -> Float[Array, ""]:
    value = jnp.asarray(concentration, float)
    if value.ndim > 0:
        raise ValueError(f"concentration must be a number, got shape {value.shape}.")
    check_positive("concentration", value)
    return value
