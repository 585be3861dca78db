"""A new batch strategy: the best point, then the points farthest from all others."""

from dataclasses import dataclass

import numpy as np

import structbo as sb
from structbo.batches import BATCH_STRATEGIES
from structbo.models import AdditiveGP, main_effects


@dataclass(frozen=True)
class FarApart:
    def __call__(self, problem, q, key):  # indices of q available candidates
        chosen, ground = [problem.start], problem.ground.without(problem.start)
        while len(chosen) < q:
            taken = ground.points[[*chosen, *problem.pending]]
            distances = np.linalg.norm(ground.points[:, None] - taken, axis=2)
            chosen.append(ground.best(distances.min(1)))
            ground = ground.without(chosen[-1])
        return chosen


BATCH_STRATEGIES["far_apart"] = FarApart()
X, y = [{"a": 0.1}, {"a": 0.5}, {"a": 0.9}], [0.5, 0.1, 0.6]
model = AdditiveGP(main_effects())  # quicker than the default, which learns a structure
print(sb.suggest({"a": (0.0, 1.0)}, X, y, n=3, num_initial=3, model=model, batch="far_apart"))
