"""The additive covariance function: a weighted sum of product kernels over components."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass
from jaxtyping import Bool, Float, Int

from structbo.models.common_effect import common_features
from structbo.models.components import ComponentTable, component_product
from structbo.models.decomposition import Decomposition, true_first
from structbo.models.foundation.arrays import OneOrEach
from structbo.models.gram import (
    Coefficients,
    LargerProducts,
    additive_gram,
    all_factors,
    component_sum,
    own_dims,
    shared_lengthscale,
)
from structbo.models.kernels import Distances, KernelGroup, Stationary
from structbo.models.product_kernel import product_gram
from structbo.models.residual import AnyResidual, OtherOrdersResidual, ProductResidual
from structbo.models.tiles import by_tiles


@partial(
    register_dataclass,
    data_fields=[
        "decomposition",
        "lengthscale",
        "outputscale",
        "strengths",
        "residual",
        "kernel_groups",
    ],
    meta_fields=["kernel", "categorical"],
)
@dataclass(frozen=True)
class AdditiveCovariance:
    """Covariance of ``f = sum_c f_c (+ residual)`` at fixed values of all parameters.

    Points have D coordinates, and components have P dimensions: projections of the points, if the
    decomposition has a projection, otherwise the coordinates.

    The variance at a point, without a constant, is ``outputscale``; on average over points if a
    kernel is `Centered`. A share of it belongs to the residual, and the rest is divided among the
    components in proportion to their weights.

    Args:
        decomposition: the components, and the projection that they act on, if any.
        lengthscale: one per dimension.
        outputscale: total prior variance, on average over points.
        strengths: relative variances of dimensions, shape (P,), or of main effects, on the
            diagonal, and of pairs, shape (P, P). A component's weight is multiplied by the mean
            over its members or its pairs; a constant's by one. None means ones.
        residual: variation that the components do not explain, or None.
        kernel: the one-dimensional correlation function of all dimensions outside of kernel groups.
        categorical: indices of the categorical dimensions.
        kernel_groups: dimensions with other kernels; not with a projection.
    """

    decomposition: Decomposition
    lengthscale: Float[Array, " P"]
    outputscale: Float[Array, ""]
    strengths: Float[Array, " P"] | Float[Array, "P P"] | None
    residual: AnyResidual | None
    kernel: Stationary
    categorical: tuple[int, ...] = ()
    kernel_groups: tuple[KernelGroup, ...] = ()

    @property
    def num_dims(self) -> int:
        return int(self.lengthscale.shape[0])

    def relative_weight(
        self, members: Bool[Array, " *C P"], weights: Float[Array, "*C"]
    ) -> Float[Array, "*C"]:
        """Weights of components before normalization."""
        strengths = self.strengths
        if strengths is None:
            return weights
        size = members.sum(-1)
        if strengths.ndim == 1:
            mean = members @ strengths / jnp.maximum(size, 1)
        else:
            main = jnp.diagonal(strengths)
            pairs = ((members @ (strengths - jnp.diag(main))) * members).sum(-1)
            mean = jnp.where(size > 1, pairs / jnp.maximum(size * (size - 1), 1), members @ main)
        return weights * jnp.where(members.any(-1), mean, 1.0)

    @property
    def shared_variance(self) -> Float[Array, ""]:
        """Variance of all components together, without the residual's share."""
        if self.residual is None:
            return self.outputscale
        return self.outputscale * (1.0 - self.residual.share)

    @property
    def shares(self) -> Float[Array, " C"]:
        """Every component's share of the shared variance."""
        table = self.decomposition
        weights = self.relative_weight(table.members, table.weights)
        weights = jnp.where(table.is_component, weights, 0.0)
        return weights / weights.sum()

    @property
    def _components(self) -> ComponentTable:
        rule = self.decomposition.valid_flip_rule
        return ComponentTable.of(self.decomposition.members, rule.max_size if rule else None)

    @property
    def variances(self) -> Float[Array, " C"]:
        """Prior variance of every component."""
        return self.shared_variance * self.shares

    @property
    def has_unit_variance(self) -> bool:
        """Whether the prior variance is the same at all points."""
        return all(group.kernel.has_unit_variance for group in self.kernel_groups)

    def variance_factors(
        self, x: Float[Array, "n D"], stretch: Float[Array, ""] | float = 1.0
    ) -> Float[Array, "P n"]:
        """One-dimensional variances at points, at ``stretch`` times the lengthscales."""
        ones = jnp.ones((self.num_dims, len(x)))
        if self.has_unit_variance:
            return ones
        found = [group.variances(x, stretch * self.lengthscale) for group in self.kernel_groups]
        return ones.at[jnp.array(self.own_dims)].set(jnp.concatenate(found))

    def variances_on_grids(
        self, component: Int[Array, ""], coordinates: Float[Array, "s G"]
    ) -> Float[Array, "s G"]:
        """One-dimensional variances on grids of the s members of a component."""
        if self.has_unit_variance:
            return jnp.ones_like(coordinates)
        members = true_first(self.decomposition.members[component])

        def on_grid(dim: Int[Array, ""], grid: Float[Array, " G"]) -> Float[Array, " G"]:
            points = jnp.broadcast_to(grid[:, None], (len(grid), self.num_dims))
            return self.variance_factors(points)[dim]

        return jax.vmap(on_grid)(members[: len(coordinates)], coordinates)

    def prior_variance(self, x: Float[Array, "n D"]) -> OneOrEach:
        """Prior variances of the function at points, or the one of all points."""
        if self.has_unit_variance:
            return self.outputscale + self._common_excess(x)
        components, variances = self._components, self.variances
        coefficients = Coefficients(components.by_dim(variances, self.num_dims), variances)
        total = component_sum(self.variance_factors(x)[..., None], coefficients, components)
        return total[:, 0] + self.residual_variance(x)

    def component_variance(
        self, component: Int[Array, ""] | int, x: Float[Array, "n D"]
    ) -> OneOrEach:
        """Prior variances of one component at points, or the one of all points."""
        variance = self.variances[component]
        if self.has_unit_variance:
            return variance
        members = self.decomposition.members[component]
        return variance * jnp.where(members[:, None], self.variance_factors(x), 1.0).prod(0)

    def residual_variance(self, x: Float[Array, "n D"]) -> OneOrEach:
        """Prior variances of the residual at points, or the one of all points."""
        residual = self.residual
        if residual is None:
            return jnp.array(0.0)
        if self.has_unit_variance:
            return self.outputscale * residual.share + self._common_excess(x)
        factors = self.variance_factors(x, residual.stretch)
        variance = self.outputscale * (residual.of_factors(factors) + residual.constant)
        return variance + jnp.square(self.common_features(x)).sum(1)

    @property
    def common_variance(self) -> Float[Array, ""] | None:
        """Variance of the common main effect, on average over points; None if there is none."""
        if self.residual is None or self.residual.common_share is None:
            return None
        return self.outputscale * self.residual.common_share

    def common_features(
        self, x: Float[Array, "n D"], counts: Bool[Array, "n D"] | bool = True
    ) -> Float[Array, "n K"]:
        """Features whose products are the covariance of the common main effect; K = 0 without one.

        Args:
            x: points.
            counts: which dimensions of a point are not averaged over.
        """
        variance = self.common_variance
        if variance is None:
            return jnp.zeros((len(x), 0))
        has_it = ~np.isin(np.arange(self.num_dims), (*self.own_dims, *self.categorical))
        return jnp.sqrt(variance) * common_features(x, has_it & counts, int(has_it.sum()))

    def _common_excess(self, x: Float[Array, "n D"]) -> OneOrEach:
        """How much larger the common main effect's variance is at points than on average."""
        average = self.common_variance
        if average is None:
            return jnp.array(0.0)
        return jnp.square(self.common_features(x)).sum(1) - average

    def project(self, x: Float[Array, "n D"]) -> Float[Array, "n P"]:
        """Arguments of the components at points of the cube."""
        projection = self.decomposition.projection
        return x if projection is None else x @ projection

    def _projected(
        self, x: Float[Array, "n D"], other: Float[Array, "m D"]
    ) -> tuple[Float[Array, "n P"], Float[Array, "m P"]]:
        """Both sets of points projected; an array given twice is projected once."""
        z = self.project(x)
        return z, z if other is x else self.project(other)

    @property
    def own_dims(self) -> tuple[int, ...]:
        """The dimensions of kernel groups, in the order of the groups."""
        return own_dims(self.kernel_groups)

    def shared_lengthscale(self, lengthscale: Float[Array, " P"]) -> Float[Array, " P"]:
        """Lengthscales for the shared kernel, infinite for dimensions of kernel groups."""
        return shared_lengthscale(lengthscale, self.kernel_groups)

    def factors(
        self,
        x: Float[Array, "n D"],
        other: Float[Array, "m D"],
        stretch: Float[Array, ""] | float = 1.0,
    ) -> Float[Array, "P n m"]:
        """One-dimensional correlations at ``stretch`` times the lengthscales."""
        points = (*self._projected(x, other), stretch * self.lengthscale)
        return all_factors(self.kernel, self.categorical, points, self.kernel_groups)

    def factor(
        self, dim: Int[Array, ""], x: Float[Array, "n D"], other: Float[Array, "m D"]
    ) -> Float[Array, "n m"]:
        """Correlations in one dimension, one of `factors`."""
        return self._factor(dim, *self._projected(x, other), 1.0)

    def residual_gram(
        self, x: Float[Array, "n D"], other: Float[Array, "m D"]
    ) -> Float[Array, "n m"] | None:
        """Covariance of the residual between two sets of points; None if there is none."""
        residual = self.residual
        if residual is None:
            return None
        if isinstance(residual, ProductResidual):
            z, other = self._projected(x, other)
            return self._with_common(self._product_residual(residual, z, other), z, other)
        return self.outputscale * (residual.of_factors(self.factors(x, other)) + residual.constant)

    def _product_residual(
        self, residual: ProductResidual, z: Float[Array, "n P"], other: Float[Array, "m P"]
    ) -> Float[Array, "n m"]:
        """Covariance of a residual's component over all dimensions."""
        product = self._product(z, other, residual.stretch * self.lengthscale)
        return self.outputscale * residual.product_share * product

    def _with_common(
        self, gram: Float[Array, "n m"], x: Float[Array, "n D"], other: Float[Array, "m D"]
    ) -> Float[Array, "n m"]:
        """A covariance between two sets of points, plus the common main effect's."""
        if self.common_variance is None:
            return gram
        features = self.common_features(x)
        others = features if other is x else self.common_features(other)
        return gram + features @ others.T

    def component_gram(
        self, component: Int[Array, ""] | int, x: Float[Array, "n D"], other: Float[Array, "m D"]
    ) -> Float[Array, "n m"]:
        """Covariance of one component between two sets of points."""
        members = self.decomposition.members[component]
        product = self._product(*self._projected(x, other), self.lengthscale, members)
        return self.variances[component] * product

    def _product(
        self,
        z: Float[Array, "n P"],
        other: Float[Array, "m P"],
        lengthscale: Float[Array, " P"],
        members: Bool[Array, " P"] | None = None,
    ) -> Float[Array, "n m"]:
        """Product of the correlations over the members, by default over all dimensions."""
        shared = self.shared_lengthscale(lengthscale)
        if members is not None:
            shared = jnp.where(members, shared, jnp.inf)
        product: Array = product_gram(self.kernel, self.categorical, (z, other, shared))
        for group in self.kernel_groups:
            own = jnp.ones(self.num_dims, bool) if members is None else members
            product = product * group.product(z, other, lengthscale, own)
        return product

    def __call__(
        self,
        x: Float[Array, "n D"],
        other: Float[Array, "m D"],
        mask: Bool[Array, " m"] | None = None,
    ) -> Float[Array, "n m"]:
        """Covariance of the function between two sets of points.

        Args:
            x: points of the unit cube.
            other: other points of the unit cube.
            mask: which of the other points are data. Covariances with padding may be set to zero,
                which saves time. Default: all.
        """
        components, residual = self._components, self.residual
        # Derivatives by a multiple are a matrix of their own. XLA would otherwise read them from
        # the matrix of all tiles in every operation, which takes a fifth more time.
        weights, multiple = self.shares, self.shared_variance
        larger, constant = None, jnp.array(0.0)
        if isinstance(residual, OtherOrdersResidual):
            weights, multiple = self.variances, jnp.array(1.0)
            larger = LargerProducts(self.outputscale * residual.scale, residual.reach)
            constant = self.outputscale * residual.constant
        main = components.by_dim(weights, self.num_dims)
        coefficients = Coefficients(main, weights, larger)

        def gram(z: Float[Array, "n P"], other: Float[Array, "m P"]) -> Float[Array, "n m"]:
            points, groups = (z, other, self.lengthscale), self.kernel_groups
            additive: Array = additive_gram(
                self.kernel, self.categorical, points, groups, coefficients, components
            )
            additive = multiple * additive
            if isinstance(residual, ProductResidual):
                return additive + self._product_residual(residual, z, other)
            return additive + constant

        z, other = self._projected(x, other)
        # Features of points take longer than their products, and tiles would repeat them.
        visits_dims = len(self.own_dims) == self.num_dims
        tiled = by_tiles(gram, z, other, mask, visits_dims=visits_dims)
        return self._with_common(tiled, z, other)

    def on_lines(
        self, x: Float[Array, "K G D"], dim: Int[Array, ""], other: Float[Array, "m D"]
    ) -> Float[Array, "K G m"]:
        """Covariance of the function between points on lines along one dimension and others.

        Only one factor of every component changes along a line, so the others are computed once.

        Args:
            x: G points on each of K lines, which differ in one coordinate only.
            dim: this coordinate.
            other: other points of the unit cube.
        """
        num_lines, num_points, num_dims = x.shape
        shape = (num_lines, num_points, len(other))
        points, ends = x.reshape(-1, num_dims), x[:, 0]
        if self.decomposition.projection is not None:
            return self(points, other).reshape(shape)
        members, variances = self.decomposition.members, self.variances
        components = self._components
        main = components.by_dim(variances, num_dims)
        rest = self.factors(ends, other).at[dim].set(1.0)

        def joint(k: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
            c = components.joint[k]
            product = variances[c] * component_product(rest, members[c])
            moves = members[c, dim]
            return sums[0] + jnp.where(moves, 0.0, product), sums[1] + moves * product

        still = jnp.tensordot(main.at[dim].set(0.0), rest, 1) + components.constant(variances)
        init = (still, jnp.full_like(still, main[dim]))
        still, moving = jax.lax.fori_loop(0, components.num_joint, joint, init)
        factor = self._factor(dim, points, other, 1.0).reshape(shape)
        gram = still[:, None] + moving[:, None] * factor
        residual = self.residual
        if residual is None:
            return gram
        factor = self._factor(dim, points, other, residual.stretch).reshape(shape)
        if isinstance(residual, ProductResidual):
            others = jnp.arange(num_dims) != dim
            product = self._product(ends, other, residual.stretch * self.lengthscale, others)
            product = (product[:, None] * factor).reshape(len(points), len(other))
            product = self.outputscale * residual.product_share * product
            return gram + self._with_common(product, points, other).reshape(shape)
        still, moving = residual.along(self.factors(ends, other), dim)
        changes = still[:, None] + moving[:, None] * factor + residual.constant
        return gram + self.outputscale * changes

    def _factor(
        self,
        dim: Int[Array, ""],
        x: Float[Array, "n P"],
        other: Float[Array, "m P"],
        stretch: Float[Array, ""] | float,
    ) -> Float[Array, "n m"]:
        """Correlations in one dimension at ``stretch`` times the lengthscale."""
        lengthscale = stretch * self.lengthscale
        shared = self.shared_lengthscale(lengthscale)
        distances = Distances(self.categorical, x, other, shared)
        factor: Array = self.kernel.at_distance(distances(dim)[0])
        for group in self.kernel_groups:
            factor *= group.product(x, other, lengthscale, jnp.arange(self.num_dims) == dim)
        return factor
