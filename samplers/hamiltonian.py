"""Hamiltonian Monte Carlo of all continuous sites, with an adaptive metric."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Bool, Float, Int
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.util import log_density

from structbo.models.foundation.arguments import checked_count
from structbo.models.foundation.arrays import RandomKey
from structbo.models.foundation.upstream import unconstrain_reparam
from structbo.models.likelihood import Model
from structbo.samplers.adaptation import FIRST_STEP_SIZE, NUM_EARLY, Adaptation
from structbo.samplers.orbits import Orbit, Product, Spread, Translation, orbit_moves
from structbo.samplers.sampler import Arguments, Info, Sampler, Stage, State, Values
from structbo.samplers.traced import Traced

EARLY_STEPS = 3
"""Number of steps of early trajectories. Longer ones from a high potential would overshoot all
modes: potential turns into kinetic energy, which only a new momentum removes."""
HELD_AT = "held_at"
"""Key of ``infer``: the value at which a site is fixed during early warm-up."""
MAY_BE_ALIKE = "may_be_alike"
"""Key of ``infer``: whether to move the spread of a site's elements jointly."""
MULTIPLIES = "multiplies"
"""Key of ``infer``: the name of the site whose elements this factor multiplies."""
NUM_STARTS, RADIUS = 30, 2.0
"""Number of random starts, and the bound on their absolute values in unconstrained space."""
LENGTH = 4.0
"""Length of the longest trajectory, in posterior standard deviations; the shortest has half. Half
a period, pi, decorrelates x but not x^2, so lengths vary around it."""
JITTER = 0.2
"""Relative jitter of the step size, against periodic trajectories."""
DIVERGENCE = 1000.0
"""Energy error above which a trajectory is divergent."""


class Memory(NamedTuple):
    """The memory of Hamiltonian moves.

    Args:
        adaptation: the adaptation of step size and metric.
        is_held: whether each site is fixed during early warm-up, by name.
    """

    adaptation: Adaptation
    is_held: dict[str, Bool[Array, ""]]


