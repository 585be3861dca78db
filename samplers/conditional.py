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

from structbo.models.accelerator import where_needed
from structbo.models.covariance import AdditiveCovariance
from structbo.models.decomposition import Decomposition
from structbo.models.gram import component_product
from structbo.models.likelihood import MarginalGP, Model, gp_sites
from structbo.samplers.dependence import dependent_outputs

Trace = dict[str, dict[str, Any]]
MAX_STORED = 2**24
"""With more numbers in all one-dimensional correlations, those of a component are computed when it
changes: a factorization of such a size takes longer than they do."""


class Components(NamedTuple):
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
        gradient: of the log evidence by the matrix of `Conditional.gram`, if it was asked for.
        guide: anything that a block stores with the point.
    """

    value: Array
    log_density: Array
    components: Components | None = None
    gradient: Array | None = None
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
        self.has_flip_rule = False
        """Whether the components are known to change as a `FlipRule` says."""
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
        self.distinct_factors = jax.lax.map(
            lambda dim: distinct_elements(self._factor(dim)), jnp.arange(self.covariance.num_dims)
        )
        """Of all one-dimensional correlations, shape (D, E)."""
        residual = self.covariance.residual_gram(likelihood.x, centers)
        self.has_flip_rule = self.covariance.decomposition.valid_flip_rule is not None
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

    def gram(self, components: Components) -> Array:
        """The matrix `MarginalGP.gram`, (n, n), or (n, M) with inducing points."""
        return self._fixed + self.covariance.shared_variance / components.total * components.gram

    def start(self, value: Array, with_gradient: bool = False) -> Point:
        """Evaluates a value from scratch, with the gradient where moves are incremental."""
        if not self.is_incremental:
            return Point(value, self.log_density(value))
        trace = self._run(value)
        decomposition = self._decomposition(trace)
        none, is_complete = jnp.array(0), decomposition.is_complete
        nothing = Components(
            jnp.zeros_like(self._fixed),
            jnp.array(0.0),
            none,
            none,
            jnp.array(True) if is_complete is None else is_complete,
        )
        components = decomposition.fold(self._visit(decomposition), nothing)
        return self._point(value, trace, components, with_gradient)

    def move(self, point: Point, value: Array, with_gradient: bool = False) -> Point:
        """Evaluates a value near a point that is already evaluated; else as `start`."""
        before = point.components
        if before is None:
            return self.start(value, with_gradient)
        trace = self._run(value)
        old, new = self.decomposition(point.value), self._decomposition(trace)
        components = old.fold_changes(new, self._visit(new), before)
        if new.is_complete is None:
            return self._point(value, trace, components, with_gradient)
        if new.valid_flip_rule is None:
            is_complete = new.is_complete
        else:
            # Whether the rows suffice is known without the table, which may take long to list.
            is_complete = components.num_components <= len(new.members)
        components = components._replace(is_complete=is_complete)
        moved = self._point(value, trace, components, with_gradient)
        return where_needed(~before.is_complete, moved, lambda: self.start(value, with_gradient))

    def decomposition(self, value: Array) -> Decomposition:
        """The components at a value of the site."""
        return self._decomposition(self._run(value))

    def _decomposition(self, trace: Trace) -> Decomposition:
        likelihood: MarginalGP = trace[self._likelihood_site or ""]["fn"]
        return likelihood.covariance.decomposition

    def _visit(self, decomposition: Decomposition) -> Callable[..., Components]:
        largest = decomposition.max_size

        def visit(sums: Components, sign: Array, members: Array, weight: Array) -> Components:
            weight = sign * self.covariance.relative_weight(members, weight)
            one = sign.astype(sums.num_components.dtype)
            is_oversized = False if largest is None else members.sum() > largest
            return Components(
                sums.gram + weight * component_product(self._factor, members),
                sums.total + weight,
                sums.num_components + one,
                sums.num_oversized + jnp.where(is_oversized, one, 0),
                sums.is_complete,
            )

        return visit

    def _point(
        self, value: Array, trace: Trace, components: Components, with_gradient: bool
    ) -> Point:
        decomposition = self._decomposition(trace)
        inside = decomposition.valid & components.is_complete & (components.num_oversized == 0)
        gram, gradient = self.gram(components), None
        if with_gradient:
            evidence, gradient = self.likelihood.evidence_and_gradient(gram, self.y)
        else:
            evidence = self.likelihood.log_evidence(gram, self.y)
        evidence = jnp.where(inside, evidence, -jnp.inf)
        log_density = self._with_prior(trace, self.evidence_power, evidence)
        return Point(value, log_density, components, gradient)


def distinct_elements(matrix: Array) -> Array:
    """Those of a symmetric matrix (n, n), its lower triangle, or all of (n, M).

    In 32 bits, for scores that only steer proposals: a quarter or half of the memory traffic.

    Returns:
        Shape (n (n + 1) / 2,) or (n M,).
    """
    num_rows, num_columns = matrix.shape
    if num_rows != num_columns:
        return matrix.astype(jnp.float32).ravel()
    return matrix.astype(jnp.float32)[np.tril_indices(num_rows)]


def gradient_by_distinct(gradient: Array) -> Array:
    """The derivative by the distinct elements of a matrix, shape (E,), from that by all.

    Those off the diagonal of a symmetric matrix are there twice.
    """
    num_rows, num_columns = gradient.shape
    times = 2.0 - jnp.eye(num_rows) if num_rows == num_columns else 1.0
    return distinct_elements(gradient * times)


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
