"""Exploration parameters of upper confidence bounds, as functions of the number of observations.

All give ``beta``, whose *square root* multiplies the deviation. Schedules from theory guarantee a
regret bound and explore far more than schedules used in practice.
"""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from structbo.models.foundation.arguments import (
    check_fraction,
    check_positive,
    checked_count,
    is_concrete,
)

Schedule = Callable[[Float[Array, ""] | float, int], Float[Array, ""]]
"""Maps the number of observations t and of dimensions D to beta."""


@dataclass(frozen=True)
class Constant:
    """The same ``beta`` at all times.

    Args:
        value: beta, at least 0.

    Example:
        >>> float(Constant(4.0)(50, 10))
        4.0
    """

    value: float

    def __post_init__(self) -> None:
        if is_concrete(self.value) and not (
            isinstance(self.value, numbers.Real) and 0.0 <= self.value < math.inf
        ):
            raise ValueError(
                "beta must be a number of at least 0, or a schedule such as HalfLog(), got "
                f"{self.value!r}."
            )

    def __call__(self, t: Float[Array, ""] | float, num_dims: int) -> Float[Array, ""]:
        return jnp.asarray(self.value, float)


@dataclass(frozen=True)
class HalfLog:
    """Practice: ``beta_t = log(2 t) / 2``, for every component.

    References:
        Rolland et al. 2018, tables 1 and 2.

    Example:
        >>> round(float(HalfLog()(50, 10)), 3)
        2.303
    """

    def __call__(self, t: Float[Array, ""] | float, num_dims: int) -> Float[Array, ""]:
        return 0.5 * jnp.log(2.0 * jnp.maximum(t, 1.0))


@dataclass(frozen=True)
class GroupLog:
    """Practice: ``beta_t = d log(2 t) / 5``, for groups of d dimensions.

    Args:
        group_size: the number of dimensions of a group d; None for all.

    References:
        Kandasamy, Schneider and Poczos 2015, "High dimensional Bayesian optimisation and bandits
        via additive models".

    Example:
        >>> float(GroupLog()(50, 5)) == float(GroupLog(5)(50, 10)) == 2.0 * float(HalfLog()(50, 10))
        True
    """

    group_size: int | None = None

    def __post_init__(self) -> None:
        if self.group_size is not None:
            checked_count("group_size", self.group_size)

    def __call__(self, t: Float[Array, ""] | float, num_dims: int) -> Float[Array, ""]:
        group_size = num_dims if self.group_size is None else self.group_size
        return 0.2 * group_size * jnp.log(2.0 * jnp.maximum(t, 1.0))


@dataclass(frozen=True)
class FiniteDomain:
    """Theory: ``beta_t = 2 log(N t^2 pi^2 / (6 delta))`` on a domain of N points.

    Args:
        num_points: N, the number of points of a component's domain for an additive criterion.
        delta: the bound holds with probability ``1 - delta``.

    References:
        Kathuria et al. 2016, theorems 2.1 and 3.3 (Algorithm 2 prints the square root of beta);
        Rolland et al. 2018, before eq. (11).

    Example:
        >>> round(float(FiniteDomain(1000)(1, 3)), 2)
        19.42
    """

    num_points: int
    delta: float = 0.1

    def __post_init__(self) -> None:
        checked_count("num_points", self.num_points)
        check_fraction("delta", self.delta)

    def __call__(self, t: Float[Array, ""] | float, num_dims: int) -> Float[Array, ""]:
        fixed = math.log(self.num_points) + math.log(math.pi**2 / (6.0 * self.delta))
        return 2.0 * (fixed + 2.0 * jnp.log(jnp.maximum(t, 1.0)))


@dataclass(frozen=True)
class ActiveVariables:
    """Theory: on the cube ``[-1, 1]^d`` of the active variables.

    ``beta_t = 2 log(2 t^2 pi^2 / (3 delta)) + 2 d log(2 t^2 d s / b sqrt(log(4 d / delta)))`` for
    the kernel ``s^2 exp(-|x - x'|^2 / b^2)``; a squared exponential lengthscale l of the unit cube
    is a bandwidth of ``sqrt(8) l`` there.

    Args:
        num_active: the number of active variables d; None for all.
        bandwidth: b.
        deviation: s.
        delta: the bound holds with probability ``1 - delta``.

    References:
        Chen et al. 2012, theorem 4.1.

    Example:
        >>> round(float(ActiveVariables(num_active=2)(50, 100)), 1)
        63.8
    """

    num_active: int | None = None
    bandwidth: float = 1.0
    deviation: float = 1.0
    delta: float = 0.1

    def __post_init__(self) -> None:
        if self.num_active is not None:
            checked_count("num_active", self.num_active)
        check_positive("bandwidth", self.bandwidth)
        check_positive("deviation", self.deviation)
        check_fraction("delta", self.delta)

    def __call__(self, t: Float[Array, ""] | float, num_dims: int) -> Float[Array, ""]:
        d = num_dims if self.num_active is None else self.num_active
        log_t = jnp.log(jnp.maximum(t, 1.0))
        by_time = math.log(2.0 * math.pi**2 / (3.0 * self.delta)) + 2.0 * log_t
        scale = 2.0 * d * self.deviation / self.bandwidth
        by_point = math.log(scale * math.sqrt(math.log(4.0 * d / self.delta))) + 2.0 * log_t
        return 2.0 * by_time + 2.0 * d * by_point


@dataclass(frozen=True)
class Iterations:
    """A schedule in iterations: ``t = 1 + (n - num_initial) / size`` after n observations.

    Args:
        schedule: the schedule.
        num_initial: number of observations before the first iteration.
        size: number of observations per iteration, such as the size of batches.

    References:
        Rolland et al. 2018, algorithm 1; Kathuria et al. 2016, algorithm 2 (t counts batches).

    Example:
        >>> float(Iterations(HalfLog(), 10)(13, 5)) == float(HalfLog()(4, 5))
        True
        >>> float(Iterations(HalfLog(), 1, size=4)(8, 5)) == float(HalfLog()(2, 5))
        True
    """

    schedule: Schedule
    num_initial: int = 0
    size: int = 1

    def __post_init__(self) -> None:
        as_schedule(self.schedule)
        checked_count("num_initial", self.num_initial, least=0)
        checked_count("size", self.size)

    def __call__(self, t: Float[Array, ""] | float, num_dims: int) -> Float[Array, ""]:
        iterations = 1 + jnp.floor((t - self.num_initial) / self.size)
        return self.schedule(jnp.maximum(iterations, 1.0), num_dims)


def as_schedule(beta: Schedule | float) -> Schedule:
    """A schedule; a number becomes a constant one.

    Raises:
        ValueError: if it is neither a schedule nor a number of at least 0.
    """
    if callable(beta) and not isinstance(beta, type):
        return beta
    return Constant(beta)  # type: ignore[arg-type]
