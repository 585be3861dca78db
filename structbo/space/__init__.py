"""The search space: parameters, maps to and from the unit cube, and legal coordinates."""

from structbo.space.levels import Levels
from structbo.space.parameters import Categorical, Integer, Ordinal, Parameter, Real, Scale
from structbo.space.space import Points, Space, SpaceLike

__all__ = [
    "Categorical",
    "Integer",
    "Levels",
    "Ordinal",
    "Parameter",
    "Points",
    "Real",
    "Scale",
    "Space",
    "SpaceLike",
]
