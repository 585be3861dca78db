"""Posterior draws: probabilities of structures, summaries, predictions, and the way to ArviZ."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray
from numpyro import handlers
from numpyro.infer.gibbs import prototype_trace
from numpyro.infer.util import log_density
from threadpoolctl import threadpool_limits

from structbo.arrays import FloatArray
from structbo.arviz_export import arviz_groups
from structbo.diagnostics import (
    Pairs,
    Probabilities,
    Structures,
    indicator_probabilities,
    symmetric,
)
from structbo.effects import Effect, effects
from structbo.inference import Data, condition
from structbo.models import ConditionedGP
from structbo.models.edges import Adjacency
from structbo.models.mixtures import Family
from structbo.models.partitions import Partition
from structbo.observations import checked_data, checked_points
from structbo.prior import prior_draws
from structbo.samplers.family_gibbs import family_sites
from structbo.samplers.structure_block import sites_with_support
from structbo.summary import summary_table

if TYPE_CHECKING:
    import pandas as pd

Model = Callable[..., Any]
Values = TypeVar("Values")


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws from the posterior of a model, and the data that they are conditioned on.

    Args:
        model: a NumPyro model, ``model(X, y=None, mask=None)``, whose observed site ``y`` is a
            `MarginalGP`.
        X: points of the unit cube, shape (n, D). Without any, the posterior is the prior.
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
        edges, (rows, columns) = self.edges()
        return symmetric(indicator_probabilities(edges), rows, columns, len(self.names))

    def together_probabilities(self) -> Probabilities:
        """Posterior probability that two dimensions share a component, shape (D, D).

        Whatever the structure: an edge, a block, an active set. With a projection the dimensions
        are its directions. The residual is not counted.
        """
        together, pairs = self.structures.pairs_together()
        return symmetric(indicator_probabilities(together), *pairs, len(self.directions))

    def active_probabilities(self) -> Probabilities:
        """Posterior probability that a dimension is in some component, shape (D,)."""
        return indicator_probabilities(self.structures.active)

    def family_probabilities(self) -> dict[str, tuple[float, float]]:
        """Posterior probability of every family of a mixture, with its Monte Carlo error.

        Raises:
            ValueError: if the model's structure is no mixture.
        """
        families = self.families
        if families is None:
            raise ValueError("the model has no site of families: its structure is no mixture.")
        site, names = families
        found = indicator_probabilities(self.draws[site][..., None] == np.arange(len(names)))
        return {name: (float(p), float(e)) for name, p, e in zip(names, *found, strict=True)}

    @cached_property
    def structures(self) -> Structures:
        """What the components of every draw have in common, whatever structure they are of."""
        found = self.map_draws(
            lambda gp, _: Structures.of(gp.covariance), data=_no_data(len(self.names))
        )
        return Structures(*(v.reshape(self.num_chains, -1, *v.shape[1:]) for v in found))

    @property
    def directions(self) -> tuple[str, ...]:
        """Names of what components are functions of: the D dimensions, or fewer projections."""
        size = self.structures.together.shape[-1]
        return self.names if size == len(self.names) else tuple(f"z{d}" for d in range(size))

    @cached_property
    def log_density(self) -> FloatArray:
        """Joint log density of the latent sites and the observations, shape (chains, draws)."""
        X, y, mask = self._data

        def one(draw: dict[str, Array]) -> Array:
            return log_density(handlers.seed(self.model, 0), (X, y), {"mask": mask}, draw)[0]

        with jax.enable_x64(True), threadpool_limits(1, "blas"):
            return np.asarray(jax.lax.map(one, self._flat)).reshape(self.num_chains, -1)

    def prior(self, *, num_draws: int = 1000, seed: int = 0) -> "Posterior":
        """The same model without observations: what was believed before, by the same methods.

        Args:
            num_draws: how many draws to try; those outside the structure's hard bounds, where the
                likelihood is zero, are left out.
            seed: of the draws.

        Raises:
            ValueError: if all draws are outside of the bounds.

        Example:
            >>> from structbo.models import AdditiveGP, edges
            >>> draws = {"Z": np.ones((1, 2, 2, 2)) - np.eye(2), "lengthscale": np.ones((1, 2, 2))}
            >>> draws |= {"outputscale": np.ones((1, 2)), "noise": np.ones((1, 2))}
            >>> posterior = Posterior(AdditiveGP(edges(0.25)), [[0.1, 0.2]], [0.3], draws)
            >>> prior = posterior.prior().edge_probabilities().mean[0, 1]
            >>> bool(abs(prior - 0.25) < 0.06), float(posterior.edge_probabilities().mean[0, 1])
            (True, 1.0)
        """
        values = prior_draws(self.model, np.zeros((1, len(self.names))), seed, num_draws)
        if values["y"].shape[1] == 0:
            raise ValueError(
                f"all {num_draws} prior draws are outside of the structure's hard bounds: raise "
                "num_draws, or make the prior sparser."
            )
        return self.without_data(values)

    def without_data(self, draws: dict[str, NDArray[Any]]) -> "Posterior":
        """Draws of the latent sites that are conditioned on nothing."""
        latent = {name: value for name, value in draws.items() if name != "y"}
        return replace(self, X=self.X[:0], y=self.y[:0], draws=latent, sample_stats={})

    def summary(self) -> "pd.DataFrame":
        """ArviZ's table of means, intervals, Monte Carlo errors, effective sizes and R-hat.

        Edges are listed once, as ``Z[a,b]``, with the Monte Carlo error of `edge_probabilities`.
        The labels of a partition mean nothing one by one: instead of them, ``together[a,b]`` tells
        whether two dimensions are in the same block. So it does for the structures of a mixture,
        whose families are listed by name.
        A quantity that never moved, which ArviZ has no R-hat for, gets R-hat 1 and the smallest
        effective sample size of those that did, at most the number of draws. With one chain
        R-hat is NaN; where every chain is still and they disagree, it is infinite.
        """
        return summary_table(self)

    def predict(self, x: ArrayLike, *, max_draws: int = 64) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the function, averaged over draws by the law of total variance.

        Args:
            x: points of the unit cube, shape (m, D).
            max_draws: how many draws to average over; more are thinned evenly.

        Returns:
            Two arrays of shape (m,), on the scale of y.
        """
        points = checked_points("x", x, len(self.names))
        found = self.map_draws(lambda gp, _: gp.predict(jnp.asarray(points)), max_draws=max_draws)
        means, variances = (np.asarray(value) for value in found)
        return means.mean(0), variances.mean(0) + means.var(0)

    def effect(
        self, names: str | Sequence[str], *, num_points: int = 33, max_draws: int = 64
    ) -> Effect:
        """The average of the function over all parameters but one or two.

        The others are uniform on the unit cube, as in the functional analysis of variance; so
        effects do not depend on how the components share what they have in common, which no data
        can tell. Categorical parameters are averaged over the levels that were observed.

        Args:
            names: of the one or two parameters.
            num_points: per parameter; a categorical one has its observed levels.
            max_draws: how many draws to average over; more are thinned evenly.

        Returns:
            The mean and the deviation, averaged over draws by the law of total variance.

        Raises:
            ValueError: if a name is unknown or the model has a projection.
        """
        which = (names,) if isinstance(names, str) else tuple(names)
        return effects(self, (which,), num_points, max_draws)[0]

    def main_effects(self, *, num_points: int = 33, max_draws: int = 64) -> tuple[Effect, ...]:
        """The `effect` of every parameter, all in one pass over the draws."""
        return effects(self, [(name,) for name in self.names], num_points, max_draws)

    def to_arviz(self, *, num_prior_draws: int = 500, seed: int = 0) -> Any:
        """All that ArviZ works with, in one object.

        The groups are posterior, sample_stats, log_likelihood, posterior_predictive, prior,
        prior_predictive and observed_data. Sites of shape (D,) and (D, D) have the dimensions
        ``dim`` and ``dim_other``, with the names as coordinates. What `structures` tells of every
        draw is among the variables of posterior and prior, as ``structure_treewidth`` and so on;
        ``structure_together`` lists every pair of dimensions once, with the coordinate ``pair``.
        `log_density` is in sample_stats, as ``lp``.

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
        return arviz_groups(self, num_prior_draws, seed)

    def map_draws(
        self,
        function: Callable[[ConditionedGP, Array], Values],
        *,
        max_draws: int | None = None,
        key: Array | None = None,
        data: Data | None = None,
    ) -> Values:
        """Applies a function of the conditioned process to the draws, one after the other.

        One at a time because the factors of all of them together may not fit into memory.

        Args:
            function: maps a process and a random key to arrays; traceable.
            max_draws: to how many draws; more are thinned evenly. Default: all.
            key: a JAX random key.
            data: what to condition on, by default the observations.

        Returns:
            What the function returns, with the draws along the first axis.
        """
        size = self.num_draws if max_draws is None else min(max_draws, self.num_draws)
        kept = np.linspace(0, self.num_draws - 1, size).astype(int)
        data = self._data if data is None else data

        def one(draw_and_key: tuple[dict[str, Array], Array]) -> Values:
            draw, draw_key = draw_and_key
            batch = condition(self.model, jax.tree.map(lambda v: v[None], draw), data)
            return function(jax.tree.map(lambda v: v[0], batch), draw_key)

        with jax.enable_x64(True), threadpool_limits(1, "blas"):
            keys = jax.random.split(jax.random.key(0) if key is None else key, len(kept))
            draws = {name: value[kept] for name, value in self._flat.items()}
            found: Values = jax.tree.map(np.asarray, jax.lax.map(one, (draws, keys)))
            return found

    @property
    def _flat(self) -> dict[str, NDArray[Any]]:
        """The draws of all chains one after the other."""
        return {name: value.reshape(-1, *value.shape[2:]) for name, value in self.draws.items()}

    @property
    def _data(self) -> Data:
        if self.y.size == 0:
            return _no_data(len(self.names))
        return Data(self.X, self.y, np.ones(len(self.y), bool))

    @cached_property
    def trace(self) -> dict[str, Any]:
        """One run of the model, for what is the same in all draws."""
        points = _no_data(len(self.names)).x
        with jax.enable_x64(True), threadpool_limits(1, "blas"):
            found: dict[str, Any] = prototype_trace(self.model, jax.random.key(0), (points,), None)
            return found

    @property
    def edge_sites(self) -> Sequence[str]:
        """Names of the sites of edge matrices."""
        return sites_with_support(Adjacency)(self.trace)

    @property
    def partition_sites(self) -> Sequence[str]:
        """Names of the sites of partitions."""
        return sites_with_support(Partition)(self.trace)

    @property
    def families(self) -> tuple[str, tuple[str, ...]] | None:
        """The site of the family of a mixture, and the names of all families."""
        sites = sites_with_support(Family)(self.trace)
        return (sites[0], self.trace[sites[0]]["fn"].names) if sites else None

    @property
    def hidden_sites(self) -> set[str]:
        """Sites that mean nothing one by one: labels, and structures of a mixture's families."""
        return {*self.partition_sites, *family_sites(self.trace)}

    def edges(self) -> tuple[NDArray[Any], Pairs]:
        """Draws of the edges above the diagonal, (chains, draws, E), and their row and column."""
        sites = self.edge_sites
        if set(sites) & set(family_sites(self.trace)):
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


def _no_data(num_dims: int) -> Data:
    """One row of padding."""
    return Data(np.zeros((1, num_dims)), np.zeros(1), np.zeros(1, bool))
