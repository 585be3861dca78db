"""A Gaussian process over a partition, with few hyper-parameters per block."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.typing import ArrayLike

from structbo.models.additive_gp import LEAST_NOISE
from structbo.models.covariance import AdditiveCovariance
from structbo.models.foundation.precision import check_double
from structbo.models.foundation.values import Value
from structbo.models.kernels import squared_exponential
from structbo.models.likelihood import MarginalGP
from structbo.models.priors import LogNormalAbove, independent_lengthscale
from structbo.models.structures.partition import UniformPartition, blocks


@dataclass(frozen=True, eq=False, repr=False)
class BlockGP(Value):
    """A sum of isotropic squared exponential kernels over the blocks of a random partition.

    An instance is a NumPyro model with the sites ``labels`` (D,), ``lengthscale``, ``variance`` and
    ``noise``. `AdditiveGP` instead has one lengthscale per dimension, and only one variance.

    Args:
        is_shared: whether all blocks have the same lengthscale and variance. Otherwise each block
            has its own; both sites then have one entry per label, shape (D,), and entries for
            unused labels have no effect.
        categorical: indices of categorical dimensions, whose levels are equally correlated.

    References:
        Gardner et al. 2017, section 3.2 and eq. (6). The paper does not print which
        hyper-parameters blocks have: its sum over one base kernel reads as shared ones, and each
        block's own are the default of GPy, which it uses.

    Example:
        >>> BlockGP().num_parameters([0, 0, 1]), BlockGP(is_shared=True).num_parameters([0, 0, 1])
        (5, 3)
    """

    is_shared: bool = False
    categorical: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "categorical", tuple(self.categorical))

    def num_parameters(self, labels: ArrayLike) -> int:
        """The number of hyper-parameters given a partition: the noise and two per kernel.

        Args:
            labels: dimensions with the same label share a block, shape (D,).
        """
        num_blocks = len(set(jnp.asarray(labels).tolist()))
        return 1 + 2 * (1 if self.is_shared else num_blocks)

    def __call__(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        known_noise: ArrayLike | None = None,
    ) -> Array:
        """Runs the model; see `AdditiveGP` for the arguments."""
        check_double("BlockGP")
        X = jnp.asarray(X, float)
        num_dims = X.shape[1]
        labels = jnp.asarray(numpyro.sample("labels", UniformPartition(num_dims)))
        decomposition = blocks(labels)
        shape = () if self.is_shared else (num_dims,)

        def by_label(name: str, prior: dist.Distribution) -> Array:
            site = numpyro.sample(name, prior.expand(shape).to_event(len(shape)))
            return jnp.broadcast_to(jnp.asarray(site), (num_dims,))

        lengthscale = by_label("lengthscale", independent_lengthscale(num_dims))
        variance = by_label("variance", dist.LogNormal(0.0, 1.0))
        covariance = AdditiveCovariance(
            decomposition=replace(decomposition, weights=variance),
            lengthscale=lengthscale[labels],
            outputscale=jnp.where(decomposition.is_component, variance, 0.0).sum(),
            strengths=None,
            residual=None,
            kernel=squared_exponential,
            categorical=self.categorical,
        )
        noise = jnp.asarray(numpyro.sample("noise", LogNormalAbove(-5.0, 1.5, LEAST_NOISE)))
        rows = None if mask is None else jnp.asarray(mask, bool)
        known = None if known_noise is None else jnp.asarray(known_noise, float)
        observed = None if y is None else jnp.asarray(y, float)
        return numpyro.sample("y", MarginalGP(covariance, X, noise, rows, known), obs=observed)
