"""The functional analysis of variance of functions that are drawn from a posterior.

Any function of independent variables is the sum of a constant, one function per variable, one per
pair, and so on. These terms are uncorrelated, so their variances add up to the variance of the
function. A function drawn by random features is a sum of products of one-dimensional functions, and
averages of products are products of averages. Quadrature gives the terms of one and two dimensions;
the remaining terms, of three and more, are evaluated at quasi-random points.

References:
    Hoeffding 1948, "A class of statistics with asymptotically normal distribution"; Sobol 2001,
    "Global sensitivity indices for nonlinear mathematical models and their Monte Carlo estimates".
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Complex, Float, Int

from structbo.models import SamplePath
from structbo.models.components import component_product
from structbo.models.decomposition import true_first
from structbo.models.foundation.arrays import AnyArray
from structbo.models.orders import elementary_sums
from structbo.models.residual import OtherOrdersResidual
from structbo.posterior.quadrature import Quadrature

Carry = TypeVar("Carry")
Sums = tuple[Array, ...]
"""Running sums of products with zero, one and two deviations, and stored values per dimension."""

NO_TRIPLES = np.zeros((0, 3), int)
"""No terms of three dimensions."""
CHUNK = 8
"""Points evaluated at once, so that products over dimensions fit in cache."""


class Variances(NamedTuple):
    """Variances of the terms of one function, which add up to its variance.

    Args:
        first_order: one-dimensional terms.
        pairs: two-dimensional terms, symmetric with a zero diagonal.
        higher_order: the sum of all terms of three dimensions and more.
        higher_order_with: the sum of the higher-order terms that contain each dimension.
        triples: the chosen terms of three dimensions.
    """

    first_order: Float[Array, " D"]
    pairs: Float[Array, "D D"]
    higher_order: Float[Array, ""]
    higher_order_with: Float[Array, " D"]
    triples: Float[Array, " T"]


class Products(NamedTuple):
    """A function ``Re sum_c sum_l b_cl prod_{d in c} g_dl(x_d)`` with each g_dl tabulated at nodes.

    Args:
        deviations: g_dl at the nodes minus its mean.
        means: means of g_dl.
        members: which dimensions belong to each component c.
        coefficients: b_cl.
    """

    deviations: Complex[Array, "D Q L"]
    means: Complex[Array, "D L"]
    members: Bool[Array, "C D"]
    coefficients: Complex[Array, "C L"]

    @classmethod
    def of(
        cls,
        path: SamplePath,
        members: Bool[Array, "C D"],
        variances: Float[Array, " C"],
        rows: slice,
        quadrature: Quadrature,
    ) -> "Products":
        """The components of a drawn function; g_dl are its waves and correlations with the data.

        Args:
            path: the function.
            members: dimensions of each component.
            variances: prior variances of the components.
            rows: rows of the components in the phases and weights of ``path``.
            quadrature: nodes and weights.
        """
        nodes, weights = (jnp.asarray(value) for value in quadrature)
        waves = path.waves(jnp.arange(nodes.shape[1]), nodes.T)
        to_data = path.posterior.covariance.factors(nodes, path.posterior.x)
        values = jnp.concatenate([waves, to_data], -1)
        means = jnp.einsum("qd,dql->dl", weights, values)
        amplitudes = path.weights[rows] * jnp.exp(1j * path.phases[rows])
        coefficients = [jnp.sqrt(variances)[:, None] * amplitudes, variances[:, None] * path.update]
        return cls(values - means[:, None], means, members, jnp.concatenate(coefficients, -1))

    def averaged(self, kept: Bool[Array, " D"]) -> Complex[Array, " L"]:
        """Coefficients of the products over the kept dimensions, with the others averaged out.

        Args:
            kept: which dimensions are not averaged over.

        Returns:
            Sums over the components that contain all kept dimensions.
        """
        rows, count = _where((self.members | ~kept).all(1))

        def add(k: Int[Array, ""], total: Complex[Array, " L"]) -> Complex[Array, " L"]:
            others = self.members[rows[k]] & ~kept
            average = component_product(self.means[:, None], others)[0]
            return total + self.coefficients[rows[k]] * average

        return jax.lax.fori_loop(0, count, add, jnp.zeros_like(self.coefficients[0]))

    def main_effect(self, dim: Int[Array, ""]) -> Float[Array, " Q"]:
        """The term of one dimension at its nodes."""
        coefficients = self.averaged(jnp.arange(len(self.means)) == dim)
        return (self.deviations[dim] @ coefficients).real

    def interaction(self, i: Int[Array, ""], j: Int[Array, ""]) -> Float[Array, "Q Q"]:
        """The term of two dimensions at their nodes."""
        num_dims, num_nodes, _ = self.deviations.shape
        kept = jnp.isin(jnp.arange(num_dims), jnp.stack([i, j]))

        def effect() -> Float[Array, "Q Q"]:
            left, right = self.deviations[i] * self.averaged(kept), self.deviations[j]
            return left.real @ right.real.T - left.imag @ right.imag.T

        is_joined = (self.members[:, i] & self.members[:, j]).any()
        return jax.lax.cond(is_joined, effect, lambda: jnp.zeros((num_nodes, num_nodes)))

    def triple(self, dims: Int[Array, " 3"], places: Int[Array, "m D"]) -> Float[Array, " m"]:
        """The term of three dimensions at points."""
        kept = jnp.isin(jnp.arange(len(self.means)), dims)
        values = [self.deviations[dim, places[:, dim]] for dim in dims]
        return (values[0] * values[1] * values[2] @ self.averaged(kept)).real

    def higher_order(
        self, places: Int[Array, "m D"]
    ) -> tuple[Float[Array, " m"], Float[Array, "D m"]]:
        """The sum of all terms of three dimensions and more, and its parts with each dimension.

        Products over dimensions are expanded into means and deviations. The sums of products with
        zero, one and two deviations are accumulated; subtracting them from the total leaves three
        and more.

        Args:
            places: index of the node in each dimension.
        """
        num_points, num_dims = places.shape
        rows, count = _where(self.members.sum(1) > 2)
        num_products = self.means.shape[1]
        ones = jnp.ones((num_points, num_products), self.deviations.dtype)
        none = jnp.ones(num_products, self.deviations.dtype)

        def add(
            k: Int[Array, ""], total: tuple[Float[Array, " m"], Float[Array, "D m"]]
        ) -> tuple[Float[Array, " m"], Float[Array, "D m"]]:
            members, coefficients = self.members[rows[k]], self.coefficients[rows[k]]

            def forward(dim: Int[Array, ""], state: Sums) -> Sums:
                none, one, two, every, *before = state
                before = [b.at[dim].set(v) for b, v in zip(before, (none, one, every), strict=True)]
                mean, deviation = self.means[dim], self.deviations[dim, places[:, dim]]
                return (
                    none * mean,
                    one * mean + none * deviation,
                    two * mean + one * deviation,
                    every * (mean + deviation),
                    *before,
                )

            def backward(dim: Int[Array, ""], state: Sums) -> Sums:
                none, one, every, with_dim = state
                mean, deviation = self.means[dim], self.deviations[dim, places[:, dim]]
                others = every_before[dim] * every - none_before[dim] * (none + one)
                others = deviation * (others - one_before[dim] * none)
                return (
                    none * mean,
                    one * mean + none * deviation,
                    every * (mean + deviation),
                    with_dim.at[dim].add((others @ coefficients).real),
                )

            zeros = jnp.zeros_like(ones)
            before = [jnp.zeros((num_dims, *v.shape), v.dtype) for v in (none, zeros, ones)]
            state = _fold_members(forward, members, (none, zeros, zeros, ones, *before))
            nothing, one, two, every, none_before, one_before, every_before = state
            everything = total[0] + ((every - nothing - one - two) @ coefficients).real
            start: Sums = (none, zeros, ones, total[1])
            return everything, _fold_members(backward, members, start, reverse=True)[-1]

        start = jnp.zeros(num_points), jnp.zeros((num_dims, num_points))
        return jax.lax.fori_loop(0, count, add, start)


class OtherProducts(NamedTuple):
    """A function ``sum_l b_l e(g_1l(x_1), ..., g_Dl(x_D))`` with each g_dl tabulated at nodes.

    Here e is the sum over all products of three and more. The averages of g_dl are zero, so these
    products are terms of three dimensions and more, and no others.

    Args:
        values: g_dl at the nodes.
        coefficients: b_l.
    """

    values: Float[Array, "D Q L"]
    coefficients: Float[Array, " L"]

    @classmethod
    def of(
        cls, path: SamplePath, residual: OtherOrdersResidual, quadrature: Quadrature
    ) -> "OtherProducts":
        """The residual of a drawn function; g_dl are its random functions and correlations."""
        nodes = jnp.asarray(quadrature.nodes)
        covariance = path.posterior.covariance
        waves = path.waves(jnp.arange(nodes.shape[1]), nodes.T).real
        to_data = covariance.factors(nodes, path.posterior.x)
        scales = residual.reach[:, None, None]
        values = jnp.concatenate([jnp.sqrt(scales) * waves, scales * to_data], -1)
        variance = covariance.outputscale * residual.scale
        prior = jnp.sqrt(variance / 2.0) * path.weights[-1]
        return cls(values, jnp.concatenate([prior, variance * path.update]))

    @property
    def members(self) -> Bool[Array, "1 D"]:
        """No dimension: there are no terms of one or two dimensions."""
        return jnp.zeros((1, len(self.values)), bool)

    def main_effect(self, dim: Int[Array, ""]) -> Float[Array, " Q"]:
        """The term of one dimension at its nodes."""
        return jnp.zeros(self.values.shape[1])

    def interaction(self, i: Int[Array, ""], j: Int[Array, ""]) -> Float[Array, "Q Q"]:
        """The term of two dimensions at their nodes."""
        return jnp.zeros((self.values.shape[1], self.values.shape[1]))

    def triple(self, dims: Int[Array, " 3"], places: Int[Array, "m D"]) -> Float[Array, " m"]:
        """The term of three dimensions at points."""
        values = [self.values[dim, places[:, dim]] for dim in dims]
        return values[0] * values[1] * values[2] @ self.coefficients

    def higher_order(
        self, places: Int[Array, "m D"]
    ) -> tuple[Float[Array, " m"], Float[Array, "D m"]]:
        """The sum of all terms of three dimensions and more, and its parts with each dimension."""
        values = jax.vmap(lambda table, place: table[place], (0, 1))(self.values, places)

        def with_dim(dim: Int[Array, ""]) -> Float[Array, " m"]:
            _, second, more = elementary_sums(values.at[dim].set(0.0))
            return (values[dim] * (second + more)) @ self.coefficients

        _, _, everything = elementary_sums(values)
        return everything @ self.coefficients, jax.lax.map(with_dim, jnp.arange(len(values)))


class CommonMainEffects(NamedTuple):
    """The main effects of the dimensions that a main effect in common consists of.

    Args:
        values: the effect of each dimension at its nodes, which averages zero.
    """

    values: Float[Array, "D Q"]

    @classmethod
    def of(cls, path: SamplePath, quadrature: Quadrature) -> "CommonMainEffects | None":
        """The effects of a drawn function; None if it has no common main effect."""
        covariance = path.posterior.covariance
        if covariance.common_variance is None:
            return None
        coefficients = path.common + covariance.common_features(path.posterior.x).T @ path.update
        nodes, weights = (jnp.asarray(value) for value in quadrature)
        dims = jnp.arange(nodes.shape[1])

        def effect(dim: Int[Array, ""]) -> Float[Array, " Q"]:
            only = jnp.broadcast_to(dims == dim, nodes.shape)
            values = covariance.common_features(nodes, only) @ coefficients
            return values - weights[:, dim] @ values

        return cls(jax.lax.map(effect, dims))

    @property
    def members(self) -> Bool[Array, "1 D"]:
        """No dimension: there are no terms of several dimensions."""
        return jnp.zeros((1, len(self.values)), bool)

    def main_effect(self, dim: Int[Array, ""]) -> Float[Array, " Q"]:
        """The term of one dimension at its nodes."""
        return self.values[dim]

    def interaction(self, i: Int[Array, ""], j: Int[Array, ""]) -> Float[Array, "Q Q"]:
        """The term of two dimensions at their nodes."""
        return jnp.zeros((self.values.shape[1], self.values.shape[1]))

    def triple(self, dims: Int[Array, " 3"], places: Int[Array, "m D"]) -> Float[Array, " m"]:
        """The term of three dimensions at points."""
        return jnp.zeros(len(places))

    def higher_order(
        self, places: Int[Array, "m D"]
    ) -> tuple[Float[Array, " m"], Float[Array, "D m"]]:
        """The sum of all terms of three dimensions and more, and its parts with each dimension."""
        return jnp.zeros(len(places)), jnp.zeros((len(self.values), len(places)))


Part = Products | OtherProducts | CommonMainEffects


def term_variances(
    path: SamplePath,
    quadrature: Quadrature,
    uniforms: Float[Array, "M D"],
    triples: Int[AnyArray, "T 3"] = NO_TRIPLES,
) -> Variances:
    """Variances of the terms of one function; traceable.

    Args:
        path: the function, of a model without a projection.
        quadrature: how to average over each dimension.
        uniforms: points of the unit cube at which terms of three dimensions and more are
            evaluated, their number a multiple of `CHUNK`.
        triples: the dimensions of the terms of three whose variances are wanted, too.
    """
    parts = parts_of(path, quadrature)
    weights = jnp.asarray(quadrature.weights)
    num_dims = weights.shape[1]

    def of_dim(dim: Int[Array, ""]) -> Float[Array, ""]:
        effect = sum(part.main_effect(dim) for part in parts)
        return weights[:, dim] @ jnp.square(effect)

    def of_pair(k: Int[Array, ""], found: Float[Array, "D D"]) -> Float[Array, "D D"]:
        i, j = rows[k], columns[k]
        effect = sum(part.interaction(i, j) for part in parts)
        variance = weights[:, i] @ jnp.square(effect) @ weights[:, j]
        return found.at[jnp.array([i, j]), jnp.array([j, i])].set(variance)

    joined = sum(part.members.astype(float).T @ part.members for part in parts)
    upper = jnp.triu(joined, 1) > 0.0
    rows, columns = jnp.nonzero(upper, size=upper.size, fill_value=0)
    pairs = jax.lax.fori_loop(0, upper.sum(), of_pair, jnp.zeros((num_dims, num_dims)))

    def of_points(places: Int[Array, "m D"]) -> tuple[Float[Array, ""], Float[Array, " D"]]:
        found = [part.higher_order(places) for part in parts]
        everything, with_dim = (sum(terms) for terms in zip(*found, strict=True))
        return jnp.square(everything).mean(), jnp.square(with_dim).mean(1)

    def of_triple(dims: Int[Array, " 3"]) -> Float[Array, ""]:
        return jnp.square(sum(part.triple(dims, places) for part in parts)).mean()

    places = places_of(quadrature, uniforms)
    chunks = places.reshape(-1, CHUNK, num_dims)
    higher, higher_with = (v.mean(0) for v in jax.lax.map(of_points, chunks))
    first = jax.lax.map(of_dim, jnp.arange(num_dims))
    # If all terms contain a dimension, the two differ only by the error of the points.
    higher_with = jnp.minimum(higher_with, higher)
    return Variances(
        first, pairs, higher, higher_with, jax.lax.map(of_triple, jnp.asarray(triples))
    )


def places_of(quadrature: Quadrature, uniforms: Float[Array, "M D"]) -> Int[Array, "M D"]:
    """The nodes at quantiles of the weights of each dimension."""
    ends = jnp.cumsum(jnp.asarray(quadrature.weights), 0)
    places = jax.vmap(jnp.searchsorted, (1, 1), 1)(ends, uniforms)
    return jnp.minimum(places, len(ends) - 1)


def parts_of(path: SamplePath, quadrature: Quadrature) -> tuple[Part, ...]:
    """The components of a function, and its residual if there is one."""
    covariance = path.posterior.covariance
    members, residual = covariance.decomposition.members, covariance.residual
    parts: tuple[Part, ...] = (
        Products.of(path, members, covariance.variances, slice(-1), quadrature),
    )
    if residual is None:
        return parts
    if isinstance(residual, OtherOrdersResidual):
        return *parts, OtherProducts.of(path, residual, quadrature)
    if (common := CommonMainEffects.of(path, quadrature)) is not None:
        parts += (common,)
    stretched = replace(covariance, lengthscale=residual.stretch * covariance.lengthscale)
    path = path._replace(
        posterior=replace(path.posterior, covariance=stretched),
        frequencies=path.residual_frequencies,
    )
    everywhere = jnp.ones((1, members.shape[1]), bool)
    variance = covariance.outputscale * residual.product_share
    last = slice(-1, None)
    return *parts, Products.of(path, everywhere, variance[None], last, quadrature)


def _where(condition: Bool[Array, " C"]) -> tuple[Int[Array, " C"], Int[Array, ""]]:
    """All rows, with the rows that satisfy a condition first, and the number of these."""
    return true_first(condition), condition.sum()


def _fold_members(
    step: Callable[[Int[Array, ""], Carry], Carry],
    members: Bool[Array, " D"],
    init: Carry,
    *,
    reverse: bool = False,
) -> Carry:
    """Folds a function over the members of one component, in their order."""
    order = jnp.arange(len(members))
    order = order[::-1] if reverse else order

    def each(state: tuple[Bool[Array, " D"], Carry]) -> tuple[Bool[Array, " D"], Carry]:
        rest, carry = state
        dim = order[jnp.argmax(rest[order])]
        return rest.at[dim].set(False), step(dim, carry)

    return jax.lax.while_loop(lambda state: state[0].any(), each, (members, init))[1]
