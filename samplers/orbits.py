"""Moves along orbits: many numbers at once, by one factor, where steps of each would be small."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike
from numpyro.distributions.transforms import Transform

NUM_MOVES = 9
"""In a row; each costs an evaluation of the density, and there is one more."""
LARGEST_TRANSLATION = 4.5
"""Large enough for a scale that only its prior bounds, within orders of magnitude."""

Position = dict[str, Array]
"""Values of sites, mapped to the real numbers."""


class Orbit(ABC):
    """The positions that can be reached from one another by a group of transformations."""

    sites: tuple[str, ...]
    """Names of the sites that it moves."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[float, float]:
        """The least and the largest size of shifts that may fit."""

    @abstractmethod
    def end(self, values: Position, shift: Array) -> tuple[Position, Array]:
        """Goes along the orbit, ``shift`` and ``-shift`` being there and back.

        Args:
            values: of the sites, on the real numbers.
            shift: how far to go, a number.

        Returns:
            The values there, and by how much the logarithm of a volume has grown.
        """


@dataclass(frozen=True)
class Spread(Orbit):
    """How far apart the numbers of a site are, about their mean.

    Numbers that may be alike or not, as lengthscales are, hardly change their spread in small steps
    of each: the more alike they are, the smaller these have to be.

    Args:
        sites: the name of the site.
        freedom: how many numbers it has, less one.
    """

    sites: tuple[str]
    freedom: int

    @property
    def sizes(self) -> tuple[float, float]:
        return _sizes_of_scales(self.freedom)

    def end(self, values: Position, shift: Array) -> tuple[Position, Array]:
        (site,) = self.sites
        mean = values[site].mean()
        scaled = mean + jnp.exp(shift) * (values[site] - mean)
        return {**values, site: scaled}, self.freedom * shift


@dataclass(frozen=True)
class Product(Orbit):
    """A factor and the numbers that it multiplies, whose products stay as they are.

    If the data determine little but the products, steps of either site must be as small as the
    products are certain. An example is a component whose lengthscales are multiples of others.

    Args:
        sites: the names of the factor, one positive number, and of the numbers.
        transforms: from the real numbers to their supports.
        freedom: how many numbers there are.
    """

    sites: tuple[str, str]
    transforms: tuple[Transform, Transform]
    freedom: int

    @property
    def sizes(self) -> tuple[float, float]:
        return _sizes_of_scales(self.freedom)

    def end(self, values: Position, shift: Array) -> tuple[Position, Array]:
        (factor, numbers), (of_factor, of_numbers) = self.sites, self.transforms
        old, new = values[factor], values[factor] + shift
        ratio = of_factor(old) / of_factor(new)
        here = of_numbers(values[numbers])
        there = ratio * here
        moved = of_numbers.inv(there)
        log_volume = (
            self.freedom * jnp.log(ratio)
            + of_numbers.log_abs_det_jacobian(values[numbers], here).sum()
            - of_numbers.log_abs_det_jacobian(moved, there).sum()
        )
        return {**values, factor: new, numbers: moved}, log_volume


@dataclass(frozen=True)
class Translation(Orbit):
    """One number by itself, on the real numbers.

    A number that the data hardly determine follows its prior, whose tail may be longer than
    trajectories. An example is the stretch of a component without variance.

    Args:
        sites: the name of the number.
    """

    sites: tuple[str]

    @property
    def sizes(self) -> tuple[float, float]:
        return 1.0, LARGEST_TRANSLATION

    def end(self, values: Position, shift: Array) -> tuple[Position, Array]:
        (site,) = self.sites
        return {**values, site: values[site] + shift}, jnp.zeros_like(shift)


def _sizes_of_scales(freedom: int) -> tuple[float, float]:
    """The scale of more numbers is known better, so that smaller shifts fit."""
    return freedom**-0.5, 1.0


def orbit_moves(
    key: Array,
    potential: Callable[[Position], Array],
    values: Position,
    orbits: Sequence[Orbit],
    is_free: Sequence[ArrayLike],
) -> Position:
    """Some Metropolis-Hastings moves, each along one of the orbits, which take turns.

    Shifts are of all sizes between the least and the largest of an orbit, so that some of them fit.

    Args:
        key: a JAX random key.
        potential: from the values to minus the log density.
        values: where to start, on the real numbers.
        orbits: at least one.
        is_free: whether an orbit may be moved along now, each of shape ().

    Returns:
        The values at the end.

    References:
        Liu and Sabatti 2000, "Generalised Gibbs sampler and multigrid Monte Carlo for Bayesian
        computation", on moves along the orbits of a group.

    Example:
        >>> normal = lambda values: values["a"] @ values["a"] / 2
        >>> start = {"a": jnp.array([3.0, 1.0, -1.0])}
        >>> spread = Spread(("a",), freedom=2)
        >>> end = orbit_moves(jax.random.key(0), normal, start, [spread], [True])["a"]
        >>> bool(end[0] != 3.0), round(float(end.mean()), 6)
        (True, 1.0)
    """
    keys = jax.random.split(key, NUM_MOVES + 1)
    least, largest = jnp.array([orbit.sizes for orbit in orbits]).T

    def move(k: Array, state: tuple[Position, Array]) -> tuple[Position, Array]:
        values, height = state
        key_size, key_shift, key_accept = jax.random.split(keys[k], 3)
        turn = k % len(orbits)
        size = least[turn] * (largest[turn] / least[turn]) ** jax.random.uniform(key_size)
        # The first move only finds the height of the start.
        goes = (k > 0) & jnp.stack([*map(jnp.asarray, is_free)])[turn]
        shift = jnp.where(goes, size * jax.random.normal(key_shift), 0.0)
        ends = [orbit.end(values, shift) for orbit in orbits]
        new, log_volume = jax.tree.map(lambda *of_orbits: jnp.stack(of_orbits)[turn], *ends)
        new_height = potential(new)
        log_ratio = height - new_height + log_volume
        accept = jnp.log(jax.random.uniform(key_accept)) < log_ratio
        return jax.tree.map(
            lambda a, b: jnp.where(accept, a, b), (new, new_height), (values, height)
        )

    init = (values, jnp.array(jnp.inf))
    return jax.lax.fori_loop(0, NUM_MOVES + 1, move, init)[0]
