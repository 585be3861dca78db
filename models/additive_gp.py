"""The additive Gaussian process as a NumPyro model."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float

from structbo.models.covariance import AdditiveCovariance
from structbo.models.decomposition import Structure
from structbo.models.foundation.arguments import checked_count
from structbo.models.foundation.precision import check_double
from structbo.models.foundation.sites import sampled
from structbo.models.foundation.values import Value
from structbo.models.kernels import (
    KERNELS,
    Centered,
    Kernel,
    KernelGroup,
    Stationary,
    squared_exponential,
)
from structbo.models.likelihood import MarginalGP
from structbo.models.priors import AlikeLogNormal, LogNormalAbove, component_lengthscale
from structbo.models.residual import (
    FIRST_RHO,
    AnyResidual,
    OtherOrders,
    OtherOrdersResidual,
    ProductResidual,
    Residual,
)
from structbo.models.strengths import STRENGTH_SITES, Interactions
from structbo.models.structure_checks import check_structure, run_structure
from structbo.models.structures.edge_matrix import edges

LengthscalePrior: TypeAlias = dist.Distribution | Callable[[int], dist.Distribution]

OWN_SITES = (
    *("lengthscale", "outputscale", "noise", "relevance", "rho", "kappa", "common", "reach", "y"),
    *STRENGTH_SITES,
)
"""Names of the sites of `AdditiveGP`, which a structure may not use."""
LEAST_NOISE = 1e-10
"""Minimum noise variance, relative to the variance of the observations.

