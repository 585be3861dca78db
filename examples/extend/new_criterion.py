"""A new criterion: the value that the function exceeds with a given probability."""

from dataclasses import dataclass

import jax.numpy as jnp

import structbo as sb
from structbo.acquisition import CRITERIA, JointCriterion, best_means
from structbo.models import AdditiveGP, main_effects


@dataclass(frozen=True)
class Quantile(JointCriterion):
    deviations: float = 1.5

    def contexts(self, posteriors, search):  # per draw, what the score needs
        return best_means(posteriors)

    def score(self, mean, deviation, context):  # at points (m,), for one draw
        return jnp.minimum(mean + self.deviations * deviation - context, 3.0)


CRITERIA["quantile"] = Quantile()
X, y = [{"a": 0.1}, {"a": 0.5}, {"a": 0.9}], [0.5, 0.1, 0.6]
model = AdditiveGP(main_effects())  # quicker than the default, which learns a structure
print(sb.suggest({"a": (0.0, 1.0)}, X, y, num_initial=3, model=model, criterion="quantile"))
