"""The log density of a model as a function of one structure site, everything else held fixed.

All structure samplers evaluate their moves here. Where only the set of components can change, a
move adds and subtracts the products of the components that changed, and costs one Cholesky. The
model's trace shows whether that is so: projections and hyper-parameters may depend on a structure
site, too. If they do, or if the likelihood is not a `MarginalGP`, the full log density is
evaluated. A scale of the likelihood, as `numpyro.handlers.scale` gives it, multiplies its
logarithm.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpyro import handlers

from structbo.models.covariance import AdditiveCovariance
from structbo.models.decomposition import Decomposition
from structbo.models.foundation.accelerator import where_needed
from structbo.models.gram import component_product
from structbo.models.likelihood import MarginalGP, Model, gp_sites
from structbo.samplers.dependence import dependent_outputs
from structbo.samplers.low_rank import features

Trace = dict[str, dict[str, Any]]
MAX_STORED = 2**24
"""With more numbers in all one-dimensional correlations, those of a component are computed when it
changes: a factorization of such a size takes longer than they do."""


class ComponentSums(NamedTuple):
    """Sums over the components of one value, which a move updates.

    Args:
        gram: weighted sum of component products before normalization, shape (n, n), or (n, M) with
            inducing points.
        total: sum of the relative weights, a scalar.
        num_components: how many components there are.
        num_oversized: how many of them have more members than the structure allows.
        is_complete: whether these are all components of the value.
    """

    gram: Array
    total: Array
    num_components: Array
    num_oversized: Array
    is_complete: Array


class Point(NamedTuple):
    """A value of the site, with its density and the sums that moves update.

    Args:
        value: of the structure site.
        log_density: log joint density of the model.
        components: from which incremental moves start; None where moves are not incremental.
        solution: whitener and alpha of `ConditionedGP`, if they were asked for.
        guide: anything that a block stores with the point.
    """

    value: Array
    log_density: Array
    components: ComponentSums | None = None
    solution: tuple[Array, Array] | None = None
    guide: Any = None


class Conditional:
    """Evaluates a model at values of one of its sites.

    Args:
        model: a NumPyro model whose other latent sites are conditioned on.
        site: the name of the structure site.
        value: its current value.
        args: arguments of the model.
        kwargs: keyword arguments of the model.
        power: of the likelihood, in addition to the site's own scale; zero leaves the prior. Where
            it is not 1, the likelihood must be a `MarginalGP`.
    """

    def __init__(
        self,
        model: Model,
        site: str,
        value: Array,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        power: Array | float = 1.0,
    ) -> None:
        self.power = power
        self._run = lambda new: handlers.trace(
            handlers.substitute(handlers.seed(model, 0), data={site: new})
        ).get_trace(*args, **kwargs)
        trace = self._run(value)
        self.prior = trace[site]["fn"]
        self._likelihood_site = _only(gp_sites(trace), trace)
        self.is_incremental = self._changes_only_components(trace, value)
        """Whether moves touch only the components that change."""
        self.flips_pairs = False
        """Whether the flip of an edge changes the component of its two variables, and no other."""
        if not self.is_incremental:
            return
        observed = trace[self._likelihood_site or ""]
        likelihood: MarginalGP = observed["fn"]
        self.likelihood = likelihood
        self.y: Array = observed["value"]
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

        self.features = jax.lax.map(lambda dim: features(at_centers(dim)), dims)
        """Of every dimension's correlations between the centers, shape (D, 6, M)."""
        self.distinct_factors = jax.lax.map(lambda dim: distinct_elements(at_centers(dim)), dims)
        """Those correlations that are distinct, shape (D, M (M + 1) / 2)."""
        residual = self.covariance.residual_gram(likelihood.x, centers)
        decomposition = self.covariance.decomposition
        self.flips_pairs = decomposition.has_main_effects and (
            decomposition.valid_flip_rule is not None
        )
        self._fixed = likelihood.with_noise(jnp.zeros(shape) if residual is None else residual)

    def _changes_only_components(self, trace: Trace, value: Array) -> bool:
        """Whether nothing of the likelihood but its components can depend on the site."""
        name = self._likelihood_site
        if name is None:
            return False
        # A class of the user's own may compute something else from the same parts.
        likelihood = trace[name]["fn"]
        kinds = type(likelihood), type(likelihood.covariance)
        if kinds != (MarginalGP, AdditiveCovariance):
            return False

        def everything_else(value: Array) -> Any:
            site = self._run(value)[name]
            gp: MarginalGP = site["fn"]
            projection = gp.covariance.decomposition.projection
            empty = Decomposition(jnp.zeros((0, 0), bool), jnp.zeros(0), jnp.array(True))
            covariance = replace(gp.covariance, decomposition=empty)
            return (
                projection,
                covariance,
                gp.x,
                gp.noise,
                gp.known_noise,
                gp.data_mask,
                site["value"],
                site["scale"],
            )

        return not any(jax.tree.leaves(dependent_outputs(everything_else, value)))

    def log_density(self, value: Array) -> Array:
        """Log joint density of the model at a value, from scratch."""
        trace = self._run(value)
        if self._likelihood_site is None:
            return trace_log_density(trace)
        likelihood = {"y": trace[self._likelihood_site]}
        return self._with_prior(trace, self.power, trace_log_density(likelihood))

    def _with_prior(self, trace: Trace, power: Array | float, log_likelihood: Array) -> Array:
        """The power of a likelihood times the density of all other sites."""
        rest = {name: site for name, site in trace.items() if name != self._likelihood_site}
        evidence = jnp.where(power == 0, 0.0, power * log_likelihood)
        return evidence + trace_log_density(rest)

    def gram(self, components: ComponentSums) -> Array:
        """The matrix `MarginalGP.gram`, (n, n), or (n, M) with inducing points."""
        return self._fixed + self.covariance.shared_variance / components.total * components.gram

    @property
    def relevance(self) -> Array:
        """Relative variance of each dimension, shape (D,)."""
        relevance = self.covariance.relevance
        return jnp.ones(self.covariance.num_dims) if relevance is None else relevance

    def components_at_centers(self, components: ComponentSums) -> Array:
        """Their covariance between the centers, shape (M, M), with zeros for padding."""
        part = components.gram[: len(self._at_centers)]
        scale = self.covariance.shared_variance / components.total
        return jnp.where(self._at_centers, scale * part, 0.0)

    def start(self, value: Array, with_solution: bool = False) -> Point:
        """Evaluates a value from scratch, with the solution where moves are incremental."""
        if not self.is_incremental:
            return Point(value, self.log_density(value))
        trace = self._run(value)
        decomposition = self._decomposition(trace)
        none, is_complete = jnp.array(0), decomposition.is_complete
        nothing = ComponentSums(
            jnp.zeros_like(self._fixed),
            jnp.array(0.0),
            none,
            none,
            jnp.array(True) if is_complete is None else is_complete,
        )
        components = decomposition.fold(self._visit(decomposition), nothing)
        return self._point(value, trace, components, with_solution)

    def move(self, point: Point, value: Array, with_solution: bool = False) -> Point:
        """Evaluates a value near a point that is already evaluated; else as `start`."""
        before = point.components
        if before is None:
            return self.start(value, with_solution)
        trace = self._run(value)
        old, new = self.decomposition(point.value), self._decomposition(trace)
        components = old.fold_changes(new, self._visit(new), before)
        if new.is_complete is None:
            return self._point(value, trace, components, with_solution)
        if new.valid_flip_rule is None:
            is_complete = new.is_complete
        else:
            # Whether the rows suffice is known without the table, which may take long to list.
            is_complete = components.num_components <= len(new.members)
        components = components._replace(is_complete=is_complete)
        moved = self._point(value, trace, components, with_solution)
        return where_needed(~before.is_complete, moved, lambda: self.start(value, with_solution))

    def decomposition(self, value: Array) -> Decomposition:
        """The components at a value of the site."""
        return self._decomposition(self._run(value))

    def _decomposition(self, trace: Trace) -> Decomposition:
        likelihood: MarginalGP = trace[self._likelihood_site or ""]["fn"]
        return likelihood.covariance.decomposition

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
        self, value: Array, trace: Trace, components: ComponentSums, with_solution: bool
    ) -> Point:
        decomposition = self._decomposition(trace)
        inside = decomposition.valid & components.is_complete & (components.num_oversized == 0)
        gram, solution = self.gram(components), None
        if with_solution:
            evidence, solution = self.likelihood.evidence_and_solution(gram, self.y)
        else:
            evidence = self.likelihood.log_evidence(gram, self.y)
        evidence = jnp.where(inside, evidence, -jnp.inf)
        log_density = self._with_prior(trace, self.evidence_power, evidence)
        return Point(value, log_density, components, solution)