class Hamiltonian(Sampler):
    """Hamiltonian Monte Carlo of all continuous sites of a model, with an adaptive metric.

    NumPyro's `HMC` learns its metric in windows of a long warm-up. The chain of a search continues
    with new observations and has no such warm-up, so this sampler learns from every step, with
    decreasing weight. A chain starts from the most probable of the given values and some random
    ones. The state has no gradient, which other blocks would have to update.

    A component that explains the data partly can hide the others from a new chain for a long time.
    A site with ``infer={"held_at": value}`` is therefore fixed at the value during early warm-up,
    if the value is in its support. The metric of this phase belongs to another distribution, and
    only initializes the metric of the next.

    The metric is learned from values and gradients. Values show the width of the posterior over
    all graphs. Gradients, one per step of a trajectory, show its width given a graph.

    Trajectories need small steps if elements are nearly equal, or if the data determine only the
    products of a factor and other numbers. After each trajectory, `orbit_moves` therefore change
    the spread of sites with ``infer={"may_be_alike": True}``, and sites with
    ``infer={"multiplies": name}``, alone and with the numbers that they multiply.

    Args:
        model: the NumPyro model.
        num_steps: maximum number of steps per trajectory. A trajectory costs one gradient per step
            and one more.
        is_dense: whether the metric has correlations; a diagonal metric is learned from values
            alone.
        varies_length: whether trajectory lengths are random, between half and all of `LENGTH`;
            otherwise, every trajectory has ``num_steps`` steps.
        has_orbits: whether to move along orbits.

    References:
        Neal 2011, "MCMC using Hamiltonian dynamics"; Hoffman and Gelman 2014, "The No-U-Turn
        sampler", section 3.2, for the step; Andrieu and Thoms 2008, "A tutorial on adaptive MCMC",
        algorithm 4, for the mean and the covariance; Seyboldt, Carlson and Carpenter 2026,
        "Preconditioning Hamiltonian Monte Carlo by minimizing Fisher divergence", for the metric
        from values and gradients.
    """

    def __init__(
        self,
        model: Model,
        num_steps: int = 10,
        *,
        is_dense: bool = True,
        varies_length: bool = True,
        has_orbits: bool = True,
    ) -> None:
        super().__init__(model)
        self._num_steps = checked_count("num_steps", num_steps)
        self._is_dense = is_dense
        self._varies_length = varies_length
        self._has_orbits = has_orbits

    def no_info(self, state: State) -> Info:
        nothing = jnp.array(0.0)
        return {
            "acceptance_rate": nothing,
            "diverging": jnp.array(False),
            "energy": nothing,
            "step_size": jnp.array(FIRST_STEP_SIZE),
        }

    def initial(self, key: RandomKey, values: Values, stage: Stage, arguments: Arguments) -> State:
        """Starts from the most probable of the given values and some random ones."""
        trace = self._trace(values, arguments)
        values, is_held = _held(trace, values)
        sites = _unconstrained(trace, values)
        given, unravel = ravel_pytree(sites)
        if values:
            shape = (NUM_STARTS, given.size)
            others = jax.random.uniform(key, shape, minval=-RADIUS, maxval=RADIUS)
            held = _numbers(is_held, sites)
            starts = jnp.concatenate([given[None], jnp.where(held, given, others)])
            energies, found = jax.lax.map(
                lambda position: self._energy(unravel(position), arguments), starts
            )
            best = jnp.argmin(jnp.nan_to_num(energies, nan=jnp.inf, posinf=jnp.inf))
            values = {
                name: jnp.where(best == 0, values[name], found[name][best]) for name in values
            }
        adaptation = Adaptation.first(given.size, is_dense=self._is_dense)
        return State(values, Memory(adaptation, is_held), stage)

    def step(self, key: RandomKey, state: State, arguments: Arguments) -> tuple[State, Info]:
        before, stage, (adaptation, is_held) = state.values, state.stage, state.memory
        if not before:
            return state._replace(stage=stage.next()), self.no_info(state)
        key_trajectory, key_orbits = jax.random.split(key)
        trace = self._trace(before, arguments)
        sites = _unconstrained(trace, before)
        start, unravel = ravel_pytree(sites)
        evaluated = Traced(lambda position: self._energy(unravel(position), arguments), start)
        moves = {name: ~stage.holds | ~held for name, held in is_held.items()}
        moved = _numbers(moves, sites)
        orbits = _orbits_of(trace, before) if self._has_orbits else ()
        factors = [_place(o.sites[0], sites) for o in orbits if isinstance(o, Product)]
        stretch = adaptation.stretch(factors)

        def position_at(shift: Float[Array, " P"]) -> Float[Array, " P"]:
            return start + jnp.where(moved, stretch(shift), 0.0)

        def potential(position: Float[Array, " P"]) -> Float[Array, ""]:
            return evaluated(position)[0]

        position, curvature, info = self._trajectory(
            key_trajectory,
            potential,
            position_at,
            start,
            adaptation,
            stage,
        )
        if orbits:
            is_free = [jnp.stack([moves[site] for site in o.sites]).all() for o in orbits]
            ends = orbit_moves(
                key_orbits,
                lambda sites: potential(ravel_pytree(sites)[0]),
                unravel(position),
                orbits,
                is_free,
            )
            position, _ = ravel_pytree(ends)
        learned = adaptation.learned(position, curvature, info["acceptance_rate"], moved)
        is_released = (stage.num_held == 1) & _numbers(is_held, sites).any()
        learned = learned.renewed(is_released)
        adaptation = jax.tree.map(lambda a, b: jnp.where(stage.learns, a, b), learned, adaptation)
        _, found = evaluated(position)
        has_moved = (position != start).any()
        values = {name: jnp.where(has_moved, found[name], before[name]) for name in before}
        return State(values, Memory(adaptation, is_held), stage.next()), info

    def _trajectory(
        self,
        key: RandomKey,
        potential: Callable[[Float[Array, " P"]], Float[Array, ""]],
        position_at: Callable[[Float[Array, " P"]], Float[Array, " P"]],
        start: Float[Array, " P"],
        adaptation: Adaptation,
        stage: Stage,
    ) -> tuple[Float[Array, " P"], Float[Array, "P P"], Info]:
        """The position after a trajectory, accepted or rejected.

        The second result is the mean outer product of the gradients, see `trajectory`.
        """
        key_momentum, key_length, key_jitter, key_accept = jax.random.split(key, 4)
        momentum = jax.random.normal(key_momentum, start.shape)
        step_size = jnp.where(stage.learns, adaptation.trial, adaptation.step_size)
        is_early = stage.learns & (adaptation.num_values < NUM_EARLY)
        num_steps = jnp.where(is_early, min(EARLY_STEPS, self._num_steps), self._num_steps)
        if self._varies_length:
            length = jax.random.uniform(key_length, minval=0.5 * LENGTH, maxval=LENGTH)
            num_steps = jnp.clip(jnp.ceil(length / step_size), 1, num_steps).astype(int)
        jitter = jax.random.uniform(key_jitter, minval=1.0 - JITTER, maxval=1.0 + JITTER)
        shift, before, after, curvature = trajectory(
            potential, position_at, momentum, jitter * step_size, num_steps
        )
        # Infinite energies at both ends reject the trajectory.
        error = jnp.nan_to_num(after - before, nan=jnp.inf)
        accept_prob = jnp.exp(jnp.minimum(-error, 0.0))
        accept = jax.random.uniform(key_accept) < accept_prob
        info = {
            "acceptance_rate": accept_prob,
            "diverging": error > DIVERGENCE,
            "energy": jnp.where(accept, after, before),
            "step_size": step_size,
        }
        return jnp.where(accept, position_at(shift), start), curvature, info

    def _trace(self, values: Values, arguments: Arguments) -> Any:
        run = handlers.trace(handlers.substitute(handlers.seed(self.model, 0), data=values))
        return run.get_trace(*arguments.args, **arguments.kwargs)

    def _energy(self, sites: Values, arguments: Arguments) -> tuple[Float[Array, ""], Values]:
        """The negative log density at unconstrained values, and the constrained values."""
        substituted = handlers.substitute(
            handlers.seed(self.model, 0), substitute_fn=partial(unconstrain_reparam, sites)
        )
        density, trace = log_density(substituted, *arguments, {})
        return -density, {name: trace[name]["value"] for name in sites}


