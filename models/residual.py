"""Residuals: the variation that main effects and the structure's components do not explain.

A residual has a prior class, whose sites are parts of `AdditiveGP`, and a class at fixed values of
these, which is a part of `AdditiveCovariance`.
"""

from dataclasses import dataclass, field
from functools import cache, partial
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax import Array
from jax.tree_util import register_dataclass
from jaxtyping import Float, Inexact, Int

from structbo.models.foundation.values import Value
from structbo.models.orders import elementary_sums

FIRST_RHO = 0.02
"""Value at which `Hamiltonian` fixes the residual's share in early warm-up.

A residual with a large variance explains any data, and a chain that starts there can take hundreds
of sweeps to find the components.
"""


# Both are created at first use, because they start JAX's backend. That can be while JAX traces.
@cache
def _at_least_one() -> dist.Distribution:
    with jax.ensure_compile_time_eval():
        return dist.Pareto(1.0, 1.0)


@cache
def _a_quarter() -> dist.Distribution:
    with jax.ensure_compile_time_eval():
        return dist.Beta(1.0, 3.0)


@dataclass(frozen=True, eq=False, repr=False)
class Residual(Value):
    """Priors of an additional component over all dimensions, for variation beyond the structure.

    It should be smoother than the structured components. In many dimensions a product of kernels
    with short lengthscales is almost white noise, which would hide the components.

    Args:
        rho: prior of the residual's share of the variance, in [0, 1].
        kappa: prior of the ratio of its lengthscales to the shared ones, by default Pareto(1, 1).
        common: prior of the share of the residual's variance, in [0, 1], that belongs to a main
            effect that parameters have in common (`common_features`), on average over the cube;
            None for no such effect. Dimensions with kernels other than the shared one, and
            categorical ones, do not have it.
    """

    rho: dist.Distribution = dist.Uniform(0.0, 1.0)
    kappa: dist.Distribution = field(default_factory=_at_least_one)
    common: dist.Distribution | None = None


@dataclass(frozen=True, eq=False, repr=False)
class OtherOrders(Value):
    """Priors of the terms of all orders but one and two, for models of `Centered` kernels.

    These are a constant, and all products of three and more centered kernels. Products of
    dimensions with a large reach have a large variance. With main effects and pairs, the terms are
    the functional analysis of variance of any function. Fewer than three dimensions have a constant
    only, and no sites.

    Args:
        rho: prior of the share of the terms of three and more dimensions in the variance, by
            default Beta(1, 3), with mean 1/4.
        reach: prior of the average reach. If it is small, the terms of three dimensions have most
            of the variance. The reaches of dimensions are in proportion to their relevances, raised
            to the power ``heredity`` of `Interactions`.
        constant: variance of the constant, relative to the output scale.

    Example:
        >>> OtherOrders(constant=2.0)
        OtherOrders(constant=2.0)
    """

    rho: dist.Distribution = field(default_factory=_a_quarter)
    reach: dist.Distribution = dist.LogNormal(-1.0, 1.0)
    constant: float = 1.0


@partial(register_dataclass, data_fields=["share", "stretch", "common"], meta_fields=[])
@dataclass(frozen=True)
class ProductResidual:
    """One component over all dimensions, and possibly a common main effect.

    Args:
        share: their share of the variance, in [0, 1].
        stretch: the ratio of the component's lengthscales to the shared ones.
        common: the part of the share that belongs to the common main effect, in [0, 1], or None.
    """

    share: Float[Array, ""]
    stretch: Float[Array, ""]
    common: Float[Array, ""] | None = None
    constant = 0.0

    @property
    def product_share(self) -> Float[Array, ""]:
        """The component's share of the variance."""
        return self.share if self.common is None else self.share * (1.0 - self.common)

    @property
    def common_share(self) -> Float[Array, ""] | None:
        """The common main effect's share of the variance, or None if there is none."""
        return None if self.common is None else self.share * self.common

    def of_factors(self, factors: Inexact[Array, " P *shape"]) -> Inexact[Array, "*shape"]:
        """The component as a function of one-dimensional functions at stretched lengthscales."""
        return self.product_share * factors.prod(0)


@partial(register_dataclass, data_fields=["share", "reach", "constant"], meta_fields=[])
@dataclass(frozen=True)
class OtherOrdersResidual:
    """A constant, and all products of three and more one-dimensional functions.

    Args:
        share: the share of the products in the variance, in [0, 1].
        reach: variances of the factors.
        constant: variance of the constant, relative to the output scale.
    """

    share: Float[Array, ""]
    reach: Float[Array, " P"]
    constant: Float[Array, ""]
    stretch = 1.0
    common_share = None

    @property
    def scale(self) -> Float[Array, ""]:
        """The variance of the products, relative to the share."""
        more = elementary_sums(self.reach).more
        return self.share / jnp.maximum(more, jnp.finfo(more.dtype).tiny)

    def of_factors(self, factors: Inexact[Array, " P *shape"]) -> Inexact[Array, "*shape"]:
        """The products of three and more, as a function of one-dimensional functions."""
        return self.scale * elementary_sums(factors, self.reach).more

    def along(
        self, factors: Float[Array, "P n m"], dim: Int[Array, ""]
    ) -> tuple[Float[Array, "n m"], Float[Array, "n m"]]:
        """The part without one factor, and the coefficient of this factor."""
        _, second, more = elementary_sums(factors, self.reach.at[dim].set(0.0))
        return self.scale * more, self.scale * self.reach[dim] * (second + more)

    def function(self, functions: Inexact[Array, " P *shape"]) -> Inexact[Array, "*shape"]:
        """A function whose covariance is `of_factors`, from random functions of each dimension.

        Args:
            functions: values of independent functions whose covariances are the factors.
        """
        return jnp.sqrt(self.scale) * elementary_sums(functions, jnp.sqrt(self.reach)).more


AnyResidual: TypeAlias = ProductResidual | OtherOrdersResidual