def distinct_elements(matrix: Array) -> Array:
    """The lower triangle of a symmetric matrix (M, M), shape (M (M + 1) / 2,).

    In 32 bits, for scores that only steer proposals: a quarter of the memory traffic.
    """
    return matrix.astype(jnp.float32)[np.tril_indices(len(matrix))]


def gradient_by_distinct(gradient: Array) -> Array:
    """The derivative by the distinct elements of a symmetric matrix, from that by all (M, M).

    Those off the diagonal are there twice.
    """
    return distinct_elements(gradient * (2.0 - jnp.eye(len(gradient))))


def choose(accept: Array, new: Point, old: Point) -> Point:
    """One of two points."""
    return jax.tree.map(lambda a, b: jnp.where(accept, a, b), new, old)


def _only(sites: list[str], trace: Trace) -> str | None:
    """The one site, if there is one only and it is observed."""
    return sites[0] if len(sites) == 1 and trace[sites[0]]["is_observed"] else None


def trace_log_density(trace: Trace) -> Array:
    """Log density of all sample sites of a trace, each multiplied by its scale."""
    total = jnp.array(0.0)
    for site in trace.values():
        if site["type"] == "sample":
            log_prob = jnp.sum(site["fn"].log_prob(site["value"]))
            total += log_prob if site["scale"] is None else site["scale"] * log_prob
    return total