Without it, a chain given a smooth function without noise shrinks the noise to round-off, where its
steps are tiny.
"""


# Created at first use, because it starts JAX's backend.
@cache
def _above_least_noise() -> dist.Distribution:
    return LogNormalAbove(-5.0, 1.5, LEAST_NOISE)


@dataclass(frozen=True, eq=False, repr=False)
class AdditiveGP(Value):
    """A Gaussian process that is a sum over the components of a random structure.

    An instance is a NumPyro model, ``model(X, y=None, mask=None, known_noise=None)``, with the
    structure's sites and the sites ``lengthscale`` (D,), ``outputscale`` and ``noise``. Optional
    sites are ``relevance`` (D,), ``rho``, ``kappa``, ``common``, and the sites of `Interactions`
    and of kernels. The observed site is ``y``. The model needs 64-bit floats.

    Models compare by content: models with equal parts are equal, and share compiled programs. A
    user's function, as structure or prior, only equals itself; if it is defined at the top of a
    module, models with it also share programs and can be pickled. `functools.partial` compares by
    its parts.

    Args:
        structure: a function from the number of dimensions to a random `Decomposition`.
        kernel: the one-dimensional correlation function that components multiply.
        kernels: kernels of single dimensions that differ from ``kernel``, by index. Dimensions with
            equal kernels share its sites, which have one entry per dimension.
        lengthscale: prior of each lengthscale, or a function from D to it.
        outputscale: prior of the variance of the function.
        noise: prior of the noise variance, by default LogNormalAbove(-5, 1.5, 1e-10). Here and in
            other priors of numbers, `numpyro.distributions.Delta` fixes the value.
        relevance: prior of the relative variance of each dimension, from which component variances
            are learned; None fixes them in proportion to component sizes.
        interactions: priors of the relative variance of each pair, given the relevances; None for
            the mean relevance of its dimensions.
        residual: priors of the residual component, or None for none.
        categorical: indices of categorical dimensions. All their levels are equally correlated,
            unless ``kernels`` has another kernel, such as `LevelCorrelations`.
        num_inducing: number of inducing points, the first observed points. The likelihood is then a
            lower bound of the exact one, at a cost linear in the number of observations. The
            default is 512 above 1,024 observations. With as many inducing points as observations,
            the likelihood is exact.

    Raises:
        TypeError: if the structure is not a function of one argument; when the model runs, if it
            returns anything but a `Decomposition`.
        ValueError: when the model runs, if its decomposition does not have D dimensions or is
            inconsistent, or the residual is `OtherOrders` and a kernel is not centered.
        TypeError, ValueError: if a kernel is invalid, or its dimension does not exist.

    References:
        Rolland et al. 2018, sections 2, 4 and 5.

    Example:
        >>> model = AdditiveGP(edges(0.2))
        >>> model == AdditiveGP(edges(0.2))
        True
        >>> with numpyro.handlers.seed(rng_seed=0):
        ...     model(jnp.zeros((3, 2))).shape
        (3,)
    """

    structure: Structure = edges()
    kernel: Kernel = squared_exponential
    _: KW_ONLY
    kernels: Mapping[int, Kernel] | None = None
    lengthscale: LengthscalePrior = component_lengthscale
    outputscale: dist.Distribution = dist.LogNormal(0.0, 1.0)
    noise: dist.Distribution = field(default_factory=_above_least_noise)
    relevance: dist.Distribution | None = None
    interactions: Interactions | None = None
    residual: Residual | OtherOrders | None = None
    categorical: tuple[int, ...] = ()
    num_inducing: int | None = None

    def __post_init__(self) -> None:
        _check_kernel("kernel", self.kernel)
        for dim, kernel in (self.kernels or {}).items():
            checked_count("the dimensions of kernels", dim, least=0)
            _check_kernel(f"kernels[{dim}]", kernel)
        object.__setattr__(
            self, "kernels", dict(sorted(self.kernels.items())) if self.kernels else None
        )
        object.__setattr__(self, "categorical", tuple(self.categorical))
        if self.interactions is not None and self.relevance is None:
            raise ValueError(
                "interactions are relative to the relevances of dimensions: give a prior of "
                "relevance too, such as dist.LogNormal(0, 1)."
            )
        check_structure(self.structure)
        if self.num_inducing is not None:
            checked_count("num_inducing", self.num_inducing)

    def __call__(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        known_noise: ArrayLike | None = None,
    ) -> Array:
        """Runs the model.

        Args:
            X: points of the unit cube, shape (n, D).
            y: standardized observations, shape (n,); None draws them.
            mask: which rows are data and not padding, bool, shape (n,). Default: all.
            known_noise: known noise variances of the observations, shape (n,), which add to the
                noise. Default: none.

        Returns:
            The observations, shape (n,).
        """
        check_double("AdditiveGP")
        X = jnp.asarray(X, float)
        if X.ndim != 2:
            raise ValueError(f"X must have shape (n, D), got {X.shape}.")
        decomposition = run_structure(self.structure, X.shape[1], taken=OWN_SITES)
        num_dims = decomposition.members.shape[1]
        groups, categorical = self._dims_by_kernel(num_dims)
        if decomposition.projection is not None:
            if categorical:
                raise ValueError(
                    f"dimensions {categorical} are categorical and cannot be projected: use a "
                    "structure without a projection."
                )
            if groups:
                raise ValueError(
                    "kernels must not be given, and kernel must be stationary, where a projection "
                    f"mixes the dimensions, got {[*groups]}: use a structure without a projection."
                )
            if isinstance(self.residual, Residual) and self.residual.common is not None:
                raise ValueError(
                    "a main effect that parameters have in common is not one of projections: leave "
                    "out `common` of Residual, or use a structure without a projection."
                )
        if isinstance(self.residual, OtherOrders):
            _check_centered(groups, num_dims)
        prior = self.lengthscale
        if not isinstance(prior, dist.Distribution):
            prior = prior(num_dims)
        strengths, heirs = self._strengths(num_dims)
        covariance = AdditiveCovariance(
            decomposition=decomposition,
            lengthscale=sampled(
                "lengthscale",
                _each(prior, num_dims),
                infer={"may_be_alike": isinstance(prior, AlikeLogNormal)},
            ),
            outputscale=sampled("outputscale", self.outputscale),
            strengths=strengths,
            residual=self._residual(num_dims, heirs),
            kernel=self.kernel if isinstance(self.kernel, Stationary) else squared_exponential,
            categorical=categorical,
            kernel_groups=tuple(
                KernelGroup(kernel, dims, _own_parameters(kernel, len(dims)))
                for kernel, dims in groups.items()
            ),
        )
        noise = sampled("noise", self.noise)
        rows = None if mask is None else jnp.asarray(mask, bool)
        known = None if known_noise is None else jnp.asarray(known_noise, float)
        observed = None if y is None else jnp.asarray(y, float)
        likelihood = MarginalGP(covariance, X, noise, rows, known, self.num_inducing)
        return numpyro.sample("y", likelihood, obs=observed)

    def _strengths(
        self, num_dims: int
    ) -> tuple[Float[Array, " D"] | Float[Array, "D D"] | None, Float[Array, " D"] | None]:
        """The strengths of components, and relevances of dimensions in terms of higher order."""
        if self.relevance is None:
            return None, None
        relevance = sampled("relevance", _each(self.relevance, num_dims))
        if self.interactions is None:
            return relevance, relevance
        return self.interactions.strengths(relevance)

    def _residual(self, num_dims: int, relevance: Float[Array, " D"] | None) -> AnyResidual | None:
        prior = self.residual
        if prior is None:
            return None
        if isinstance(prior, OtherOrders) and num_dims < 3:  # nothing to share or to reach
            constant = jnp.array(prior.constant, float)
            return OtherOrdersResidual(jnp.zeros(()), jnp.ones(num_dims), constant)
        share = sampled("rho", prior.rho, infer={"held_at": FIRST_RHO})
        if isinstance(prior, Residual):
            kappa = sampled("kappa", prior.kappa, infer={"multiplies": "lengthscale"})
            common = None if prior.common is None else sampled("common", prior.common)
            return ProductResidual(share, kappa, common)
        reach = sampled("reach", prior.reach)
        relevance = jnp.ones(num_dims) if relevance is None else relevance
        return OtherOrdersResidual(
            share, reach * relevance / relevance.mean(), jnp.array(prior.constant, float)
        )

    def _dims_by_kernel(
        self, num_dims: int
    ) -> tuple[dict[Kernel, tuple[int, ...]], tuple[int, ...]]:
        """The dimensions of every kernel but the shared one, and the categorical dimensions."""
        own = self.kernels or {}
        if any(dim >= num_dims for dim in own):
            raise ValueError(
                f"kernels must be for dimensions below {num_dims}, the number of columns of X, got "
                f"one for {max(own)}."
            )
        groups: dict[Kernel, tuple[int, ...]] = {}
        for dim in range(num_dims):
            kernel = own.get(dim, self.kernel)
            is_exchangeable = dim in self.categorical and dim not in own
            is_shared = kernel == self.kernel and isinstance(kernel, Stationary)
            if not (is_exchangeable or is_shared):
                groups[kernel] = (*groups.get(kernel, ()), dim)
        without_order = [dims for kernel, dims in groups.items() if kernel.is_categorical]
        return groups, tuple(sorted({*self.categorical, *sum(without_order, ())}))


def _check_kernel(name: str, kernel: object) -> None:
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"{name} must be a Kernel, such as one of structbo.models.KERNELS "
            f"({', '.join(KERNELS)}), got {kernel!r}."
        )


def _check_centered(groups: dict[Kernel, tuple[int, ...]], num_dims: int) -> None:
    centered = [dims for kernel, dims in groups.items() if isinstance(kernel, Centered)]
    others = sorted({*range(num_dims)} - {*sum(centered, ())})
    if others:
        raise ValueError(
            f"the residual OtherOrders needs Centered kernels of all dimensions, and {others} have "
            "other ones: give kernel=Centered(...), and kernels of categories, see "
            "structbo.anova_model."
        )


def _own_parameters(kernel: Kernel, num_dims: int) -> Any:
    parameters = kernel.parameters(num_dims)
    shapes = [jnp.shape(leaf) for leaf in jax.tree.leaves(parameters)]
    if any(shape[:1] != (num_dims,) for shape in shapes):
        raise ValueError(
            f"parameters of {kernel!r} must return arrays whose first axis are the {num_dims} "
            f"dimensions that have this kernel, got shapes {shapes}: sample them from "
            "prior.expand([num_dims]).to_event(1)."
        )
    return parameters


def _each(prior: dist.Distribution, num_dims: int) -> dist.Distribution:
    return prior if prior.event_shape else prior.expand([num_dims]).to_event(1)
