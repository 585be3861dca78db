"""Gibbs sampling for the most likely draw, with a budget of likelihoods (Rolland et al. 2018).

`Chain` samples the same posterior by incremental and informed moves, and keeps all its draws.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, cycle, islice
from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Shaped
from numpyro import handlers
from numpyro.infer.util import compute_log_probs

from structbo.data import Data
from structbo.draws.model import Draw, Draws
from structbo.draws.sources import step_seed
from structbo.models import canonical
from structbo.models.foundation.arguments import checked_count
from structbo.models.foundation.compilation import compiled
from structbo.models.foundation.precision import KeepsPrecision
from structbo.models.foundation.upstream import latent_sample_sites
from structbo.models.likelihood import Model
from structbo.models.prototype import prior_trace
from structbo.models.supports import Adjacency, FiniteSet, Partition
from structbo.samplers.structure_block import element_support

Value = Shaped[np.ndarray, "*shape"]
"""The value of a site."""
Index = tuple[int, ...]
"""The place of a coordinate in the value of its site."""


class GibbsSearch(KeepsPrecision):
    """The most likely of the draws that Gibbs sampling visits.

    Edges, labels of a partition and numbers on finite sets are visited in turn, and each is drawn
    from its full conditional. The present draw is known, so an edge costs one likelihood, and a
    number on a set of G values costs G - 1. Each renewal starts from the last result.

    Args:
        model: a NumPyro model, ``model(X, y, mask=mask)``, whose latent sites are edge matrices,
            partitions, and numbers on finite sets.
        seed: seed of the sampler.
        num_likelihoods: maximum number of likelihoods per renewal, the start's included.
        start: values of sites for the first renewal. By default, graphs have no edges, blocks of
            partitions have one dimension, and numbers are in the middle of their sets.

    Raises:
        ValueError: if the number of likelihoods is not positive.

    References:
        Rolland et al. 2018, section 4 and algorithm 3; ``num_likelihoods`` is ``N_Gibbs``.
    """

    def __init__(
        self,
        model: Model,
        seed: int,
        num_likelihoods: int,
        start: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        self._model = model
        self._seed = seed
        self._num_likelihoods = checked_count("num_likelihoods", num_likelihoods)
        self._best = {name: np.asarray(value) for name, value in (start or {}).items()}

    def advance(self, data: Data) -> Draws:
        """Searches from the last result, on the given data.

        Raises:
            ValueError: if a site has another support, or the start has probability zero.
        """
        sites = _sites(self._model, np.shape(data.x)[1])
        first = {name: self._best.get(name, site.start) for name, site in sites.items()}
        start = self._evaluated(first, data)
        if not np.isfinite(start.log_density):
            raise ValueError(f"start must be possible under the model, got {first}.")
        visited = [start, *self._visits(start, sites, data)]
        self._best = max(visited, key=lambda point: point.log_likelihood).draw
        return {name: jnp.asarray(value)[None] for name, value in self._best.items()}

    def _visits(self, point: "_Point", sites: dict[str, "_Site"], data: Data) -> Iterator["_Point"]:
        """The chain after the start. Impossible alternatives cost no likelihood."""
        coordinates = [(name, index) for name, site in sites.items() for index in site.coordinates]
        rng = np.random.default_rng(step_seed(self._seed, int(np.sum(data.mask))))
        num_left = self._num_likelihoods - 1
        for name, index in islice(cycle(coordinates), num_left):
            points = [point]
            for value in sites[name].alternatives(point.draw[name], index):
                if num_left == 0:
                    return
                other = self._evaluated({**point.draw, name: value}, data)
                if np.isfinite(other.log_density):
                    num_left -= 1
                    points.append(other)
            point = _drawn(rng, points)
            yield point

    def _evaluated(self, draw: dict[str, Value], data: Data) -> "_Point":
        return _Point(draw, *map(float, _log_probs(self._model, draw, data)))


class _Point(NamedTuple):
    """A draw with its log prior density and its log likelihood."""

    draw: dict[str, Value]
    log_prior: float
    log_likelihood: float

    @property
    def log_density(self) -> float:
        return self.log_prior + self.log_likelihood


def _drawn(rng: np.random.Generator, points: list[_Point]) -> _Point:
    """One of several points, with probability in proportion to its density."""
    log_densities = np.array([point.log_density for point in points])
    weights = np.exp(log_densities - log_densities.max())
    return points[rng.choice(len(points), p=weights / weights.sum())]


@compiled("model")
def _log_probs(model: Model, draw: Draw, data: Data) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The log prior density of a draw, and its log likelihood."""
    arguments, options = data.arguments
    log_probs, _ = compute_log_probs(handlers.seed(model, 0), arguments, options, dict(draw))
    prior = sum(log_probs.pop(name) for name in draw)
    return jnp.asarray(prior, float), jnp.asarray(sum(log_probs.values()), float)


