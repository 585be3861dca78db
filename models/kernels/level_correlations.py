"""Learned correlations between the levels of a category."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array
from jaxtyping import Float

from structbo.models.foundation.arguments import check_positive, checked_count
from structbo.models.kernels.kernel import Kernel


@dataclass(frozen=True, eq=False, repr=False)
class LevelCorrelations(Kernel):
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

    num_levels: int
    concentration: float = 2.0
    site: str | None = None

    def __post_init__(self) -> None:
        checked_count("num_levels", self.num_levels, least=2)
        check_positive("concentration", self.concentration)

    @property
    def is_categorical(self) -> bool:
        return True

    def parameters(self, num_dims: int) -> Float[Array, "{num_dims} L L"]:
        prior = dist.LKJCholesky(self.num_levels, self.concentration)
        site = self.site or f"level_correlations_{self.num_levels}"
        return numpyro.sample(site, prior.expand([num_dims]).to_event(1))

    def correlation(
        self,
        x: Float[Array, ""],
        other: Float[Array, ""],
        lengthscale: Float[Array, ""],
        cholesky: Float[Array, "L L"],
        /,
    ) -> Float[Array, ""]:
        common = jnp.exp(-0.5 / lengthscale**2)
        a, b = (jnp.rint(v * (self.num_levels - 1)).astype(int) for v in (x, other))
        return common + (1.0 - common) * jnp.where(a == b, 1.0, cholesky[a] @ cholesky[b])

    def nodes(
        self, lengthscale: Float[Array, ""], cholesky: Float[Array, "L L"], /
    ) -> Float[Array, " L"]:
        return jnp.linspace(0.0, 1.0, self.num_levels)
