"""The log density of a model as a function of one structure site, with all other sites fixed.

All structure samplers evaluate their moves here. A move that changes only the set of components is
incremental: it adds and subtracts the products of the changed components, and costs one Cholesky
factorization. The trace of the model shows whether moves are incremental. If projections or
hyper-parameters depend on the site, or the likelihood is not a `MarginalGP`, each move evaluates
the full log density. The scale of `numpyro.handlers.scale` multiplies the log likelihood.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Float32, Int, Shaped
from numpyro import handlers

from structbo.models.components import component_product
from structbo.models.covariance import AdditiveCovariance
from structbo.models.decomposition import Decomposition
from structbo.models.foundation.accelerator import where_needed
from structbo.models.foundation.sites import is_summed
from structbo.models.likelihood import MarginalGP, Model, gp_sites
from structbo.models.strengths import mean_strengths
from structbo.samplers.low_rank import features
from structbo.samplers.traced import Traced

Trace = dict[str, dict[str, Any]]
MAX_STORED = 2**24
"""Largest number of stored one-dimensional correlations. Above it, they are computed for each
changed component, which is cheaper than the factorization."""


class ComponentSums(NamedTuple):
    """Sums over the components of one value, which moves update.

    Args:
        gram: weighted sum of component products before normalization; M is n without inducing
            points.
        total: sum of the relative weights.
        num_components: number of components.
        num_oversized: number of components with more members than the structure allows.
        is_complete: whether the sums include all components of the value.
    """

    gram: Float[Array, "n M"]
    total: Float[Array, ""]
    num_components: Int[Array, ""]
    num_oversized: Int[Array, ""]
    is_complete: Bool[Array, ""]


class Point(NamedTuple):
    """A value of the site, with its density and the sums that moves update.

    Args:
        value: value of the structure site.
        log_density: log joint density of the model.
        components: sums over the components; None if moves are not incremental.
        solution: whitener and alpha of `ConditionedGP`, if requested.
        guide: auxiliary data that a block stores with the point.
    """

    value: Shaped[Array, "*shape"]
    log_density: Float[Array, ""]
    components: ComponentSums | None = None
    solution: tuple[Float[Array, "M M"], Float[Array, " M"]] | None = None
    guide: Any = None


class _Parts(NamedTuple):
    """The parts of a model's density at a value of the site.

    Args:
        fixed: all inputs of the likelihood but its components.
        decomposition: the components.
        rest_log_density: log density of all other sites.
    """

    fixed: Any
    decomposition: Decomposition
    rest_log_density: Float[Array, ""]


class Conditional:
    """Evaluates a model at values of one of its sites.

    Args:
        model: a NumPyro model, conditioned on its other latent sites.
        site: name of the structure site.
        value: current value of the site.
        args: positional arguments of the model.
        kwargs: keyword arguments of the model.
        power: power of the likelihood, multiplied by the site's scale; zero leaves the prior. A
            power other than 1 needs a `MarginalGP`.
    """

    def __init__(
        self,
        model: Model,
        site: str,
        value: Shaped[Array, "*shape"],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        power: Float[Array, ""] | float = 1.0,
    ) -> None:
        self.power = power
        self._run = lambda new: handlers.trace(
            handlers.substitute(handlers.seed(model, 0), data={site: new})
        ).get_trace(*args, **kwargs)
        trace = self._run(value)
        check_sums(site, trace)
        self.prior = trace[site]["fn"]
        self._likelihood_site = _only(gp_sites(trace), trace)
        self.is_incremental = False
        """Whether moves evaluate only the components that change."""
        self.flips_pairs = False
        """Whether the flip of an edge changes only the component of its two variables."""
        # A subclass may compute something else from the same parts.
        if self._is_additive(trace):
            self._parts = Traced(self._parts_of, value)
            self.is_incremental = not any(jax.tree.leaves(self._parts.dependent.fixed))
        self.log_density: Callable[[Shaped[Array, "*shape"]], Float[Array, ""]] = (
            self._log_density_of
        )
        """The log joint density of the model at a value, evaluated in full."""
        if not self.is_incremental:
            self.log_density = Traced(self._log_density_of, value)
            return
        observed = trace[self._likelihood_site or ""]
        likelihood: MarginalGP = observed["fn"]
        self.likelihood = likelihood
        self.y: Float[Array, " n"] = observed["value"]
        self.covariance = likelihood.covariance
        self.evidence_power = power if observed["scale"] is None else power * observed["scale"]
        centers = likelihood.centers
        shape = len(likelihood.x), len(centers)
        is_small = self.covariance.num_dims * shape[0] * shape[1] <= MAX_STORED
        factors = self.covariance.factors(likelihood.x, centers) if is_small else None
        self._factor = lambda dim: (
            self.covariance.factor(dim, likelihood.x, centers) if factors is None else factors[dim]
        )
        size = len(centers)
        self._at_centers = likelihood.data_mask[:size, None] & likelihood.data_mask[:size]
        dims = jnp.arange(self.covariance.num_dims)

        def at_centers(dim: Array) -> Array:
            return jnp.where(self._at_centers, self._factor(dim)[:size], 0.0)

        self.features: Float32[Array, "D F M"]
        """Features of each dimension's correlations between centers."""
        self.distinct_factors: Float32[Array, "D M*(M+1)//2"]
        """Distinct elements of each dimension's correlations."""
        self.features, self.distinct_factors = jax.lax.map(
            lambda dim: (features(at_centers(dim)), distinct_elements(at_centers(dim))), dims
        )
        residual = self.covariance.residual_gram(likelihood.x, centers)
        decomposition = self.covariance.decomposition
        self.flips_pairs = decomposition.has_main_effects and (
            decomposition.valid_flip_rule is not None
        )
        self._fixed = likelihood.with_noise(jnp.zeros(shape) if residual is None else residual)

    def _is_additive(self, trace: Trace) -> bool:
        """Whether the likelihood is exactly a `MarginalGP` of an additive covariance.

        With inducing points, the density also depends on prior variances. If these vary, moves
        would have to update them.
        """
        if self._likelihood_site is None:
            return False
        likelihood = trace[self._likelihood_site]["fn"]
        kinds = type(likelihood), type(getattr(likelihood, "covariance", None))
        if kinds != (MarginalGP, AdditiveCovariance):
            return False
        return likelihood.num_inducing is None or likelihood.covariance.has_unit_variance

    def _parts_of(self, value: Shaped[Array, "*shape"]) -> "_Parts":
        trace = self._run(value)
        observed = trace[self._likelihood_site or ""]
        gp: MarginalGP = observed["fn"]
        decomposition = gp.covariance.decomposition
        empty = Decomposition(jnp.zeros((0, 0), bool), jnp.zeros(0), jnp.array(True))
        fixed = (
            decomposition.projection,
            replace(gp.covariance, decomposition=empty),
            gp.x,
            gp.noise,
            gp.known_noise,
            gp.data_mask,
            observed["value"],
            observed["scale"],
        )
        return _Parts(fixed, decomposition, self._rest_log_density(trace))

    def _log_density_of(self, value: Shaped[Array, "*shape"]) -> Float[Array, ""]:
        trace = self._run(value)
        if self._likelihood_site is None:
            return trace_log_density(trace)
        likelihood = trace_log_density({"y": trace[self._likelihood_site]})
        return _times(self.power, likelihood) + self._rest_log_density(trace)

    def _rest_log_density(self, trace: Trace) -> Float[Array, ""]:
        """Log density of all sites but the likelihood."""
        return trace_log_density(
            {n: site for n, site in trace.items() if n != self._likelihood_site}
        )

    def gram(self, components: ComponentSums) -> Float[Array, "n M"]:
        """The matrix `MarginalGP.gram`."""
        return self._fixed + self.covariance.shared_variance / components.total * components.gram

    @property
    def strengths(self) -> Float[Array, "D D"]:
        """Relative variances of main effects and pairs, see `AdditiveCovariance`."""
        strengths, num_dims = self.covariance.strengths, self.covariance.num_dims
        if strengths is None:
            return jnp.ones((num_dims, num_dims))
        return mean_strengths(strengths) if strengths.ndim == 1 else strengths

    def components_at_centers(self, components: ComponentSums) -> Float[Array, "M M"]:
        """Covariance of the components between centers, zero for padding."""
        part = components.gram[: len(self._at_centers)]
        scale = self.covariance.shared_variance / components.total
        return jnp.where(self._at_centers, scale * part, 0.0)

    def start(self, value: Shaped[Array, "*shape"], with_solution: bool = False) -> Point:
        """Evaluates a value in full; the solution is available for incremental moves only."""
        if not self.is_incremental:
            return Point(value, self.log_density(value))
        parts = self._parts(value)
        decomposition = parts.decomposition
        none, is_complete = jnp.array(0), decomposition.is_complete
        nothing = ComponentSums(
            jnp.zeros_like(self._fixed),
            jnp.array(0.0),
            none,
            none,
            jnp.array(True) if is_complete is None else is_complete,
        )
        components = decomposition.fold(self._visit(decomposition), nothing)
        return self._point(value, parts, components, with_solution)

    def move(
        self, point: Point, value: Shaped[Array, "*shape"], with_solution: bool = False
    ) -> Point:
        """Evaluates a value incrementally from an evaluated point if possible, else by `start`."""
        before = point.components
        if before is None:
            return self.start(value, with_solution)
        parts = self._parts(value)
        old, new = self.decomposition(point.value), parts.decomposition
        components = old.fold_changes(new, self._visit(new), before)
        if new.is_complete is None:
            return self._point(value, parts, components, with_solution)
        if new.valid_flip_rule is None:
            is_complete = new.is_complete
        else:
            # The count shows whether the table is large enough, without building the table.
            is_complete = components.num_components <= len(new.members)
        components = components._replace(is_complete=is_complete)
        moved = self._point(value, parts, components, with_solution)
        return where_needed(~before.is_complete, moved, lambda: self.start(value, with_solution))

    def decomposition(self, value: Shaped[Array, "*shape"]) -> Decomposition:
        """The components at a value of the site."""
        return self._parts(value).decomposition

    def _visit(self, decomposition: Decomposition) -> Callable[..., ComponentSums]:
        largest = decomposition.max_size

        def visit(sums: ComponentSums, sign: Array, members: Array, weight: Array) -> ComponentSums:
            weight = sign * self.covariance.relative_weight(members, weight)
            one = sign.astype(sums.num_components.dtype)
            is_oversized = False if largest is None else members.sum() > largest
            return ComponentSums(
                sums.gram + weight * component_product(self._factor, members),
                sums.total + weight,
                sums.num_components + one,
                sums.num_oversized + jnp.where(is_oversized, one, 0),
                sums.is_complete,
            )

        return visit

    def _point(
        self,
        value: Shaped[Array, "*shape"],
        parts: "_Parts",
        components: ComponentSums,
        with_solution: bool,
    ) -> Point:
        decomposition = parts.decomposition
        inside = decomposition.valid & components.is_complete & (components.num_oversized == 0)
        gram, solution = self.gram(components), None
        if with_solution:
            evidence, solution = self.likelihood.evidence_and_solution(gram, self.y)
        else:
            evidence = self.likelihood.log_evidence(gram, self.y)
        evidence = jnp.where(inside, evidence, -jnp.inf)
        log_density = _times(self.evidence_power, evidence) + parts.rest_log_density
        return Point(value, log_density, components, solution)


