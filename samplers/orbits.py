"""Moves along orbits: joint transformations of many numbers, whose single steps must be small."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float
from numpyro.distributions.transforms import Transform

from structbo.models.foundation.arrays import RandomKey

NUM_MOVES = 9
"""Number of moves per step. Each costs one evaluation of the density, and the start one more."""
LARGEST_TRANSLATION = 4.5
"""Largest scale of shifts, for a parameter whose prior spans orders of magnitude."""

Position = dict[str, Array]
"""Unconstrained values of sites."""


class Orbit(ABC):
    """An orbit of a group of transformations of unconstrained values."""

    sites: tuple[str, ...]
    """Names of the sites that the transformations move."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[float, float]:
        """The smallest and the largest scale of shifts to try."""

    @abstractmethod
    def end(self, values: Position, shift: Float[Array, ""]) -> tuple[Position, Float[Array, ""]]:
        """The position after a shift along the orbit, which ``-shift`` reverses.

        Args:
            values: unconstrained values of the sites.
            shift: distance along the orbit.

        Returns:
            The new values, and the log determinant of the Jacobian.
        """


@dataclass(frozen=True)
class Spread(Orbit):
    """The spread of a site's elements about their mean.

    Elements that may be nearly equal, such as lengthscales, change their spread slowly in
    trajectories, whose step size the spread limits.

    Args:
        sites: name of the site.
        freedom: number of elements minus one.
    """

    sites: tuple[str]
    freedom: int

    @property
    def sizes(self) -> tuple[float, float]:
        return _sizes_of_scales(self.freedom)

    def end(self, values: Position, shift: Float[Array, ""]) -> tuple[Position, Float[Array, ""]]:
        (site,) = self.sites
        mean = values[site].mean()
        scaled = mean + jnp.exp(shift) * (values[site] - mean)
        return {**values, site: scaled}, self.freedom * shift


@dataclass(frozen=True)
class Product(Orbit):
    """A factor and the numbers that it multiplies, with constant products.

    If the data determine only the products, the uncertainty of the products limits the steps of
    both sites. An example is a component whose lengthscales are multiples of others.

    Args:
        sites: names of the factor, one positive number, and of the numbers that it multiplies.
        transforms: transforms from the real numbers to the supports of both sites.
        freedom: number of elements that the factor multiplies.
    """

    sites: tuple[str, str]
    transforms: tuple[Transform, Transform]
    freedom: int

    @property
    def sizes(self) -> tuple[float, float]:
        return _sizes_of_scales(self.freedom)

    def end(self, values: Position, shift: Float[Array, ""]) -> tuple[Position, Float[Array, ""]]:
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
    """One unconstrained number.

    A number that the data hardly determine follows its prior, whose tail may exceed the length of
    trajectories. An example is the stretch of a component without variance.

    Args:
        sites: name of the site.
    """

    sites: tuple[str]

    @property
    def sizes(self) -> tuple[float, float]:
        return 1.0, LARGEST_TRANSLATION

    def end(self, values: Position, shift: Float[Array, ""]) -> tuple[Position, Float[Array, ""]]:
        (site,) = self.sites
        return {**values, site: values[site] + shift}, jnp.zeros_like(shift)


def _sizes_of_scales(freedom: int) -> tuple[float, float]:
    """Sizes of shifts of a scale; the scale of more numbers is more certain."""
    return freedom**-0.5, 1.0


def orbit_moves(
    key: RandomKey,
    potential: Callable[[Position], Float[Array, ""]],
    values: Position,
    orbits: Sequence[Orbit],
    is_free: Sequence[Bool[Array, ""] | bool],
) -> Position:
    """Metropolis-Hastings moves along the orbits in turn.

    The scales of shifts are log-uniform between the smallest and the largest of an orbit.

    Args:
        key: a JAX random key.
        potential: function from the unconstrained values to the negative log density.
        values: initial unconstrained values.
        orbits: the orbits, at least one.
        is_free: whether moves along each orbit are allowed.

    Returns:
        The values after all moves.

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
        # The first move only evaluates the potential at the start.
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
