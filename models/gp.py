"""The posterior of the Gaussian process, and functions drawn from it."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass
from jaxtyping import Bool, Complex, Float, Int, Key

from structbo.models.covariance import AdditiveCovariance
from structbo.models.kernels import spectral_frequencies
from structbo.models.outer_box import OuterBox
from structbo.models.residual import OtherOrdersResidual

Moments = tuple[Float[Array, " m"], Float[Array, " m"]]
"""Means and variances."""


@partial(
    register_dataclass,
    data_fields=["covariance", "x", "mask", "noise", "noise_factor", "whitener", "alpha"],
    meta_fields=[],
)
@dataclass(frozen=True)
class ConditionedGP:
    """Posterior of an additive Gaussian process and of each of its components.

    With inducing points, it is conditioned on `PseudoObservations`: n is their number, and x are
    the inducing points, the first observed points.

    Args:
        covariance: the prior covariance function.
        x: observed points.
        mask: which rows are data.
        noise: noise variance of a new observation.
        noise_factor: standard deviations of the observation noise, one of all or one each; for
            correlated noise the lower factor of its covariance.
        whitener: inverse of the lower factor of the covariance of the observations.
            Products with it take half as long as solutions with the factor.
        alpha: the inverse of this covariance times the observations.

    References:
        Rolland et al. 2018, eq. (4).
    """

    covariance: AdditiveCovariance
    x: Float[Array, "n D"]
    mask: Bool[Array, " n"]
    noise: Float[Array, ""]
    noise_factor: Float[Array, ""] | Float[Array, " n"] | Float[Array, "n n"]
    whitener: Float[Array, "n n"]
    alpha: Float[Array, " n"]

    def covariance_with_data(self, x: Float[Array, "m D"]) -> Float[Array, "m n"]:
        """Prior covariance between the function at points and at the data."""
        return self._to_data(self.covariance(x, self.x, self.mask))

    def _to_data(self, gram: Float[Array, "m n"]) -> Float[Array, "m n"]:
        """Covariances with the observations, with zeros for padding."""
        return jnp.where(self.mask, gram, 0.0)

    def _explained(
        self, one: Float[Array, "m n"], other: Float[Array, "k n"]
    ) -> Float[Array, "m k"]:
        """Covariance explained by the data, from covariances with the data."""
        return (self.whitener @ one.T).T @ (self.whitener @ other.T)

    def moments(
        self, to_data: Float[Array, "m n"], prior_variance: Float[Array, ""] | Float[Array, " m"]
    ) -> Moments:
        """Mean and variance of linear functionals of the function, such as values or averages.

        Args:
            to_data: prior covariances with the function at the observed points.
            prior_variance: prior variances of the functionals, or one of all.
        """
        to_data = self._to_data(to_data)
        explained = jnp.square(self.whitener @ to_data.T).sum(0)
        return to_data @ self.alpha, jnp.maximum(prior_variance - explained, 0.0)

    def predict(self, x: Float[Array, "m D"]) -> Moments:
        """Mean and variance of the function at points."""
        prior_variance = self.covariance.prior_variance(x)
        return self.moments(self.covariance(x, self.x, self.mask), prior_variance)

    def predict_on_lines(
        self, x: Float[Array, "K G D"], dim: Int[Array, ""]
    ) -> tuple[Float[Array, "K G"], Float[Array, "K G"]]:
        """Mean and variance of the function at G points on each of K lines along a dimension.

        The points of a line differ in the coordinate `dim` only.
        """
        to_data = self.covariance.on_lines(x, dim, self.x).reshape(-1, len(self.x))
        prior_variance = self.covariance.prior_variance(x.reshape(-1, x.shape[2]))
        mean, variance = self.moments(to_data, prior_variance)
        return mean.reshape(x.shape[:2]), variance.reshape(x.shape[:2])

    def covariance_between(
        self, x: Float[Array, "m D"], other: Float[Array, "k D"]
    ) -> Float[Array, "m k"]:
        """Posterior covariance of the function between two sets of points."""
        explained = self._explained(*map(self.covariance_with_data, (x, other)))
        return self.covariance(x, other) - explained

    def predict_component(self, component: Int[Array, ""] | int, x: Float[Array, "m D"]) -> Moments:
        """Mean and variance of one component at points."""
        to_data = self.covariance.component_gram(component, x, self.x)
        return self.moments(to_data, self.covariance.component_variance(component, x))

    def predict_residual(self, x: Float[Array, "m D"]) -> Moments:
        """Mean and variance of the residual at points."""
        gram = self.covariance.residual_gram(x, self.x)
        if gram is None:
            return jnp.zeros(x.shape[0]), jnp.zeros(x.shape[0])
        return self.moments(gram, self.covariance.residual_variance(x))

    def component_covariance_between(
        self,
        component: int,
        x: Float[Array, "m D"],
        other_component: int,
        other: Float[Array, "k D"],
    ) -> Float[Array, "m k"]:
        """Posterior covariance of two components between two sets of points.

        Components are independent a priori; the data correlate them.
        """
        gram = self.covariance.component_gram
        one = self._to_data(gram(component, x, self.x))
        two = self._to_data(gram(other_component, other, self.x))
        prior = gram(component, x, other) if component == other_component else 0.0
        return prior - self._explained(one, two)

    def in_outer_box(self) -> "ConditionedGP":
        """The same process as a function of the box around the projected cube, scaled to a cube.

        Its components lie along the axes, as message passing requires; `OuterBox` maps its points
        to the parameters. Without a projection, this is the process itself.

        References:
            Li et al. 2016, section 4.1.
        """
        projection = self.covariance.decomposition.projection
        if projection is None:
            return self
        box = OuterBox(projection)
        covariance = replace(
            self.covariance,
            decomposition=replace(self.covariance.decomposition, projection=None),
            lengthscale=self.covariance.lengthscale / box.width,
        )
        return replace(self, covariance=covariance, x=box.to_unit(self.x))

    def sample_path(self, key: Key[Array, ""], num_features: int = 1024) -> "SamplePath":
        """Draws one function from the posterior, component by component.

        Prior components are drawn with random Fourier features, multiplied by random functions of
        the dimensions in kernel groups, and corrected by Matheron's rule: ``f_c(.) + k_c(., X) K^-1
        (y - f(X) - noise)``.

        Args:
            key: a JAX random key.
            num_features: features per component; the prior becomes exact as it grows.

        Returns:
            A function of points whose components add up to it exactly.

        References:
            Wilson et al. 2020, "Efficiently sampling functions from Gaussian process posteriors".
        """
        covariance = self.covariance
        key_frequency, key_residual, key_phase, key_weight, key_noise, key_own = jax.random.split(
            key, 6
        )
        constant = 0.0 if covariance.residual is None else covariance.residual.constant
        keys_own = jax.random.split(key_own, len(covariance.kernel_groups))

        def frequencies(key: Key[Array, ""], lengthscale: Float[Array, " P"]) -> Array:
            shared = covariance.shared_lengthscale(lengthscale)
            return spectral_frequencies(
                covariance.kernel, key, num_features, shared, covariance.categorical
            )

        stretch = 1.0 if covariance.residual is None else covariance.residual.stretch
        num_components = covariance.decomposition.members.shape[0]
        num_waves = covariance.common_features(self.x).shape[1]
        shape = (num_components + 1, num_features)
        path = SamplePath(
            posterior=self,
            frequencies=frequencies(key_frequency, covariance.lengthscale),
            residual_frequencies=frequencies(key_residual, stretch * covariance.lengthscale),
            phases=jax.random.uniform(key_phase, shape, maxval=2.0 * jnp.pi),
            weights=jax.random.normal(key_weight, shape) * jnp.sqrt(2.0 / num_features),
            own_functions=tuple(
                group.draw(key, num_features, covariance.lengthscale)
                for group, key in zip(covariance.kernel_groups, keys_own, strict=True)
            ),
            constant=jnp.sqrt(constant) * jax.random.normal(jax.random.fold_in(key_own, 1)),
            common=jax.random.normal(jax.random.fold_in(key_own, 2), (num_waves,)),
            update=jnp.zeros_like(self.alpha),
        )
        noise, factor = jax.random.normal(key_noise, self.alpha.shape), self.noise_factor
        noise = factor @ noise if factor.ndim == 2 else factor * noise
        observed = jnp.where(self.mask, path.prior(self.x) + noise, 0.0)
        update = self.alpha - self.whitener.T @ (self.whitener @ observed)
        return path._replace(update=update)


class SamplePath(NamedTuple):
    """One function drawn from the posterior of an additive Gaussian process.

    Args:
        posterior: the posterior of the function.
        frequencies: frequencies shared by all components.
        residual_frequencies: frequencies of the residual.
        phases: phases of the components, one row for each, the residual's last.
        weights: weights of the components, one row for each, the residual's last.
        own_functions: for each kernel group, weights of F functions per dimension, shared by all
            components.
        constant: the residual's constant, relative to the output scale's square root.
        common: weights of the common main effect, none without one.
        update: the weights of the covariances with the data.
    """

    posterior: ConditionedGP
    frequencies: Float[Array, "F P"]
    residual_frequencies: Float[Array, "F P"]
    phases: Float[Array, "rows F"]
    weights: Float[Array, "rows F"]
    own_functions: tuple[Float[Array, "E B F"], ...]
    constant: Float[Array, ""]
    common: Float[Array, " K"]
    update: Float[Array, " n"]

    def _own(
        self,
        x: Float[Array, "m D"],
        members: Bool[Array, " D"],
        stretch: Float[Array, ""] | float = 1.0,
    ) -> Float[Array, "m F"]:
        """Products over the members in kernel groups."""
        covariance = self.posterior.covariance
        lengthscale = stretch * covariance.lengthscale
        product = jnp.ones((len(x), self.weights.shape[1]))
        for group, drawn in zip(covariance.kernel_groups, self.own_functions, strict=True):
            product = product * group.functions(drawn, x, lengthscale, members)
        return product

    def _each_own(self, x: Float[Array, "m D"]) -> Float[Array, "P m F"]:
        """Functions of each dimension, if all dimensions are in kernel groups."""
        dims = jnp.arange(self.posterior.covariance.num_dims)
        return jax.lax.map(lambda dim: self._own(x, dims == dim), dims)

    def waves(
        self, dims: Int[Array, " s"], coordinates: Float[Array, "s G"]
    ) -> Complex[Array, "s G F"]:
        """Complex random functions of single dimensions, whose covariance is the correlation.

        A prior component is their product over its members, with weights and phases.

        Args:
            dims: s dimensions.
            coordinates: coordinates in each dimension.

        Returns:
            Shape (s, G, F).
        """
        waves = jnp.exp(1j * coordinates[:, :, None] * self.frequencies[:, dims].T[:, None, :])
        covariance = self.posterior.covariance
        if not covariance.kernel_groups:
            return waves

        def own(column: tuple[Array, Array]) -> Array:
            dim, coordinates = column
            x = jnp.broadcast_to(coordinates[:, None], (len(coordinates), covariance.num_dims))
            return self._own(x, jnp.arange(covariance.num_dims) == dim)

        # Sequential, because batches of factorizations can deadlock, see
        # `structbo.models.outer_box.each_matrix`.
        return waves * jax.lax.map(own, (dims, coordinates))

    def component(
        self, component: Int[Array, ""] | int, x: Float[Array, "m D"]
    ) -> Float[Array, " m"]:
        """One component at points."""
        covariance = self.posterior.covariance
        to_data = self.posterior._to_data(covariance.component_gram(component, x, self.posterior.x))
        return self._prior_component(component, x) + to_data @ self.update

    def residual(self, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        """The residual at points; zeros if there is none."""
        gram = self.posterior.covariance.residual_gram(x, self.posterior.x)
        if gram is None:
            return jnp.zeros(x.shape[0])
        return self._prior_residual(x) + self.posterior._to_data(gram) @ self.update

    def _prior_component(
        self, component: Int[Array, ""] | int, x: Float[Array, "m D"]
    ) -> Float[Array, " m"]:
        covariance = self.posterior.covariance
        members = covariance.decomposition.members[component]
        projected = (covariance.project(x) * members) @ self.frequencies.T
        prior = jnp.cos(projected + self.phases[component])
        if covariance.kernel_groups:
            prior = prior * self._own(x, members)
        return jnp.sqrt(covariance.variances[component]) * (prior @ self.weights[component])

    def _prior_residual(self, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        covariance = self.posterior.covariance
        residual, weights = covariance.residual, self.weights[-1]
        if residual is None:
            return jnp.zeros(x.shape[0])
        if isinstance(residual, OtherOrdersResidual):
            function = residual.function(self._each_own(x)) @ (weights / jnp.sqrt(2.0))
            return jnp.sqrt(covariance.outputscale) * (function + self.constant)
        prior = jnp.cos(covariance.project(x) @ self.residual_frequencies.T + self.phases[-1])
        if covariance.kernel_groups:
            everywhere = jnp.ones(covariance.num_dims, bool)
            prior = prior * self._own(x, everywhere, residual.stretch)
        product = jnp.sqrt(covariance.outputscale * residual.product_share) * (prior @ weights)
        return product + covariance.common_features(x) @ self.common

    def prior(self, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        """The part drawn from the prior, at points."""
        decomposition = self.posterior.covariance.decomposition
        rows = decomposition.rows

        def add(k: Array, total: Array) -> Array:
            return total + self._prior_component(rows[k], x)

        return jax.lax.fori_loop(0, decomposition.count, add, self._prior_residual(x))

    def __call__(self, x: Float[Array, "m D"]) -> Float[Array, " m"]:
        """The function at points."""
        return self.prior(x) + self.posterior.covariance_with_data(x) @ self.update
