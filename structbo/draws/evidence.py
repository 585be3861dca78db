"""The evidence of one structure by maximum likelihood and BIC, after Gardner et al. 2017.

The hyper-parameters of every structure are maximized, and their number is penalized. The samplers
of this library integrate over hyper-parameters instead.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from jax.typing import ArrayLike
from jaxtyping import Float
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.util import compute_log_probs

from structbo.data import Data, checked_data
from structbo.models.foundation.arguments import checked_count
from structbo.models.foundation.compilation import remembered
from structbo.models.foundation.precision import double_precision
from structbo.models.foundation.program import Program
from structbo.models.foundation.upstream import latent_sample_sites
from structbo.models.likelihood import Model
from structbo.models.prototype import prior_trace

REACH = 10.0
"""Bound on the change of an unconstrained parameter: a factor of e^10 for a positive one.

Without the bound, a maximum may not exist: noise goes to zero, lengthscales to infinity.
"""
NUM_PRIOR_DRAWS = 101

Flat = Float[np.ndarray, " P"]
"""The unconstrained values of all P free parameters."""


class Fit(NamedTuple):
    """A model with one structure and maximized hyper-parameters.

    Args:
        values: values at all sites, structure sites included.
        log_likelihood: log likelihood of the values; minus infinity for a structure out of bounds.
        log_prior: log prior density of the given sites.
        num_parameters: number of maximized parameters.
        num_observations: number of observations.
        num_evaluations: number of evaluations of the likelihood.
    """

    values: dict[str, Array]
    log_likelihood: float
    log_prior: float
    num_parameters: int
    num_observations: int
    num_evaluations: int

    @property
    def log_evidence(self) -> float:
        """``-BIC / 2``, an approximation of the structure's log marginal likelihood."""
        return self.log_likelihood - 0.5 * self.num_parameters * math.log(self.num_observations)

    @property
    def bic(self) -> float:
        """Bayesian information criterion; smaller is better."""
        return -2.0 * self.log_evidence


def maximum_likelihood(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    structure: Mapping[str, ArrayLike],
    *,
    with_priors: bool = False,
    num_starts: int = 1,
    start: Mapping[str, ArrayLike] | None = None,
    max_evaluations: int = 15_000,
) -> Fit:
    """Maximizes the likelihood over all sites that are not given, with L-BFGS.

    The likelihood has poor local maxima, such as fitting all values as noise. The search therefore
    starts at prior medians, maximizes the joint density, and then the likelihood. Its result
    depends only on the structure and the data. It compiles once per model and padded data size.

    Args:
        model: a NumPyro model, ``model(X, y=None, mask=None)``. An `AdditiveGP` should have
            independent lengthscales, see `independent_lengthscale`.
        X: points of the unit cube, shape (n, D).
        y: standardized observations, shape (n,).
        structure: values of the given sites, including all discrete sites.
        with_priors: whether to stop at the maximum of the joint density.
        num_starts: number of searches, of which the best counts; all but the first start at prior
            draws. One is enough for lengthscales, but not for free directions.
        start: values of some free sites at which the first search starts in place of prior medians,
            such as a maximum given fewer observations.
        max_evaluations: maximum number of evaluations of one search.

    Returns:
        The values at the best maximum, with their evidence.

    Raises:
        ValueError: if a given site does not exist, a discrete site is missing, a start is not at a
            free site, or the data are invalid.

    References:
        Gardner et al. 2017, eq. (5) and (6).

    Example:
        >>> from structbo.models import AdditiveGP, independent_lengthscale, partitions
        >>> X = np.linspace(0.0, 1.0, 8)[:, None]
        >>> model = AdditiveGP(partitions(), lengthscale=independent_lengthscale)
        >>> fit = maximum_likelihood(model, X, X[:, 0], {"labels": [0]})
        >>> fit.num_parameters, fit.bic < -20.0
        (3, True)
    """
    from scipy.optimize import minimize

    X, y = checked_data(X, y)
    data = Data.padded(X, y)
    with double_precision():
        given = {name: jnp.asarray(value) for name, value in structure.items()}
        problem = _compiled(model, tuple(sorted(given)), X.shape[1])

        def climb(first: Flat, weight: float) -> tuple[Flat, float, int]:
            def objective(flat: Flat) -> tuple[float, Flat]:
                (loss, _), gradient = problem.loss(jnp.asarray(flat), weight, given, data)
                return float(loss), np.asarray(gradient)

            height = objective(first)[0]
            if not np.isfinite(height) or not first.size:
                return first, height, 1
            bounds = np.stack([middle - REACH, middle + REACH], axis=1)
            found = minimize(
                objective,
                first,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"maxfun": checked_count("max_evaluations", max_evaluations)},
            )
            return found.x, float(found.fun), 1 + int(found.nfev)

        middle = problem.at({})
        starts = [problem.at(start or {}), *map(problem.draw, range(1, num_starts))]
        climbs = [climb(np.clip(x, middle - REACH, middle + REACH), 1.0) for x in starts]
        if not with_priors:
            climbs += [climb(best, 0.0) for best, _, _ in climbs]
        num_evaluations = sum(count for _, _, count in climbs)
        best, _, _ = min(climbs[-num_starts:], key=lambda climb: climb[1])
        (_, (likelihood, prior)), _ = problem.loss(jnp.asarray(best), 0.0, given, data)
        values = problem.constrain(jnp.asarray(best)) | given
    return Fit(values, float(likelihood), float(prior), best.size, len(y), num_evaluations)


