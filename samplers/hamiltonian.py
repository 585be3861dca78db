"""Hamiltonian moves of all continuous sites together, with a metric that is learned on the way."""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from numpyro.distributions import biject_to
from numpyro.infer.util import constrain_fn, potential_energy, unconstrain_fn

from structbo.models.foundation.arguments import checked_count
from structbo.models.foundation.upstream import prototype_trace
from structbo.models.likelihood import Model
from structbo.samplers.adaptation import NUM_EARLY, Adaptation
from structbo.samplers.orbits import Orbit, Product, Spread, Translation, orbit_moves
from structbo.samplers.structure_block import Block

EARLY_STEPS = 3
"""Of the first trajectories. A chain that starts far up would fly past all modes: its height turns
into speed, which only a new momentum takes away."""
NUM_HELD = 100
"""For how many of the first trajectories sites with `HELD_AT` stay where they are."""
HELD_AT = "held_at"
"""What the value is called, in a site's ``infer``, that it starts at and is held at."""
MAY_BE_ALIKE = "may_be_alike"
"""What a site's ``infer`` says of numbers whose spread moves as one."""
MULTIPLIES = "multiplies"
"""In a site's ``infer``: the site whose numbers it multiplies, which move with it, or stay."""
NUM_STARTS, RADIUS = 30, 2.0
"""How many other starts are looked at, and how far from zero they are, on the real numbers."""
LENGTH = 4.0
"""Of the longest trajectories, in units of the deviations; the shortest have half of that. Half an
oscillation takes numbers to the other side and leaves their squares, so lengths are around it."""
JITTER = 0.2
"""Steps vary by this share, so that no trajectory closes into an orbit."""
DIVERGENCE = 1000.0
"""An error of the energy, above which a trajectory has left the level that it should follow."""


class HamiltonianState(NamedTuple):
    """State of the Hamiltonian block.

    Args:
        z: values of the block's sites.
        i: how many steps were taken; it learns until they are as many as the warm-up.
        is_held: whether a site stays where it is at first, bool, shape (), for each.
        adapt_state: what it has learned.
        accept_prob: of the last trajectory.
        energy: the potential and kinetic energy at the end of the last trajectory.
        diverging: whether the last trajectory lost its energy.
        rng_key: for the next step.
    """

    z: dict[str, Array]
    i: Array
    is_held: dict[str, Array]
    adapt_state: Adaptation
    accept_prob: Array
    energy: Array
    diverging: Array
    rng_key: Array


