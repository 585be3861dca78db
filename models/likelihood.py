"""The likelihood, a NumPyro distribution, and the site of a model that has it."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax import Array
from jaxtyping import Bool, Float
from numpyro.distributions import constraints

from structbo.models.covariance import AdditiveCovariance
from structbo.models.foundation.arrays import OneOrEach, RandomKey
from structbo.models.foundation.precision import check_double
from structbo.models.gp import ConditionedGP
from structbo.models.inducing import (
    PseudoObservations,
    collapsed_bound,
    leave_one_out,
    sample_given_inducing,
)
from structbo.models.marginal import (
    inverse_factor,
    log_marginal,
    masked,
    safe_cholesky,
    solve_lower,
    solved,
)

MAX_EXACT = 1024
"""The largest number of rows, including padding, without inducing points."""
NUM_INDUCING = 512
"""The number of inducing points above `MAX_EXACT` rows."""

BELIEVED_NOISE, LEAST_NOISE = 1e-4, 1e-10
"""Variance at a point where the function counts as known, relative to the observation noise; and
its minimum, relative to the prior variance, which a factorization needs."""

Model = Callable[..., Any]
"""A NumPyro model, ``model(X, y=None, mask=None)``.

With standard errors, it is also called with ``known_noise``, variances of shape (n,) for its
`MarginalGP`.
"""


class MarginalGP(dist.Distribution):
    """Observations with normal noise of an additive Gaussian process, which is marginalized.

    The distribution carries the covariance function, so that samplers can evaluate structure moves,
    and posteriors can be computed from a traced model, without knowing names of sites.

    Above 1,024 rows its density is a lower bound of the exact one, with the first 512 rows as
    inducing points. `structbo.data.Data` puts representative rows first.

    Args:
        covariance: the covariance function.
        x: observed points of the unit cube.
        noise: noise variance.
        mask: which rows are data and not padding. Default: all. Kept as `data_mask`, since
            `mask` is a method of every NumPyro distribution.
        known_noise: known noise variances of the observations, such as squared standard errors of
            means. They add to the noise. Default: none.
        num_inducing: number of inducing rows, by default as above; the density is exact if it is
            the number of rows or more, and the attribute is then None.

    Raises:
        RuntimeError: if JAX's 64-bit floats are off, which factorizations need.
    """

    support = constraints.real_vector
    pytree_data_fields = ("covariance", "x", "noise", "data_mask", "known_noise")
    pytree_aux_fields = ("num_inducing",)

    def __init__(
        self,
        covariance: AdditiveCovariance,
        x: Float[Array, "n D"],
        noise: Float[Array, ""],
        mask: Bool[Array, " n"] | None = None,
        known_noise: Float[Array, " n"] | None = None,
        num_inducing: int | None = None,
        *,
        validate_args: bool | None = None,
    ) -> None:
        check_double("MarginalGP")
        self.covariance = covariance
        self.x = x
        self.noise = noise
        self.data_mask = jnp.ones(x.shape[0], bool) if mask is None else mask
        self.known_noise = known_noise
        self.num_inducing = inducing_rows(x.shape[0], num_inducing)
        super().__init__(event_shape=(x.shape[0],), validate_args=validate_args)

    @property
    def noise_variances(self) -> OneOrEach:
        """The noise variance of every observation, or one if all are equal."""
        return self.noise if self.known_noise is None else self.noise + self.known_noise

    @property
    def centers(self) -> Float[Array, "M D"]:
        """The points whose covariances with all observed points determine the density.

        These are the M inducing points, or all n observed points, where M is n.
        """
        return self.x if self.num_inducing is None else self.x[: self.num_inducing]

    def with_noise(self, gram: Float[Array, "n M"]) -> Float[Array, "n M"]:
        """A Gram matrix of all observed points with the noise added to its diagonal.

        A matrix with inducing points does not change: the density adds its noise.
        """
        if self.num_inducing is not None:
            return gram
        return gram + self.noise_variances * jnp.eye(self.x.shape[0])

    @property
    def gram(self) -> Float[Array, "n M"]:
        """The covariance of the observations with the values at the centers, `with_noise`.

        Values for padding are arbitrary.
        """
        centers = self.centers
        return self.with_noise(self.covariance(self.x, centers, self.data_mask[: len(centers)]))

    def log_evidence(self, gram: Float[Array, "n M"], y: Float[Array, " n"]) -> Float[Array, ""]:
        """The log density of observations, or its bound, from a matrix such as `gram`."""
        if self.num_inducing is None:
            return log_marginal(gram, y, self.data_mask)
        return collapsed_bound(gram, y, self.data_mask, *self._variances)

    def evidence_and_solution(
        self, gram: Float[Array, "n M"], y: Float[Array, " n"]
    ) -> tuple[Float[Array, ""], tuple[Float[Array, "M M"], Float[Array, " M"]]]:
        """`log_evidence`, and the whitener and alpha of `condition`."""
        if self.num_inducing is not None:
            pseudo = PseudoObservations.of(gram, y, self.data_mask, *self._variances)
            return self.log_evidence(gram, y), (inverse_factor(pseudo.cholesky), pseudo.alpha)
        evidence, cholesky, alpha = solved(gram, y, self.data_mask)
        return evidence, (inverse_factor(cholesky), alpha)

    @property
    def _variances(self) -> tuple[OneOrEach, OneOrEach]:
        """The variances of the noise, and of the function at the observed points."""
        return self.noise_variances, self.covariance.prior_variance(self.x)

    def log_prob(self, value: Float[Array, " n"]) -> Float[Array, ""]:
        density = self.log_evidence(self.gram, value)
        return jnp.where(self.covariance.decomposition.is_inside, density, -jnp.inf)

    def sample(self, key: RandomKey, sample_shape: tuple[int, ...] = ()) -> Float[Array, "*S n"]:
        """Draws observations; with inducing points, the others are independent given these."""
        shape = (*sample_shape, self.x.shape[0])
        if self.num_inducing is not None:
            drawn = sample_given_inducing(key, shape, self.gram, self.data_mask, *self._variances)
            return jnp.where(self.data_mask, drawn, 0.0)
        cholesky = safe_cholesky(masked(self.gram, self.data_mask))
        white = jax.random.normal(key, shape, dtype=cholesky.dtype)
        return jnp.where(self.data_mask, white @ cholesky.T, 0.0)

    def condition(self, y: Float[Array, " n"]) -> ConditionedGP:
        """The posterior given the observations.

        At a point with observation NaN, the function counts as known to be its posterior mean given
        the rows before. Means do not change, and the variance there drops to almost zero.
        """
        mask, is_believed = self.data_mask, jnp.isnan(y)
        least = jnp.maximum(BELIEVED_NOISE * self.noise, LEAST_NOISE * self.covariance.outputscale)
        variances = jnp.where(is_believed, least, self.noise_variances)
        centers = self.centers
        gram = self.covariance(self.x, centers, mask[: len(centers)])
        if self.num_inducing is not None:
            return self._condition_inducing(gram, y, variances)
        cholesky = safe_cholesky(masked(gram + jnp.diag(variances), mask))
        surprise = solve_lower(cholesky, jnp.where(mask & ~is_believed, y, 0.0))
        return ConditionedGP(
            self.covariance,
            self.x,
            mask,
            self.noise,
            noise_factor=jnp.sqrt(variances),
            whitener=inverse_factor(cholesky),
            alpha=solve_lower(cholesky, jnp.where(is_believed, 0.0, surprise), transpose=True),
        )

    def _condition_inducing(
        self, gram: Float[Array, "n M"], y: Float[Array, " n"], variances: Float[Array, " n"]
    ) -> ConditionedGP:
        """`condition` from a rectangular Gram matrix and noise variances."""
        is_observed = self.data_mask & ~jnp.isnan(y)
        y, prior_variance = jnp.where(is_observed, y, 0.0), self.covariance.prior_variance(self.x)

        def pseudo(mask: Array) -> PseudoObservations:
            return PseudoObservations.of(gram, y, mask, variances, prior_variance)

        every = pseudo(self.data_mask)
        return ConditionedGP(
            self.covariance,
            self.centers,
            self.data_mask[: self.num_inducing],
            self.noise,
            noise_factor=every.noise_factor,
            whitener=inverse_factor(every.cholesky),
            alpha=jax.lax.cond(
                (is_observed == self.data_mask).all(),
                lambda: every.alpha,
                lambda: pseudo(is_observed).alpha,
            ),
        )

    def leave_one_out(self, y: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """Mean and variance of ``p(y_i | y_-i)``, for every observation given all others.

        A held-out observation at an inducing point keeps this inducing point.

        Args:
            y: the observations, with arbitrary padding.

        References:
            Rasmussen and Williams 2006, eq. (5.12).
        """
        if self.num_inducing is not None:
            return leave_one_out(self.gram, y, self.data_mask, *self._variances)
        gp = self.condition(y)
        variance = 1.0 / jnp.square(gp.whitener).sum(0)
        return y - gp.alpha * variance, variance


def inducing_rows(num_rows: int, wanted: int | None = None) -> int | None:
    """The number of inducing points; None if the likelihood is exact.

    Args:
        num_rows: rows of data and of padding.
        wanted: requested number; None for the default of the number of rows.

    Example:
        >>> inducing_rows(1024), inducing_rows(1536), inducing_rows(1536, 1536)
        (None, 512, None)
    """
    if wanted is None:
        return None if num_rows <= MAX_EXACT else NUM_INDUCING
    return wanted if wanted < num_rows else None


def gp_sites(trace: Mapping[str, Any]) -> list[str]:
    """The names of all `MarginalGP` sites of a trace."""
    is_gp = {n: isinstance(s["fn"], MarginalGP) for n, s in trace.items() if s["type"] == "sample"}
    return [name for name in is_gp if is_gp[name]]


def likelihood_site(trace: Mapping[str, Any]) -> str:
    """The name of the `MarginalGP` site.

    Args:
        trace: trace of the model, with or without observations.

    Raises:
        ValueError: if there is no such site, or there are several.

    Example:
        >>> import jax.numpy as jnp
        >>> from numpyro.handlers import seed, trace
        >>> from structbo.models import AdditiveGP
        >>> likelihood_site(trace(seed(AdditiveGP(), 0)).get_trace(jnp.zeros((2, 3))))
        'y'
    """
    found = gp_sites(trace)
    if len(found) != 1:
        kinds = {name: type(site["fn"]) for name, site in trace.items() if site["type"] == "sample"}
        sites = ", ".join(f"{name} ({kind.__name__})" for name, kind in kinds.items()) or "none"
        raise ValueError(
            f"the model must have one site that is a MarginalGP, got {len(found)} of them among "
            f"its sites: {sites}. The site of AdditiveGP is numpyro.sample('y', "
            "MarginalGP(covariance, X, noise, mask), obs=y)."
        )
    return found[0]
