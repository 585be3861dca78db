"""The search space: parameters, maps to and from the unit cube, and legal coordinates."""

from structbo.space.choices import Categorical, Fixed, Ordinal
from structbo.space.constraints import LinearConstraint
from structbo.space.levels import NEUTRAL, Levels
from structbo.space.numeric import Integer, Real
from structbo.space.parameters import Parameter, Scale
from structbo.space.space import Points, Space, SpaceLike

__all__ = [
    "NEUTRAL",
    "Categorical",
    "Fixed",
    "Integer",
    "Levels",
    "LinearConstraint",
    "Ordinal",
    "Parameter",
    "Points",
    "Real",
    "Scale",
    "Space",
    "SpaceLike",
]
