"""Linear inequalities between real parameters."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from structbo.space.half_spaces import HalfSpaces
from structbo.space.numeric import Real
from structbo.space.scalars import ROUND_OFF, as_number
from structbo.space.spelling import did_you_mean

MIN_ROOM = 1e-6
"""Minimum radius of a ball that satisfies all constraints in the unit cube."""
DIGITS = 9
"""Decimals to which equal corners agree."""


@dataclass(frozen=True)
class LinearConstraint:
    """A bounded weighted sum of real parameters, such as ``low <= 2 a + b <= high``.

    Points that break a constraint are neither proposed nor accepted. Importances and effects ignore
    constraints: they average over the whole box.

    Args:
        weights: weight of every parameter in the sum, by name. The parameters must be `Real`, on a
            linear scale and without steps.
        low, high: bounds of the sum, in the units of the parameters; at least one of them.

    Raises:
        TypeError, ValueError: if the weights are not finite numbers by name, or both bounds are
            missing.

    >>> from structbo import Space
    >>> space = Space(
    ...     {"a": (0.0, 1.0), "b": (0.0, 1.0)},
    ...     constraints=[LinearConstraint({"a": 1.0, "b": 1.0}, high=1.0)],
    ... )
    >>> space.to_unit([0.9, 0.8])
    Traceback (most recent call last):
    ValueError: points breaks a constraint: 1 * a + 1 * b must be at most 1, got 1.7
    """

    weights: Mapping[str, float] = field(hash=False)
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not isinstance(self.weights, Mapping):
            raise TypeError(f"weights must be numbers by name, got {self.weights!r}")
        weights = {name: as_number(f"weight of {name!r}", w) for name, w in self.weights.items()}
        if not weights or not all(math.isfinite(w) and w != 0.0 for w in weights.values()):
            raise ValueError(f"weights must be finite and not zero, got {weights}")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "low", as_number("low", self.low))
        object.__setattr__(self, "high", as_number("high", self.high))
        if not self.low < self.high:
            raise ValueError(
                f"low must be below high, got low={self.low} and high={self.high}; for an "
                "equality, compute one parameter from the others"
            )
        if math.isinf(self.low) and math.isinf(self.high):
            raise ValueError(f"a constraint needs a finite low or high, got none: {self!r}")

    def check(self, where: str, values: Mapping[str, float], slack: float) -> None:
        """Raises a ValueError if values by name break the constraint by more than a slack."""
        total = sum(weight * float(values[name]) for name, weight in self.weights.items())
        if not self.low - slack <= total <= self.high + slack:
            terms = " + ".join(f"{weight:g} * {name}" for name, weight in self.weights.items())
            limits = {"at least": self.low, "at most": self.high}
            bounds = [f"{side} {x:g}" for side, x in limits.items() if math.isfinite(x)]
            raise ValueError(
                f"{where} breaks a constraint: {terms} must be {' and '.join(bounds)}, got "
                f"{total:.6g}"
            )


def check_names(constraint: LinearConstraint, parameters: Mapping[str, object]) -> None:
    """Checks that a constraint names continuous parameters only.

    Raises:
        TypeError: if it is not a constraint.
        ValueError: if a name is unknown, or its parameter is not a linear `Real` without steps.
    """
    if not isinstance(constraint, LinearConstraint):
        raise TypeError(
            "constraints must be a list such as [LinearConstraint({'a': 1.0, 'b': 1.0}, "
            f"high=1.0)], got {constraint!r}"
        )
    for name in constraint.weights:
        if name not in parameters:
            hint = did_you_mean(name, parameters)
            raise ValueError(f"{constraint} has an unknown parameter {name!r}{hint}")
        made = parameters[name]
        if not isinstance(made, Real) or made.log or made.step is not None:
            raise ValueError(
                f"{constraint}: parameter {name!r} must be Real, linear and without steps, got "
                f"{made!r}"
            )


def slack_of(constraint: LinearConstraint, reals: Mapping[str, Real]) -> float:
    """The tolerance of a constraint for points rounded to single precision."""
    return ROUND_OFF * sum(
        abs(weight) * (reals[name].high - reals[name].low)
        for name, weight in constraint.weights.items()
    )


def half_spaces(
    constraints: Sequence[LinearConstraint], names: Sequence[str], reals: Mapping[str, Real]
) -> HalfSpaces:
    """The constraints in the unit cube.

    Args:
        constraints: one or more constraints.
        names: names of all D parameters, in the order of the coordinates.
        reals: the parameters with weights, by name.

    Raises:
        ValueError: if no point satisfies the constraints.
    """
    normals: list[Float[np.ndarray, " D"]] = []
    bounds: list[float] = []
    for constraint in constraints:
        normal = np.zeros(len(names))
        offset = 0.0
        for name, weight in constraint.weights.items():
            normal[names.index(name)] = weight * (reals[name].high - reals[name].low)
            offset += weight * reals[name].low
        length = float(np.linalg.norm(normal))
        for sign, bound in ((1.0, constraint.high), (-1.0, constraint.low)):
            if math.isfinite(bound):
                normals.append(sign * normal / length)
                bounds.append(sign * (bound - offset) / length)
    rows, limits = np.array(normals), np.array(bounds)
    center, radius = _largest_ball(rows, limits)
    if radius < MIN_ROOM:
        raise ValueError(f"the constraints leave no room between the bounds: {list(constraints)}")
    return HalfSpaces.of(rows, limits, center, _vertices(rows, limits, center))


def _largest_ball(
    normals: Float[np.ndarray, "H D"], bounds: Float[np.ndarray, " H"]
) -> tuple[Float[np.ndarray, " D"], float]:
    """Center and radius of the largest ball in the allowed part of the unit cube.

    Unconstrained coordinates are at one half. The radius is negative if there is no ball.
    """
    from scipy.optimize import linprog

    (involved,) = np.nonzero(np.any(normals != 0.0, axis=0))
    count = len(involved)
    faces = np.concatenate([np.eye(count), -np.eye(count), normals[:, involved]])
    limits = np.concatenate([np.ones(count), np.zeros(count), bounds])
    found = linprog(
        -np.eye(count + 1)[-1],
        A_ub=np.column_stack([faces, np.ones(len(faces))]),
        b_ub=limits,
        bounds=(None, None),
    )
    center = np.full(normals.shape[1], 0.5)
    center[involved] = found.x[:-1]
    return center, float(found.x[-1])


def _vertices(
    normals: Float[np.ndarray, "H D"],
    bounds: Float[np.ndarray, " H"],
    center: Float[np.ndarray, " D"],
) -> Float[np.ndarray, "V D"]:
    """Distinct corners at which some constrained coordinate is minimal or maximal.

    Unconstrained coordinates are at the center.
    """
    from scipy.optimize import linprog

    (involved,) = np.nonzero(np.any(normals != 0.0, axis=0))
    costs = [sign * row for row in np.eye(len(involved)) for sign in (1.0, -1.0)]
    corners = np.tile(center, (len(costs), 1))
    corners[:, involved] = [
        linprog(cost, A_ub=normals[:, involved], b_ub=bounds, bounds=(0.0, 1.0)).x for cost in costs
    ]
    return np.unique(corners.round(DIGITS), axis=0)
