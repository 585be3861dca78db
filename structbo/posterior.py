"""Posterior draws: probabilities of structures, summaries, predictions, and the way to ArviZ."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray
from numpyro import handlers
from numpyro.infer.gibbs import prototype_trace
from threadpoolctl import threadpool_limits

from structbo.diagnostics import Probabilities, Structures, indicator_probabilities, symmetric
from structbo.inference import Data, condition
from structbo.models import ConditionedGP
from structbo.models.edges import Adjacency
from structbo.models.marginal import LOG_2PI, safe_cholesky, solve_lower
from structbo.models.mixtures import Family
from structbo.models.partitions import Partition
from structbo.samplers.family_gibbs import family_sites
from structbo.samplers.structure_block import sites_with_support

if TYPE_CHECKING:
    import pandas as pd

Model = Callable[..., Any]
FloatArray = NDArray[np.float64]
Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws from the posterior of a model, and the data that they are conditioned on.

    Args:
        model: a NumPyro model, ``model(X, y=None, mask=None)``, whose observed site ``y`` is a
            `MarginalGP`.
        X: points of the unit cube, shape (n, D).
        y: observations, on the scale that the model saw, shape (n,).
        draws: values of all latent sites, each of shape (chains, draws, ...).
        sample_stats: statistics of the sampler, each of shape (chains, draws, ...).
        names: of the D dimensions; by default x0, x1, ...

    Raises:
        ValueError: if shapes do not match, X leaves the unit cube, or a value is not finite.
    """

    model: Model
    X: FloatArray
    y: FloatArray
    draws: dict[str, NDArray[Any]]
    sample_stats: dict[str, NDArray[Any]] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        X, y = checked_data(self.X, self.y)
        names = tuple(self.names) or tuple(f"x{d}" for d in range(X.shape[1]))
        if len(names) != X.shape[1] or len(set(names)) != len(names):
            raise ValueError(f"names must be {X.shape[1]} different names, got {names}.")
        draws = {name: np.asarray(value) for name, value in self.draws.items()}
        if len({value.shape[:2] for value in draws.values()}) != 1:
            shapes = {name: value.shape for name, value in draws.items()}
            raise ValueError(f"every site in draws must have shape (chains, draws, ...): {shapes}.")
        for name, value in (("X", X), ("y", y), ("draws", draws), ("names", names)):
            object.__setattr__(self, name, value)

    @property
    def num_chains(self) -> int:
        """How many Markov chains there are."""
        return int(next(iter(self.draws.values())).shape[0])

    @property
    def num_draws(self) -> int:
        """How many draws there are in all chains together."""
        chains, draws = next(iter(self.draws.values())).shape[:2]
        return int(chains * draws)

    def edge_probabilities(self) -> Probabilities:
        """Posterior probability of every edge, with Monte Carlo errors, shape (D, D).

        Raises:
            ValueError: if the model has no site, or several sites, of edge matrices, or is a
                mixture, where these follow their prior in all draws of other families.
        """
        edges, (rows, columns) = self._edges()
        return symmetric(indicator_probabilities(edges), rows, columns, len(self.names))

    def together_probabilities(self) -> Probabilities:
        """Posterior probability that two dimensions share a component, shape (D, D).

        Whatever the structure: an edge, a block, an active set. With a projection the dimensions
        are its directions. The residual is not counted.
        """
        together = self.structures.together
        rows, columns = np.triu_indices(together.shape[-1], 1)
        found = indicator_probabilities(together[:, :, rows, columns])
        return symmetric(found, rows, columns, together.shape[-1])

    def active_probabilities(self) -> Probabilities:
        """Posterior probability that a dimension is in some component, shape (D,)."""
        return indicator_probabilities(self.structures.active)

    def family_probabilities(self) -> dict[str, tuple[float, float]]:
        """Posterior probability of every family of a mixture, with its Monte Carlo error.

        Raises:
            ValueError: if the model's structure is no mixture.
        """
        families = self._families()
        if families is None:
            raise ValueError("the model has no site of families: its structure is no mixture.")
        site, names = families
        found = indicator_probabilities(self.draws[site][..., None] == np.arange(len(names)))
        return {name: (float(p), float(e)) for name, p, e in zip(names, *found, strict=True)}

    @cached_property
    def structures(self) -> Structures:
        """What the components of every draw have in common, whatever structure they are of."""
        first = Data(self.X[:1], self.y[:1], np.ones(1, bool))
        with jax.enable_x64(True), threadpool_limits(1, "blas"):

            def one(draw: dict[str, Array]) -> Structures:
                batch = condition(self.model, jax.tree.map(lambda v: v[None], draw), first)
                return Structures.of(jax.tree.map(lambda v: v[0], batch.covariance))

            flat = {name: v.reshape(-1, *v.shape[2:]) for name, v in self.draws.items()}
            found = jax.jit(lambda draws: jax.lax.map(one, draws))(flat)
            shape = (self.num_chains, -1)
            return jax.tree.map(lambda v: np.asarray(v).reshape(*shape, *v.shape[1:]), found)

    def summary(self) -> "pd.DataFrame":
        """ArviZ's table of means, intervals, Monte Carlo errors, effective sizes and R-hat.

        Edges are listed once, as ``Z[a,b]``, with the Monte Carlo error of `edge_probabilities`.
        The labels of a partition mean nothing one by one: instead of them, ``together[a,b]`` tells
        whether two dimensions are in the same block. So it does for the structures of a mixture,
        whose families are listed by name.
        A quantity that never moved, which ArviZ has no R-hat for, gets R-hat 1 and the smallest
        effective sample size of those that did, at most the number of draws. With one chain
        R-hat is NaN.
        """
        import arviz as az

        sites, coords = dict(self.draws), self._coords()
        indicators: dict[str, tuple[NDArray[Any], Pairs]] = {}
        errors: dict[str, float] = {}
        hidden = {*self._partition_sites, *family_sites(self._trace)}
        if len(self._edge_sites) == 1 and not hidden.issuperset(self._edge_sites):
            indicators[self._edge_sites[0]] = self._edges()
        if hidden:
            together = np.asarray(self.structures.together)
            pairs = np.triu_indices(together.shape[-1], 1)
            indicators["together"] = together[:, :, pairs[0], pairs[1]], pairs
            sites = {site: value for site, value in sites.items() if site not in hidden}
        dims = self._dims(sites)
        families = self._families()
        if families is not None:
            site, names = families
            is_family = self.draws[site][..., None] == np.arange(len(names))
            sites[site], dims[site], coords["family_name"] = is_family, ["family_name"], list(names)
        for name, (draws, pairs) in indicators.items():
            labels = [f"{self.names[a]},{self.names[b]}" for a, b in zip(*pairs, strict=True)]
            dim = f"{name}_pair"
            sites[name], dims[name], coords[dim] = draws, [dim], labels
            mcse = indicator_probabilities(draws).mcse
            errors |= {f"{name}[{label}]": e for label, e in zip(labels, mcse, strict=True)}
        data = _to_arviz({"posterior": sites}, dims, coords)
        with np.errstate(divide="ignore", invalid="ignore"):
            table: pd.DataFrame = az.summary(data, round_to="none").astype(float)
        table.loc[list(errors), "mcse_mean"] = list(errors.values())
        still = table["sd"] <= 1e-12 * table["mean"].abs()
        for size in ("ess_bulk", "ess_tail"):
            table.loc[still, size] = table.loc[~still, size].to_numpy().min(initial=self.num_draws)
        table.loc[still, "mcse_sd"] = 0.0
        table.loc[still, "r_hat"] = 1.0
        return table

    def predict(self, x: ArrayLike, *, max_draws: int = 64) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the function, averaged over draws by the law of total variance.

        Args:
            x: points of the unit cube, shape (m, D).
            max_draws: how many draws to average over; more are thinned evenly.

        Returns:
            Two arrays of shape (m,), on the scale of y.
        """
        points = _checked_points("x", x)
        if points.shape[1] != len(self.names):
            raise ValueError(f"x must have {len(self.names)} columns, got {points.shape[1]}.")
        kept = np.linspace(0, self.num_draws - 1, min(max_draws, self.num_draws)).astype(int)
        with jax.enable_x64(True), threadpool_limits(1, "blas"):
            means, variances = self._map(lambda gp, _: gp.predict(jnp.asarray(points)), kept)
        return means.mean(0), variances.mean(0) + means.var(0)

    def to_arviz(self, *, num_prior_draws: int = 500, seed: int = 0) -> Any:
        """All that ArviZ works with, in one object.

        The groups are posterior, sample_stats, log_likelihood, posterior_predictive, prior,
        prior_predictive and observed_data. Sites of shape (D,) and (D, D) have the dimensions
        ``dim`` and ``dim_other``, with the names as coordinates. What `structures` tells of every
        draw is among the posterior's variables, as ``structure_together`` and so on.

        The observations are dependent, so ``log_likelihood`` holds the leave-one-out densities
        ``log p(y_i | y_-i, theta)``, which `arviz.loo` needs. Posterior predictive observations
        repeat the evaluations of the *same* function at X: one repetition per draw. Prior draws
        outside the structure's hard bounds, where the likelihood is zero, are left out.

        Args:
            num_prior_draws: how many draws from the prior to try.
            seed: of the draws from the prior and of the predictive observations.

        Returns:
            An `arviz.InferenceData` (ArviZ 0.23) or an `xarray.DataTree` (ArviZ 1).

        References:
            Rasmussen and Williams 2006, eq. (5.10)-(5.12); Buerkner, Gabry and Vehtari 2021,
            "Efficient leave-one-out cross-validation for Bayesian non-factorized normal and
            Student-t models".
        """
        with jax.enable_x64(True), threadpool_limits(1, "blas"):
            key_prior, key_predictive = jax.random.split(jax.random.key(seed))
            prior = _prior_draws(self.model, self.X, key_prior, num_prior_draws)
            y = jnp.asarray(self.y)

            def pointwise(gp: ConditionedGP, key: Array) -> tuple[Array, Array]:
                return _leave_one_out(gp, y), _replicate(gp, y, key)

            log_likelihood, replicated = (
                values.reshape(self.num_chains, -1, len(self.y))
                for values in self._map(pointwise, np.arange(self.num_draws), key_predictive)
            )
        structures = {
            f"structure_{name}": value for name, value in self.structures._asdict().items()
        }
        groups = {
            "posterior": self.draws | structures,
            "sample_stats": self.sample_stats,
            "log_likelihood": {"y": log_likelihood},
            "posterior_predictive": {"y": replicated},
            "prior": {name: value for name, value in prior.items() if name != "y"},
            "prior_predictive": {"y": prior["y"]},
            "observed_data": {"y": self.y},
        }
        return _to_arviz(groups, self._dims(self.draws | structures), self._coords())

    def _map(
        self,
        function: Callable[[ConditionedGP, Array], tuple[Array, Array]],
        kept: NDArray[np.intp],
        key: Array | None = None,
    ) -> Iterator[FloatArray]:
        """Applies a function of the conditioned process to some draws, one after the other.

        One at a time because the factors of all of them together may not fit into memory.
        """
        data = Data(self.X, self.y, np.ones(len(self.y), bool))
        flat = {
            name: value.reshape(-1, *value.shape[2:])[kept] for name, value in self.draws.items()
        }
        keys = jax.random.split(jax.random.key(0) if key is None else key, len(kept))

        def one(draw_and_key: tuple[dict[str, Array], Array]) -> tuple[Array, Array]:
            draw, draw_key = draw_and_key
            batch = condition(self.model, jax.tree.map(lambda v: v[None], draw), data)
            return function(jax.tree.map(lambda v: v[0], batch), draw_key)

        return map(np.asarray, jax.lax.map(one, (flat, keys)))

    @cached_property
    def _trace(self) -> Any:
        with jax.enable_x64(True), threadpool_limits(1, "blas"):
            return prototype_trace(self.model, jax.random.key(0), (self.X[:1],), None)

    @property
    def _edge_sites(self) -> Sequence[str]:
        return sites_with_support(Adjacency)(self._trace)

    @property
    def _partition_sites(self) -> Sequence[str]:
        return sites_with_support(Partition)(self._trace)

    def _families(self) -> tuple[str, tuple[str, ...]] | None:
        """The site of the family of a mixture, and the names of all families."""
        sites = sites_with_support(Family)(self._trace)
        return (sites[0], self._trace[sites[0]]["fn"].names) if sites else None

    def _edges(self) -> tuple[NDArray[Any], Pairs]:
        """Draws of the edges above the diagonal, (chains, draws, E), and their row and column."""
        sites = self._edge_sites
        if set(sites) & set(family_sites(self._trace)):
            raise ValueError(
                f"the edges {list(sites)} are those of one family of a mixture, and follow their "
                "prior in draws of the others: use together_probabilities."
            )
        if len(sites) != 1:
            raise ValueError(
                f"the model must have exactly one site of edge matrices, it has {list(sites)}; "
                "use draws for the values of all sites."
            )
        rows, columns = np.triu_indices(len(self.names), 1)
        return self.draws[sites[0]][:, :, rows, columns], (rows, columns)

    def _dims(self, sites: Mapping[str, NDArray[Any]]) -> dict[str, list[str]]:
        size = len(self.names)
        named = {(size,): ["dim"], (size, size): ["dim", "dim_other"]}
        shapes = {name: value.shape[2:] for name, value in sites.items()}
        known = {name: named[shape] for name, shape in shapes.items() if shape in named}
        return {**known, "y": ["observation"]}

    def _coords(self) -> dict[str, list[str]]:
        return {"dim": list(self.names), "dim_other": list(self.names)}


def _leave_one_out(gp: ConditionedGP, y: Array) -> Array:
    """``log p(y_i | y_-i)`` of every observation, shape (n,)."""
    whitener = solve_lower(gp.cholesky, jnp.eye(y.shape[0], dtype=y.dtype))
    precision = jnp.square(whitener).sum(0)
    return 0.5 * (jnp.log(precision) - LOG_2PI - jnp.square(gp.alpha) / precision)


def _replicate(gp: ConditionedGP, y: Array, key: Array) -> Array:
    """New observations of the same function at the same points, shape (n,)."""
    identity = jnp.eye(y.shape[0], dtype=y.dtype)
    covariance = gp.covariance_between(gp.x, gp.x) + gp.noise * identity
    white = jax.random.normal(key, y.shape, y.dtype)
    return y - gp.noise * gp.alpha + safe_cholesky(covariance) @ white


def _prior_draws(
    model: Model, X: FloatArray, key: Array, num_draws: int
) -> dict[str, NDArray[Any]]:
    """Draws of all sites from the prior inside its hard bounds, shapes (1, draws, ...)."""

    def one(key: Array) -> tuple[dict[str, Array], Array]:
        trace = handlers.trace(handlers.seed(model, key)).get_trace(jnp.asarray(X))
        values = {
            name: jnp.asarray(site["value"])
            for name, site in trace.items()
            if site["type"] in ("sample", "deterministic")
        }
        return values, trace["y"]["fn"].covariance.decomposition.is_inside

    values, inside = jax.lax.map(one, jax.random.split(key, num_draws))
    return {name: np.asarray(value)[None, np.asarray(inside)] for name, value in values.items()}


def _to_arviz(
    groups: Mapping[str, Mapping[str, Any]],
    dims: Mapping[str, Sequence[str]],
    coords: Mapping[str, Sequence[str]],
) -> Any:
    """Builds ArviZ's container: nested groups in ArviZ 1, keyword arguments before."""
    import arviz as az

    filled: dict[str, Any] = {name: dict(group) for name, group in groups.items() if group}
    if int(az.__version__.partition(".")[0]) >= 1:
        return az.from_dict(filled, dims=dims, coords=coords)
    return az.from_dict(**filled, dims=dims, coords=coords)


def _checked_points(name: str, points: ArrayLike) -> FloatArray:
    array = np.asarray(points, float)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} must have shape (n, D), got {array.shape}.")
    bad = ~((array >= 0.0) & (array <= 1.0))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{name} must lie in the unit cube, got {name}[{row}, {column}] = "
            f"{array[row, column]}; map points with Space.to_unit first."
        )
    return array


def checked_data(X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    points, values = _checked_points("X", X), np.asarray(y, float)
    if values.shape != points.shape[:1] or values.size == 0:
        raise ValueError(
            f"y must have one value per row of X, at least one: X has shape {points.shape}, "
            f"y has shape {values.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(f"y must be finite, got y[{bad[0]}] = {values[bad[0]]}; drop failed runs.")
    return points, values
