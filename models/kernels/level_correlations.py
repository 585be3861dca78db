"""Learned correlations between the levels of a category."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array
from jaxtyping import Float

from structbo.models.foundation.arguments import check_positive
from structbo.models.kernels.levels import LevelKernel


@dataclass(frozen=True, eq=False, repr=False)
class LevelCorrelations(LevelKernel):
    """Learned correlations between the levels of a category, ``c + (1 - c) R[a, b]``.

    ``R`` is a correlation matrix with an LKJ prior; its Cholesky factor is a site of the model,
    with one entry per dimension with this kernel. ``c = exp(-1 / (2 lengthscale^2))`` is the
    correlation that all levels share. If ``R`` is the identity, all pairs of levels are equally
    correlated, as in categorical dimensions without this kernel.

    Args:
        num_levels: number of choices, at equally spaced coordinates as in `Space`.
        concentration: concentration of the LKJ prior: one is uniform over correlation matrices,
            larger values favor the identity.
        site: name of the site, by default ``level_correlations_`` and the number of levels. Kernels
            with different concentrations need different names.

    References:
        Lewandowski, Kurowicka and Joe 2009, "Generating random correlation matrices based on vines
        and extended onion method", for the prior.

    Raises:
        ValueError: if there are fewer than two levels, or the concentration is not positive.

    Example:
        >>> LevelCorrelations(3)
        LevelCorrelations(3)
    """

    concentration: float = 2.0
    site: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("concentration", self.concentration)

    def parameters(self, num_dims: int) -> Float[Array, "{num_dims} L L"]:
        prior = dist.LKJCholesky(self.num_levels, self.concentration)
        site = self.site or f"level_correlations_{self.num_levels}"
        return numpyro.sample(site, prior.expand([num_dims]).to_event(1))

    def table(
        self, lengthscale: Float[Array, ""], cholesky: Float[Array, "L L"], /
    ) -> Float[Array, "L L"]:
        common = jnp.exp(-0.5 / lengthscale**2)
        learned = (cholesky @ cholesky.T).at[jnp.diag_indices(self.num_levels)].set(1.0)
        return common + (1.0 - common) * learned