class _Site(Protocol):
    """The coordinates of a site."""

    @property
    def start(self) -> Value:
        """A value to start from."""
        ...

    @property
    def coordinates(self) -> list[Index]:
        """The coordinates with more than one value."""
        ...

    def alternatives(self, value: Value, index: Index) -> Iterator[Value]:
        """All values of the site that differ in this coordinate only."""
        ...


def _sites(model: Model, num_dims: int) -> dict[str, _Site]:
    trace = prior_trace(model, num_dims)
    return {name: _site(name, trace[name]) for name in latent_sample_sites(trace)}


def _site(name: str, site: dict[str, Any]) -> _Site:
    support = element_support(site["fn"].support)
    shape = np.shape(site["value"])
    if isinstance(support, Adjacency):
        return _Graph(shape[-1])
    if isinstance(support, Partition):
        return _Labels(shape[-1])
    if isinstance(support, FiniteSet):
        return _Numbers(np.asarray(support.values, float), shape)
    raise ValueError(
        f"a Gibbs search needs edge matrices, partitions or numbers on finite sets, but the "
        f"support of site {name!r} is {type(support).__name__}: give it a prior such as "
        "FiniteUniform."
    )


@dataclass(frozen=True)
class _Graph:
    """Edges of a graph."""

    num_dims: int

    @property
    def start(self) -> Value:
        return np.zeros((self.num_dims, self.num_dims), np.int32)

    @property
    def coordinates(self) -> list[Index]:
        return list(combinations(range(self.num_dims), 2))

    def alternatives(self, value: Value, index: Index) -> Iterator[Value]:
        flipped = np.array(value)
        flipped[index] = flipped[index[::-1]] = 1 - flipped[index]
        yield flipped


@dataclass(frozen=True)
class _Labels:
    """Blocks of a partition."""

    num_dims: int

    @property
    def start(self) -> Value:
        return np.arange(self.num_dims, dtype=np.int32)

    @property
    def coordinates(self) -> list[Index]:
        return [(dim,) for dim in range(self.num_dims)] if self.num_dims > 1 else []

    def alternatives(self, value: Value, index: Index) -> Iterator[Value]:
        """The dimension joins each other block, or forms a new one unless it is alone."""
        own, is_alone = value[index], (value == value[index]).sum() == 1
        for label in range(value.max() + 2 - is_alone):
            if label != own:
                moved = np.array(value)
                moved[index] = label
                yield np.asarray(canonical(moved))


@dataclass(frozen=True)
class _Numbers:
    """Numbers on a finite set."""

    levels: Float[np.ndarray, " G"]
    shape: Index

    @property
    def start(self) -> Value:
        return np.full(self.shape, self.levels[len(self.levels) // 2])

    @property
    def coordinates(self) -> list[Index]:
        return list(np.ndindex(self.shape)) if len(self.levels) > 1 else []

    def alternatives(self, value: Value, index: Index) -> Iterator[Value]:
        for level in self.levels[~np.isclose(self.levels, value[index])]:
            changed = np.array(value)
            changed[index] = level
            yield changed