class Hamiltonian(Block):
    """Hamiltonian Monte Carlo with a learned metric, as a block of `numpyro.infer.Gibbs`.

    NumPyro's `HMC` learns its metric in windows of a long warm-up. A chain that continues whenever
    an observation is added has none, so this one learns from every step, ever less. It starts from
    the most probable of the values that it is given and some others. Its state has values only, and
    no gradient to be kept up to date by the other blocks: the gradient is compiled once, in the
    loop over the steps of a trajectory.

    A component that explains anything, if not well, can hide the others from a chain that has just
    started, and for long. So a site of ``infer={"held_at": value}`` starts at the value, if that is
    in its support, and stays there during the first 100 steps, at most a quarter of the warm-up.
    What was learned until then is of another distribution: where the warm-up ends, it is but a
    first guess of what is learned afterwards.

    The metric is learned from values and from derivatives. Values say how far the posterior goes
    over all graphs; derivatives, of which every step of a trajectory has one, how narrow it is
    given a graph. In a search, whose warm-up never ends, deviations of values alone are learned,
    and all steps of a trajectory are taken: with more a chain mixes better, but the few draws for
    each point spread so much wider that regret was larger on one function and no smaller on others.
    Nor are there moves along orbits, which made regret no smaller.

    A trajectory has small steps where numbers that may be alike are nearly so, and where little but
    the products of a factor and other numbers is known. After each one, the spreads of sites of
    ``infer={"may_be_alike": True}`` move, and sites of ``infer={"multiplies": name}`` with those
    that they multiply and by themselves, see `orbit_moves`.

    Args:
        model: the NumPyro model.
        num_steps: of each trajectory at most; each costs a gradient, and there is one more.

    References:
        Neal 2011, "MCMC using Hamiltonian dynamics"; Hoffman and Gelman 2014, "The No-U-Turn
        sampler", section 3.2, for the step; Andrieu and Thoms 2008, "A tutorial on adaptive MCMC",
        algorithm 4, for the mean and the covariance; Seyboldt, Carlson and Carpenter 2026,
        "Preconditioning Hamiltonian Monte Carlo by minimizing Fisher divergence", for the metric
        of both.
    """

    def __init__(self, model: Model, num_steps: int = 10) -> None:
        super().__init__(model)
        self._num_steps = checked_count("num_steps", num_steps)
        self._orbits: tuple[Orbit, ...] = ()

    @property
    def statistics(self) -> dict[str, str]:
        return {
            "acceptance_rate": "accept_prob",
            "diverging": "diverging",
            "energy": "energy",
            "step_size": "adapt_state.step_size",
        }

    def init(
        self,
        rng_key: Array,
        num_warmup: int,
        init_params: dict[str, Array] | None,
        model_args: tuple[Any, ...],
        model_kwargs: dict[str, Any] | None,
    ) -> HamiltonianState:
        """Starts from the most probable of the given values and some others."""
        self.num_warmup = num_warmup
        model, kwargs = self._model, model_kwargs or {}
        z = {name: jnp.asarray(value) for name, value in (init_params or {}).items()}
        trace = prototype_trace(model, jax.random.key(0), model_args, kwargs)
        self._orbits = () if self.is_search else _orbits(trace, z)
        z, is_held = _held(trace, z)
        sites = self._unconstrained(z, model_args, kwargs)
        given, unravel = ravel_pytree(sites)
        if z:
            key_starts, rng_key = jax.random.split(rng_key)
            shape = (NUM_STARTS, given.size)
            others = jax.random.uniform(key_starts, shape, minval=-RADIUS, maxval=RADIUS)
            held = _numbers(is_held, sites)
            starts = jnp.concatenate([given[None], jnp.where(held, given, others)])
            energies = jax.lax.map(
                lambda u: potential_energy(model, model_args, kwargs, unravel(u)), starts
            )
            best = jnp.argmin(jnp.nan_to_num(energies, nan=jnp.inf, posinf=jnp.inf))
            values = constrain_fn(model, model_args, kwargs, unravel(starts[best]))
            z = {name: jnp.where(best == 0, z[name], values[name]) for name in z}
        nothing = jnp.array(0.0)
        adaptation = Adaptation.first(given.size, is_dense=not self.is_search)
        diverging = jnp.array(False)
        zero = jnp.array(0)
        return HamiltonianState(z, zero, is_held, adaptation, nothing, nothing, diverging, rng_key)

    def sample(
        self,
        state: HamiltonianState,
        model_args: tuple[Any, ...],
        model_kwargs: dict[str, Any] | None,
    ) -> HamiltonianState:
        if not state.z:
            return state
        model, kwargs = self._model, model_kwargs or {}
        sites = self._unconstrained(state.z, model_args, kwargs)
        start, unravel = ravel_pytree(sites)
        num_held = min(NUM_HELD, self.num_warmup // 4)
        is_released = state.i >= num_held
        moves = {name: is_released | ~is_held for name, is_held in state.is_held.items()}
        moved, held = (_numbers(which, sites) for which in (moves, state.is_held))
        factors = [o.sites[0] for o in self._orbits if isinstance(o, Product)]
        adaptation = state.adapt_state
        if not self.is_search:
            adaptation = adaptation.renewed((state.i == num_held) & held.any())
        stretch = adaptation.stretch([_place(name, sites) for name in factors])

        def position_at(shift: Array) -> Array:
            return start + jnp.where(moved, stretch(shift), 0.0)

        def potential(values: dict[str, Array]) -> Array:
            energy: Array = potential_energy(model, model_args, kwargs, values)
            return energy

        rng_key, key_momentum, key_jitter, key_accept = jax.random.split(state.rng_key, 4)
        momentum = jax.random.normal(key_momentum, start.shape)
        learns = state.i < self.num_warmup
        step_size = jnp.where(learns, adaptation.trial, adaptation.step_size)
        is_early = learns & (adaptation.num_values < NUM_EARLY)
        num_steps = jnp.where(is_early, min(EARLY_STEPS, self._num_steps), self._num_steps)
        if not self.is_search:
            key_jitter, key_length = jax.random.split(key_jitter)
            length = jax.random.uniform(key_length, minval=0.5 * LENGTH, maxval=LENGTH)
            num_steps = jnp.clip(jnp.ceil(length / step_size), 1, num_steps).astype(int)
        jitter = jax.random.uniform(key_jitter, minval=1.0 - JITTER, maxval=1.0 + JITTER)
        shift, before, after, curvature = trajectory(
            lambda position: potential(unravel(position)),
            position_at,
            momentum,
            jitter * step_size,
            num_steps,
        )
        # Infinite energies on both sides leave the chain where it is.
        error = jnp.nan_to_num(after - before, nan=jnp.inf)
        accept_prob = jnp.exp(jnp.minimum(-error, 0.0))
        accept = jax.random.uniform(key_accept) < accept_prob
        position = jnp.where(accept, position_at(shift), start)
        if self._orbits:
            key_orbits, rng_key = jax.random.split(rng_key)
            ends = orbit_moves(
                key_orbits,
                potential,
                unravel(position),
                self._orbits,
                [jnp.stack([moves[site] for site in o.sites]).all() for o in self._orbits],
            )
            position, _ = ravel_pytree(ends)
        learned = adaptation.learned(position, curvature, accept_prob, moved)
        values = constrain_fn(model, model_args, kwargs, unravel(position))
        has_moved = (position != start).any()
        return HamiltonianState(
            {name: jnp.where(has_moved, values[name], state.z[name]) for name in state.z},
            state.i + 1,
            state.is_held,
            jax.tree.map(lambda a, b: jnp.where(learns, a, b), learned, adaptation),
            accept_prob,
            jnp.where(accept, after, before),
            error > DIVERGENCE,
            rng_key,
        )

    def _unconstrained(
        self,
        z: dict[str, Array],
        model_args: tuple[Any, ...],
        model_kwargs: dict[str, Any] | None,
    ) -> dict[str, Array]:
        """The values of the block's sites, mapped to the real numbers."""
        u = unconstrain_fn(self._model, model_args, model_kwargs or {}, z)
        return {name: u[name] for name in z}


def _held(trace: Any, z: dict[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
    """The values where sites start that are held, and which sites those are."""
    is_held = {name: jnp.array(False) for name in z}
    for name, value in z.items():
        if HELD_AT in (infer := trace[name]["infer"]):
            at = jnp.broadcast_to(jnp.asarray(infer[HELD_AT], value.dtype), value.shape)
            is_held[name] = jnp.all(trace[name]["fn"].support(at))
            z = {**z, name: jnp.where(is_held[name], at, value)}
    return z, is_held


def _orbits(trace: Any, names: Collection[str]) -> tuple[Orbit, ...]:
    """Of numbers that may be alike, and of factors, alone and with what they multiply."""
    orbits: list[Orbit] = []
    for name in names:
        infer, size = trace[name]["infer"], int(np.size(trace[name]["value"]))
        if infer.get(MAY_BE_ALIKE) and size > 1:
            orbits.append(Spread((name,), freedom=size - 1))
        if (numbers := infer.get(MULTIPLIES)) in names:
            if np.ndim(trace[name]["value"]):
                raise ValueError(
                    f"a site of infer={{{MULTIPLIES!r}: {numbers!r}}} must be one number, "
                    f"{name!r} has shape {np.shape(trace[name]['value'])}: leave the mark out, or "
                    "sample one factor of shape ()."
                )
            factor, of = (biject_to(trace[site]["fn"].support) for site in (name, numbers))
            size = int(np.size(trace[numbers]["value"]))
            orbits.append(Product((name, numbers), (factor, of), freedom=size))
            orbits.append(Translation((name,)))
    return tuple(orbits)


def _place(name: str, sites: dict[str, Array]) -> int:
    """The first of the P numbers that belongs to a site."""
    return sum(sites[other].size for other in sites if other < name)


def _numbers(is_marked: dict[str, Array], sites: dict[str, Array]) -> Array:
    """Which of the P numbers belong to marked sites, bool, shape (P,)."""
    marks = {name: jnp.broadcast_to(is_marked[name], sites[name].shape) for name in sites}
    return ravel_pytree(marks)[0].astype(bool)


def trajectory(
    potential: Callable[[Array], Array],
    position_at: Callable[[Array], Array],
    momentum: Array,
    step_size: Array,
    num_steps: Array | int,
) -> tuple[Array, Array, Array, Array]:
    """Leapfrog steps of a shift, which starts at zero.

    Args:
        potential: from a position (P,) to minus the log density.
        position_at: from a shift (P,) to the position, linear but for a constant.
        momentum: of the shift at the start, shape (P,).
        step_size: of each step.
        num_steps: how many steps.

    Returns:
        The shift at the end, shape (P,); the energies at the start and at the end; and the average
        of products of the potential's derivatives, there and at all points between, shape (P, P).

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
