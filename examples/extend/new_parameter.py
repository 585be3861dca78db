"""A new parameter type: powers of two, evenly spaced by their exponents."""

from dataclasses import dataclass

import numpy as np

import structbo as sb
from structbo.space import Parameter


@dataclass(frozen=True)
class PowerOfTwo(Parameter):
    most: int  # the largest exponent

    @property
    def levels(self):  # legal coordinates in [0, 1]
        return np.linspace(0.0, 1.0, self.most + 1)

    def to_unit(self, value):
        return [2**k for k in range(self.most + 1)].index(value) / self.most

    def from_unit(self, u):
        return 2 ** round(u * self.most)


space = {"width": PowerOfTwo(6)}
print(sb.minimize(lambda p: (p["width"] - 8) ** 2, space, 4, show_progress_bar=False))
