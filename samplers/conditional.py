"""The log density of a model as a function of one structure site, everything else held fixed.

Every structure sampler moves through this one engine. Where the likelihood is a `MarginalGP` a move
re-runs only the structure part of the model, adds and subtracts the products of the components that
changed, and takes one Cholesky. Where it is not, the full log density is evaluated. A scale of the
likelihood, as `numpyro.handlers.scale` gives it, multiplies its logarithm.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from numpyro import handlers

from structbo.models.decomposition import Decomposition
from structbo.models.gp import MarginalGP
from structbo.models.gram import component_product
from structbo.models.marginal import log_marginal

Trace = dict[str, dict[str, Any]]


class Point(NamedTuple):
    """A value of the site, and what a move away from it needs.

    Args:
        value: of the structure site.
        log_density: log joint density of the model.
        gram: weighted sum of component products before normalization, shape (n, n).
        total: sum of the relative weights, a scalar.
        num_components: how many components there are.
    """

    value: Array
    log_density: Array
    gram: Array
    total: Array
    num_components: Array


class Conditional:
    """Evaluates a model at values of one of its sites.

    Args:
        model: a NumPyro model whose other latent sites are conditioned on.
        site: the name of the structure site.
        value: its current value.
        args: arguments of the model.
        kwargs: keyword arguments of the model.
        power: of the likelihood, a `MarginalGP` where it is not 1, on top of the site's own scale;
            zero leaves the prior.
    """

    def __init__(
        self,
        model: Callable[..., Any],
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
        self._likelihood_site = marginal_gp_site(trace)
        if self._likelihood_site is not None:
            likelihood: MarginalGP = trace[self._likelihood_site]["fn"]
            self.likelihood = likelihood
            scale = trace[self._likelihood_site]["scale"]
            self.power = power if scale is None else power * scale
            self.y: Array = trace[self._likelihood_site]["value"]
            covariance = likelihood.covariance
            self.covariance = covariance
            self.factors = covariance.factors(likelihood.x, likelihood.x)
            residual = covariance.residual_gram(likelihood.x, likelihood.x)
            self._fixed = likelihood.with_noise(
                jnp.zeros_like(self.factors[0]) if residual is None else residual
            )

    @property
    def is_incremental(self) -> bool:
        """Whether the likelihood is a `MarginalGP`, so that moves touch only what changes."""
        return self._likelihood_site is not None

    def log_density(self, value: Array) -> Array:
        """Log joint density of the model at a value, from scratch."""
        return trace_log_density(self._run(value))

    def covariance_matrix(self, point: Point) -> Array:
        """Covariance of the observations at a point, shape (n, n)."""
        return self._fixed + self.covariance.shared_variance / point.total * point.gram

    def start(self, value: Array) -> Point:
        """Evaluates a value from scratch."""
        if not self.is_incremental:
            none = jnp.zeros(())
            return Point(value, self.log_density(value), none, none, none)
        trace = self._run(value)
        decomposition = self._decomposition(trace)
        inside = decomposition.is_inside
        nothing = (jnp.zeros_like(self._fixed), jnp.array(0.0), jnp.array(0), inside)
        state = decomposition.fold(self._visit(decomposition), nothing)
        return self._point(value, trace, state)

    def move(self, point: Point, value: Array) -> Point:
        """Evaluates a value near a point that is already evaluated."""
        if not self.is_incremental:
            return self.start(value)
        trace = self._run(value)
        old, new = self.decomposition(point.value), self._decomposition(trace)
        # With a flip rule the size and the number of components are checked on what changes: the
        # table, which may take long to list, is not needed.
        inside = new.is_inside if new.flip_rule is None else new.valid
        state = (point.gram, point.total, point.num_components, inside)
        return self._point(value, trace, old.fold_changes(new, self._visit(new), state))

    def decomposition(self, value: Array) -> Decomposition:
        """The components at a value of the site."""
        return self._decomposition(self._run(value))

    def _decomposition(self, trace: Trace) -> Decomposition:
        likelihood: MarginalGP = trace[self._likelihood_site or ""]["fn"]
        return likelihood.covariance.decomposition

    def _visit(self, decomposition: Decomposition) -> Callable[..., Any]:
        def visit(
            state: tuple[Array, Array, Array, Array], sign: Array, members: Array, weight: Array
        ) -> tuple[Array, Array, Array, Array]:
            gram, total, count, inside = state
            weight = sign * self.covariance.relative_weight(members, weight)
            if decomposition.max_size is not None:
                inside &= (sign < 0) | (members.sum() <= decomposition.max_size)
            gram = gram + weight * component_product(self.factors, members)
            return gram, total + weight, count + sign.astype(count.dtype), inside

        return visit

    def _point(self, value: Array, trace: Trace, state: tuple[Array, Array, Array, Array]) -> Point:
        gram, total, count, inside = state
        point = Point(value, jnp.array(0.0), gram, total, count)
        capacity = self._decomposition(trace).members.shape[0]
        marginal = log_marginal(self.covariance_matrix(point), self.y, self.likelihood.rows)
        inside &= count <= capacity
        rest = trace_log_density({k: s for k, s in trace.items() if k != self._likelihood_site})
        evidence = self.power * jnp.where(inside, marginal, -jnp.inf)
        return point._replace(log_density=jnp.where(self.power == 0, 0.0, evidence) + rest)


def log_gain(new: Point, old: Point) -> Array:
    """Log ratio of two densities; where both are zero, the smaller structure is better.

    So a chain that starts outside the bounds of its structure walks towards the empty one, of no
    edges or of no active variables.
    """
    both_outside = jnp.isneginf(new.log_density) & jnp.isneginf(old.log_density)
    towards_empty = jnp.where(new.value.sum() < old.value.sum(), jnp.inf, -jnp.inf)
    return jnp.where(both_outside, towards_empty, new.log_density - old.log_density)


def choose(accept: Array, new: Point, old: Point) -> Point:
    """One of two points."""
    return jax.tree.map(lambda a, b: jnp.where(accept, a, b), new, old)


def marginal_gp_site(trace: Trace) -> str | None:
    """The name of the one observed site that is a `MarginalGP`; None if there is none."""
    sites = [
        name
        for name, site in trace.items()
        if site["type"] == "sample" and site["is_observed"] and isinstance(site["fn"], MarginalGP)
    ]
    return sites[0] if len(sites) == 1 else None


def trace_log_density(trace: Trace) -> Array:
    """Log density of all sample sites of a trace, each multiplied by its scale."""
    total = jnp.array(0.0)
    for site in trace.values():
        if site["type"] == "sample":
            log_prob = jnp.sum(site["fn"].log_prob(site["value"]))
            total += log_prob if site["scale"] is None else site["scale"] * log_prob
    return total
