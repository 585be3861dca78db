"""The search space in words."""

import math
from collections.abc import Sequence

from structbo.space import Categorical, Fixed, Integer, LinearConstraint, Ordinal, Parameter, Real


def range_text(parameter: Parameter | Fixed) -> str:
    """The values that a parameter may have, in words.

    Example:
        >>> range_text(Real(20.0, 120.0)), range_text(Real(0.5, 24.0, log=True))
        ('20 to 120', '0.5 to 24, on a logarithmic scale')
        >>> range_text(Real(1.0, 3.0, step=0.1)), range_text(Categorical(["relu", "gelu", None]))
        ('1 to 3 in steps of 0.1', 'relu, gelu or None')
        >>> range_text(Fixed("adam")), range_text(Integer(3, 3)), range_text(Categorical(["adam"]))
        ('always adam', 'always 3', 'always adam')
    """
    match parameter:
        case Fixed(value) | Ordinal(choices=[value]) | Categorical(choices=[value]):
            return f"always {value}"
        case Integer(low, high) if low == high:
            return f"always {low}"
        case Real(low, high, log, step):
            steps = "" if step is None else f" in steps of {step:.15g}"
            return f"{low:.15g} to {high:.15g}{steps}{_scale(log)}"
        case Integer(low, high, log):
            step = getattr(parameter, "step", 1)
            steps = "whole numbers" if step == 1 else f"in steps of {step}"
            return f"{low} to {high}, {steps}{_scale(log)}"
        case Ordinal(choices):
            return f"{_any_of(choices)}, in this order"
        case Categorical(choices):
            return _any_of(choices)
    return repr(parameter)


def constraint_text(constraint: LinearConstraint) -> str:
    """The bounds of a weighted sum, in words.

    Example:
        >>> constraint_text(LinearConstraint({"a": 1.0, "b": 2.0}, high=1.0))
        'a + 2 b is at most 1'
    """
    terms = [
        name if weight == 1.0 else f"{weight:g} {name}"
        for name, weight in constraint.weights.items()
    ]
    limits = {"at least": constraint.low, "at most": constraint.high}
    bounds = [f"{side} {x:g}" for side, x in limits.items() if math.isfinite(x)]
    return f"{' + '.join(terms)} is {' and '.join(bounds)}"


def _scale(log: bool) -> str:
    return ", on a logarithmic scale" if log else ""


def _any_of(choices: Sequence[object]) -> str:
    *first, last = map(str, choices)
    return f"{', '.join(first)} or {last}"
