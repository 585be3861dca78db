"""A new maximizer: the best of many random points."""

from dataclasses import dataclass

import jax
import numpy as np

import structbo as sb
from structbo.maximizers import MAXIMIZERS, Maximizer, evaluate
from structbo.models import AdditiveGP, main_effects


@dataclass(frozen=True)
class RandomPoints(Maximizer):
    number: int = 1000

    def __call__(self, function, search):  # returns points, the best first
        num_dims = len(search.best)
        points = search.levels.even(jax.random.uniform(search.key, (self.number, num_dims)))
        return np.asarray(points)[np.argsort(-np.asarray(evaluate(function, points)))]


MAXIMIZERS["random_points"] = RandomPoints()
X, y = [{"a": 0.1}, {"a": 0.5}, {"a": 0.9}], [0.5, 0.1, 0.6]
model = AdditiveGP(main_effects())  # quicker than the default, which learns a structure
print(sb.suggest({"a": (0.0, 1.0)}, X, y, num_initial=3, model=model, maximizer="random_points"))