def _unconstrained(trace: Any, values: Values) -> Values:
    """The unconstrained values of sites."""
    return {name: biject_to(trace[name]["fn"].support).inv(values[name]) for name in values}


def _held(trace: Any, values: Values) -> tuple[Values, dict[str, Bool[Array, ""]]]:
    """The initial values, with held sites at their fixed values, and which sites are held."""
    is_held = {name: jnp.array(False) for name in values}
    for name, value in values.items():
        if HELD_AT in (infer := trace[name]["infer"]):
            at = jnp.broadcast_to(jnp.asarray(infer[HELD_AT], value.dtype), value.shape)
            is_held[name] = jnp.all(trace[name]["fn"].support(at))
            values = {**values, name: jnp.where(is_held[name], at, value)}
    return values, is_held


def _orbits_of(trace: Any, names: Collection[str]) -> tuple[Orbit, ...]:
    """The orbits of spreads, and of factors with and without the numbers that they multiply."""
    orbits: list[Orbit] = []
    for name in names:
        infer, size = trace[name]["infer"], int(np.size(trace[name]["value"]))
        if infer.get(MAY_BE_ALIKE) and size > 1:
            orbits.append(Spread((name,), freedom=size - 1))
        if (numbers := infer.get(MULTIPLIES)) in names:
            if np.ndim(trace[name]["value"]):
                raise ValueError(
                    f"a site with infer={{{MULTIPLIES!r}: {numbers!r}}} must be a scalar, "
                    f"{name!r} has shape {np.shape(trace[name]['value'])}: remove the mark, or "
                    "sample one factor of shape ()."
                )
            factor, of = (biject_to(trace[site]["fn"].support) for site in (name, numbers))
            size = int(np.size(trace[numbers]["value"]))
            orbits.append(Product((name, numbers), (factor, of), freedom=size))
            orbits.append(Translation((name,)))
    return tuple(orbits)


def _place(name: str, sites: Values) -> int:
    """The index of a site's first parameter among all P."""
    return sum(sites[other].size for other in sites if other < name)


def _numbers(is_marked: dict[str, Bool[Array, ""]], sites: Values) -> Bool[Array, " P"]:
    """Mask of the parameters of marked sites."""
    marks = {name: jnp.broadcast_to(is_marked[name], sites[name].shape) for name in sites}
    return ravel_pytree(marks)[0].astype(bool)


def trajectory(
    potential: Callable[[Float[Array, " P"]], Float[Array, ""]],
    position_at: Callable[[Float[Array, " P"]], Float[Array, " P"]],
    momentum: Float[Array, " P"],
    step_size: Float[Array, ""],
    num_steps: Int[Array, ""] | int,
) -> tuple[Float[Array, " P"], Float[Array, ""], Float[Array, ""], Float[Array, "P P"]]:
    """A leapfrog trajectory of a shift, which starts at zero.

    Args:
        potential: function from a position to the negative log density.
        position_at: affine function from a shift to the position.
        momentum: initial momentum of the shift.
        step_size: size of each step.
        num_steps: number of steps.

    Returns:
        The final shift; the energies at the start and the end; and the mean outer product of the
        potential's gradients along the trajectory.

    Example:
        >>> end, before, after, _ = trajectory(
        ...     lambda q: q @ q / 2, lambda shift: shift, jnp.ones(1), jnp.array(0.01), 100
        ... )
        >>> round(float(end[0]), 4), round(float(after - before), 4)  # sin(1), and no error
        (0.8415, 0.0)
    """
    nothing = jnp.array(0.0)

    def step(k: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
        shift, momentum, before, _, total = state
        position, pull_back = jax.vjp(position_at, shift)
        height, slope = jax.value_and_grad(potential)(position)
        is_first, is_last = k == 0, k == num_steps
        before = jnp.where(is_first, height + 0.5 * momentum @ momentum, before)
        size = jnp.where(is_first | is_last, 0.5, 1.0) * step_size
        momentum = momentum - size * pull_back(slope)[0]
        after = height + 0.5 * momentum @ momentum
        shift = shift + jnp.where(is_last, 0.0, step_size) * momentum
        return shift, momentum, before, after, total + jnp.outer(slope, slope)

    total = jnp.zeros((momentum.size, momentum.size))
    init = (jnp.zeros_like(momentum), momentum, nothing, nothing, total)
    shift, _, before, after, total = jax.lax.fori_loop(0, num_steps + 1, step, init)
    return shift, before, after, total / (num_steps + 1)
