"""Tasks of many parameters on the unit cube: penalties of a lasso, a trajectory, policies."""

from pathlib import Path

import numpy as np
from papers.problems.problem import Problem
from papers.problems.real_tasks import module_in


def lasso(name: str, noise: bool, seed: int, data: Path | None) -> Problem:
    """One log penalty for each feature of a lasso, whose error in cross-validation is minimized.

    The maximum 0 is a bound: no error is smaller.

    Args:
        name: name of the data set.
        noise: whether the signal is 3 times the noise instead of 10 times.
        seed: unused: the data are the same for all seeds.
        data: the folder of the tasks.
    """
    task = module_in("lasso", data).Lasso(name, noise=noise)
    bounds = [(0.0, 1.0)] * task.dim
    return Problem(lambda x: -float(task.objective(2.0 * x - 1.0)), bounds, maximum=0.0)


def rover(seed: int, data: Path | None) -> Problem:
    """A trajectory of 30 points around obstacles; the maximum 5 is a bound.

    No spline visits the same point twice in a row, so the points move by about a millionth.
    """
    module = module_in("rover", data)
    shift = np.random.default_rng(0).normal(0.0, 1e-6, module.DIM)
    return Problem(lambda x: module.objective(x + shift), [(0.0, 1.0)] * module.DIM, maximum=5.0)


def policy(environment: str, seed: int, data: Path | None) -> Problem:
    """The return of a linear policy in an episode of MuJoCo, which starts from a fixed state.

    Weights are in [-1, 1]. The maximum is unknown.

    Args:
        environment: its name in Gymnasium.
        seed: seed of the first state.
        data: unused.
    """
    import gymnasium

    made = gymnasium.make(environment)
    observed, acted = made.observation_space.shape, made.action_space.shape
    assert observed is not None and acted is not None
    shape = (*acted, *observed)

    def total(x: np.ndarray) -> float:
        weights = 2.0 * x.reshape(shape) - 1.0
        state, _ = made.reset(seed=seed)
        rewards, is_over = 0.0, False
        while not is_over:
            action = np.clip(weights @ state, -1.0, 1.0)
            state, reward, terminated, truncated, _ = made.step(action)
            rewards += float(reward)
            is_over = terminated or truncated
        return rewards

    return Problem(total, [(0.0, 1.0)] * int(np.prod(shape)))