class _Problem(NamedTuple):
    """A loss of a flat vector, and maps from values of sites to vectors and back.

    The vectors are at given values, with prior medians for all others, or at prior draws.
    """

    loss: Callable[..., Any]
    at: Callable[[Mapping[str, ArrayLike]], Flat]
    draw: Callable[[int], Flat]
    constrain: Callable[[Float[Array, " P"]], dict[str, Array]]


@remembered
def _compiled(model: Model, given: tuple[str, ...], num_dims: int) -> _Problem:
    trace = prior_trace(model, num_dims)
    latent = latent_sample_sites(trace)
    if missing := set(given) - set(latent):
        raise ValueError(f"structure has {sorted(missing)}, but the model has the sites {latent}.")
    free = {name: trace[name]["fn"] for name in latent if name not in given}
    if discrete := [name for name, prior in free.items() if prior.support.is_discrete]:
        raise ValueError(f"structure must include all discrete sites: add {discrete}.")
    transforms = {name: biject_to(prior.support) for name, prior in free.items()}
    key_model, key_medians, key_starts = jax.random.split(jax.random.key(0), 3)
    seeded = handlers.seed(model, key_model)
    keys_median, keys_start = (
        dict(zip(free, jax.random.split(key, len(free)), strict=True))
        for key in (key_medians, key_starts)
    )
    medians = {
        name: jnp.median(prior.sample(keys_median[name], (NUM_PRIOR_DRAWS,)), axis=0)
        for name, prior in free.items()
    }
    _, unravel = ravel_pytree({n: transforms[n].inv(value) for n, value in medians.items()})

    def flat_at(values: Mapping[str, ArrayLike]) -> Flat:
        if unknown := set(values) - set(free):
            raise ValueError(f"start has {sorted(unknown)}, but the free sites are {[*free]}.")
        known = {n: jnp.asarray(values.get(n, median), float) for n, median in medians.items()}
        return np.asarray(ravel_pytree({n: transforms[n].inv(v) for n, v in known.items()})[0])

    def draw(k: int) -> Flat:
        return flat_at(
            {n: prior.sample(jax.random.fold_in(keys_start[n], k)) for n, prior in free.items()}
        )

    def constrain(flat: Float[Array, " P"]) -> dict[str, Array]:
        return {name: transforms[name](value) for name, value in unravel(flat).items()}

    def loss(
        flat: Float[Array, " P"], weight: Float[Array, ""], structure: dict[str, Array], data: Data
    ) -> tuple[Float[Array, ""], tuple[Float[Array, ""], Float[Array, ""]]]:
        """The negative sum of the log likelihood and ``weight`` times the log prior."""
        values = constrain(flat) | structure
        log_probs, _ = compute_log_probs(seeded, *data.arguments, values)
        of_given, of_free = (sum(log_probs.pop(s) for s in names) for names in (given, free))
        likelihood = jnp.asarray(sum(log_probs.values()))
        return -likelihood - weight * of_free, (likelihood, jnp.asarray(of_given, float))

    slope = jax.value_and_grad(loss, has_aux=True)
    return _Problem(Program(slope), flat_at, draw, constrain)