def distinct_elements(matrix: Float[Array, "M M"]) -> Float32[Array, " M*(M+1)//2"]:
    """The lower triangle of a symmetric matrix.

    In 32 bits, since the scores only guide proposals: a quarter of the memory traffic.
    """
    return matrix.astype(jnp.float32)[np.tril_indices(len(matrix))]


def gradient_by_distinct(gradient: Float[Array, "M M"]) -> Float32[Array, " M*(M+1)//2"]:
    """The gradient with respect to the distinct elements of a symmetric matrix.

    Off-diagonal elements count twice.
    """
    return distinct_elements(gradient * (2.0 - jnp.eye(len(gradient))))


def choose(accept: Bool[Array, ""], new: Point, old: Point) -> Point:
    """The new point if accepted, else the old one."""
    return jax.tree.map(lambda a, b: jnp.where(accept, a, b), new, old)


def check_sums(site: str, trace: Trace) -> None:
    """Checks that no site is summed over: a density would have one drawn term instead of the sum.

    Raises:
        ValueError: if there is such a site.
    """
    if summed := [name for name, other in trace.items() if is_summed(other)]:
        raise ValueError(
            f"the sampler of {site!r} cannot sum over the sites {summed}: leave out infer="
            "{'enumerate': 'parallel'}, and `default_sampler` samples them as well."
        )


def _times(power: Float[Array, ""] | float, log_likelihood: Float[Array, ""]) -> Float[Array, ""]:
    """The log of a power of the likelihood; zero for power zero, even if the log is infinite."""
    return jnp.where(power == 0, 0.0, power * log_likelihood)


def _only(sites: list[str], trace: Trace) -> str | None:
    """The only site, if it is observed; None otherwise."""
    return sites[0] if len(sites) == 1 and trace[sites[0]]["is_observed"] else None


def trace_log_density(trace: Trace) -> Float[Array, ""]:
    """Sum of the scaled log densities of all sample sites of a trace."""
    total = jnp.array(0.0)
    for site in trace.values():
        if site["type"] == "sample":
            log_prob = jnp.sum(site["fn"].log_prob(site["value"]))
            total += log_prob if site["scale"] is None else site["scale"] * log_prob
    return total
