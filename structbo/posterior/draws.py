"""Draws of a model's sites, the data that they are conditioned on, and maps over them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, Key, Shaped, UInt32
from numpy.typing import ArrayLike, NDArray
from numpyro import handlers
from numpyro.infer.util import log_density

from structbo.data import (
    Data,
    checked_data,
    checked_errors,
    column_names,
    evenly_spaced,
    inducing_first,
)
from structbo.draws import Draws, condition, latent_sites, likelihood_of, num_inducing
from structbo.models import AdditiveCovariance, ConditionedGP, MarginalGP, Model
from structbo.models.foundation.accelerator import map_draws
from structbo.models.foundation.arguments import checked_count, checked_model
from structbo.models.foundation.arrays import AnyArray, FloatArray, RandomKey
from structbo.models.foundation.compilation import compiled
from structbo.models.foundation.precision import KeepsPrecision, double_precision
from structbo.models.likelihood import likelihood_site
from structbo.models.prototype import prior_trace
from structbo.models.supports import Adjacency, Family, Partition
from structbo.posterior.structures import Pairs, Structures
from structbo.posterior.units import Units
from structbo.samplers.family_gibbs import family_sites
from structbo.samplers.structure_block import sites_with_support
from structbo.space.differing_names import difference
from structbo.space.long_lists import first_names

Keys = Key[Array, " S"] | UInt32[Array, "S 2"]
"""Keys of S draws, in either style of JAX."""
Values = TypeVar("Values")
UNIT_CUBE: Any = None
"""Stands for the units of the model, which follow from the names."""


@dataclass(frozen=True, eq=False)
class PosteriorDraws(KeepsPrecision):
    """Draws from the posterior of a model, and the data that they are conditioned on.

    `Posterior` documents the arguments and errors, and adds the quantities that follow from draws.
    """

    model: Model
    X: FloatArray
    y: FloatArray
    draws: dict[str, NDArray[Any]]
    sample_stats: dict[str, NDArray[Any]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    units: Units = UNIT_CUBE
    sem: FloatArray | None = None

    def __post_init__(self) -> None:
        checked_model(self.model)
        X, y = checked_data(self.X, self.y)
        sem = checked_errors(self.sem, y)
        names = checked_names(self.names, X.shape[1], column_names(self.X))
        units = Units.of_unit_cube(names) if self.units is UNIT_CUBE else self.units
        if units.space.names != names:
            raise ValueError(
                f"the space of units must have the names {first_names(names)}; "
                f"{difference(units.space.names, names)}."
            )
        if not isinstance(self.draws, Mapping):
            raise TypeError(f"draws must be a dict of arrays by site, got {self.draws!r}.")
        draws = {name: np.asarray(value) for name, value in self.draws.items()}
        if len({value.shape[:2] for value in draws.values()}) != 1:
            shapes = {name: value.shape for name, value in draws.items()}
            raise ValueError(f"every site in draws must have shape (chains, draws, ...): {shapes}.")
        missing = [s for s in latent_sites(self.model, X.shape[1]) if s not in draws]
        if missing:
            raise ValueError(
                f"draws must have all latent sites of the model: {missing} are missing from "
                f"{list(draws)}. Add them, or pass the model that the draws come from."
            )
        checked = {"X": X, "y": y, "draws": draws, "names": names, "units": units, "sem": sem}
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        """The fields only, without cached properties."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def at(cls, model: Model, X: ArrayLike, y: ArrayLike, values: Mapping[str, ArrayLike]) -> Self:
        """A single draw with given values, for example from `maximum_likelihood`.

        Args:
            model: a NumPyro model.
            X: points of the unit cube, shape (n, D).
            y: observations, shape (n,).
            values: values of all latent sites.
        """
        draws = {name: np.asarray(value)[None, None] for name, value in values.items()}
        return cls(model, *checked_data(X, y), draws)

    @property
    def num_chains(self) -> int:
        """The number of Markov chains."""
        return int(next(iter(self.draws.values())).shape[0])

    @property
    def num_draws(self) -> int:
        """The total number of draws in all chains."""
        chains, draws = next(iter(self.draws.values())).shape[:2]
        return int(chains * draws)

    @cached_property
    def structures(self) -> Structures:
        """Properties of the structure of every draw."""
        found = self.map_draws(_structures, data=no_data(len(self.names)))
        return Structures(*(v.reshape(self.num_chains, -1, *v.shape[1:]) for v in found))

    @property
    def directions(self) -> tuple[str, ...]:
        """Names of the coordinates of components: the D dimensions, or the projections."""
        size = self.structures.together.shape[-1]
        return self.names if size == len(self.names) else tuple(f"z{d}" for d in range(size))

    @cached_property
    def log_density(self) -> Float[np.ndarray, "chains draws"]:
        """Joint log density of the latent sites and the observations."""
        with double_precision():
            found = _log_densities(self.model, self._flat, self.data)
        return np.asarray(found).reshape(self.num_chains, -1)

    def without_data(self, draws: dict[str, Shaped[np.ndarray, "chains draws ..."]]) -> Self:
        """The same model with the given draws and no observations."""
        return replace(self, X=self.X[:0], y=self.y[:0], draws=draws, sample_stats={}, sem=None)

    def thinned(self, max_draws: int) -> Self:
        """A subset of at most max_draws draws, evenly spaced, equally many from every chain.

        Args:
            max_draws: maximum over all chains; at least one draw per chain is kept.

        Raises:
            ValueError: if it is not a positive integer.
        """
        length = self.num_draws // self.num_chains
        size = min(length, max(1, checked_count("max_draws", max_draws) // self.num_chains))
        kept = evenly_spaced(length, size)
        stats = {name: value[:, kept] for name, value in self.sample_stats.items()}
        draws = {name: value[:, kept] for name, value in self.draws.items()}
        return replace(self, draws=draws, sample_stats=stats)

    def map_draws(
        self,
        function: Callable[..., Values],
        *arguments: Any,
        max_draws: int | None = None,
        key: RandomKey | None = None,
        data: Data | None = None,
    ) -> Values:
        """Applies a function of the conditioned process to the draws, one at a time.

        The Cholesky factors of all draws together may not fit into memory. The function compiles
        once per model, and shapes of arguments and padded observations; a lambda compiles at every
        call.

        Args:
            function: maps a process, a random key and the arguments to arrays; traceable.
            *arguments: pytrees of arrays.
            max_draws: how many draws to use, evenly thinned. Default: all.
            key: a JAX random key.
            data: observations to condition on, by default the padded ones of the posterior.

        Returns:
            The function's values, with the draws along the first axis.
        """
        size = self.num_draws if max_draws is None else min(max_draws, self.num_draws)
        kept = evenly_spaced(self.num_draws, size)
        data = self.data if data is None else data
        with double_precision():
            keys = jax.random.split(jax.random.key(0) if key is None else key, len(kept))
            draws = {name: value[kept] for name, value in self._flat.items()}
            mapped = _mapped(function, self.model, draws, keys, data, arguments)
            found: Values = jax.tree.map(np.asarray, mapped)
            return found

    def map_observations(
        self,
        function: Callable[[MarginalGP, RandomKey, Float[Array, " m"]], Values],
        *,
        key: RandomKey | None = None,
    ) -> Values:
        """Applies a function of the likelihood and the observations to the draws, one at a time.

        Args:
            function: maps a likelihood, a random key and m padded observations to arrays of shape
                (m,); traceable.
            key: a JAX random key.

        Returns:
            The function's values, shape (draws, n), in the order of `y`.
        """
        with double_precision():
            keys = jax.random.split(jax.random.key(0) if key is None else key, self.num_draws)
            mapped = _mapped_likelihoods(function, self.model, self._flat, keys, self.data)
            rows = self.rows
            found: Values = jax.tree.map(lambda values: np.asarray(values)[:, rows], mapped)
            return found

    @property
    def _flat(self) -> dict[str, Shaped[np.ndarray, "S ..."]]:
        """The draws of all chains, concatenated."""
        return {name: value.reshape(-1, *value.shape[2:]) for name, value in self.draws.items()}

    @cached_property
    def data(self) -> Data:
        """The observations, padded; one row of padding if there are none."""
        if not self.y.size:
            return no_data(len(self.names))
        return Data.padded(self.X, self.y, None if self.sem is None else self.sem**2)

    @cached_property
    def rows(self) -> Int[np.ndarray, " n"]:
        """The row of every observation in `data`."""
        return np.argsort(inducing_first(self.X, self.y))

    @cached_property
    def num_inducing(self) -> int | None:
        """How many inducing points the likelihood has, see `MarginalGP`; None if it is exact."""
        with double_precision():
            return num_inducing(self.model, self._flat, self.data)

    @cached_property
    def trace(self) -> dict[str, Any]:
        """A trace of the model, for properties that are the same in all draws."""
        return prior_trace(self.model, len(self.names))

    @property
    def prior_covariance(self) -> AdditiveCovariance:
        """The covariance function of one prior draw, for properties that all draws share."""
        covariance: AdditiveCovariance = self.trace[likelihood_site(self.trace)]["fn"].covariance
        return covariance

    @property
    def is_projected(self) -> bool:
        """Whether components act on projections of the parameters."""
        return self.prior_covariance.decomposition.projection is not None

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
        """Sites whose values have no meaning one by one: labels, and structures of families."""
        return {*self.partition_sites, *family_sites(self.trace)}

    def edges(self) -> tuple[Shaped[np.ndarray, "chains draws E"], Pairs]:
        """Draws of the edges above the diagonal, and their rows and columns."""
        sites = self.edge_sites
        if set(sites) & set(family_sites(self.trace)):
            raise ValueError(
                f"the edges {list(sites)} belong to one family of a mixture and follow their "
                "prior in draws of the other families: use together_probabilities."
            )
        if len(sites) != 1:
            raise ValueError(
                f"the model must have exactly one site of edge matrices, got {list(sites)}; "
                "draws has the values of all sites."
            )
        rows, columns = np.triu_indices(len(self.ends_of(sites[0])), 1)
        return self.draws[sites[0]][:, :, rows, columns], (rows, columns)

    def ends_of(self, site: str) -> tuple[str, ...]:
        """Names of the rows of edge matrices: dimensions, projections, or else numbers."""
        size = self.draws[site].shape[-1]
        if size in (len(self.names), len(self.directions)):
            return self.names if size == len(self.names) else self.directions
        return tuple(map(str, range(size)))


def checked_names(
    names: Iterable[str], num_dims: int, columns: Sequence[str] = ()
) -> tuple[str, ...]:
    """The names of the dimensions, by default the columns, or x0, x1, ...

    Raises:
        ValueError: if their number is not ``num_dims``, two are equal, or one is not a non-empty
            string.
    """
    given = tuple(names) if isinstance(names, Iterable) else (names,)
    known = given or tuple(columns) or tuple(f"x{d}" for d in range(num_dims))
    are_strings = not isinstance(names, str) and all(
        isinstance(name, str) and name for name in known
    )
    if not are_strings or len(known) != num_dims or len(set(known)) != num_dims:
        raise ValueError(f"names must be {num_dims} different names, got {names!r}.")
    return known


@compiled("function", "model")
def _mapped(
    function: Callable[..., Values],
    model: Model,
    draws: Mapping[str, Shaped[AnyArray, "S ..."]],
    keys: Keys,
    data: Data,
    arguments: tuple[Any, ...],
) -> Values:
    """A function of the conditioned process, mapped over draws and keys."""

    def one(draw_and_key: tuple[Draws, RandomKey]) -> Values:
        draw, key = draw_and_key
        batch = condition(model, jax.tree.map(lambda v: v[None], draw), data)
        return function(jax.tree.map(lambda v: v[0], batch), key, *arguments)

    return map_draws(one, (draws, keys))


@compiled("function", "model")
def _mapped_likelihoods(
    function: Callable[[MarginalGP, RandomKey, Float[Array, " m"]], Values],
    model: Model,
    draws: Mapping[str, Shaped[AnyArray, "S ..."]],
    keys: Keys,
    data: Data,
) -> Values:
    """A function of the likelihood, mapped over draws and keys."""

    def one(draw_and_key: tuple[Draws, RandomKey]) -> Values:
        draw, key = draw_and_key
        return function(likelihood_of(model, draw, data), key, jnp.asarray(data.y))

    return map_draws(one, (draws, keys))


@compiled("model")
def _log_densities(
    model: Model, draws: Mapping[str, Shaped[AnyArray, "S ..."]], data: Data
) -> Float[Array, " S"]:
    def one(draw: Draws) -> Float[Array, ""]:
        return log_density(handlers.seed(model, 0), *data.arguments, draw)[0]

    return map_draws(one, draws)


def _structures(gp: ConditionedGP, key: RandomKey) -> Structures:
    return Structures.of(gp.covariance)


def no_data(num_dims: int) -> Data:
    """One row of padding."""
    return Data(np.zeros((1, num_dims)), np.zeros(1), np.zeros(1, bool))
