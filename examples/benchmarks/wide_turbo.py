"""TuRBO-1 with BoTorch's models: `pip install botorch`.

References:
    Eriksson, Pearce, Gardner, Turner and Poloczek 2019, "Scalable global optimization via local
    Bayesian optimization"; the settings follow BoTorch's tutorial.
"""

from dataclasses import dataclass

import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.generation import MaxPosteriorSampling
from botorch.models import SingleTaskGP
from gpytorch.constraints import Interval
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from papers.problems.problem import Problem
from scipy.stats import qmc

BATCH_SIZE, NUM_INITIAL = 4, 20
"""Sizes of a batch, and of the Sobol design after a restart."""
SHORTEST, LONGEST, MAX_SUCCESSES = 0.5**7, 1.6, 10


@dataclass
class Region:
    """The size of the trust region.

    Args:
        max_failures: number of batches without improvement that halve the length.
        length: geometric mean of the sides.
    """

    max_failures: int
    length: float = 0.8
    successes: int = 0
    failures: int = 0

    def update(self, best: float, before: float) -> None:
        """Counts a batch, given the best values with and without it."""
        if best > before + 1e-3 * abs(before):
            self.successes, self.failures = self.successes + 1, 0
        else:
            self.successes, self.failures = 0, self.failures + 1
        if self.successes == MAX_SUCCESSES:
            self.length, self.successes = min(2.0 * self.length, LONGEST), 0
        elif self.failures == self.max_failures:
            self.length, self.failures = self.length / 2.0, 0


class Turbo:
    """One trust region, with batches by Thompson sampling; a collapsed region restarts.

    Args:
        problem: the function to maximize, on the unit cube.
        seed: seed of all random choices.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self._num_dims, self._seed = problem.num_dims, seed
        self._restart()

    def _restart(self) -> None:
        self._region = Region(-(-max(BATCH_SIZE, self._num_dims) // BATCH_SIZE))
        self._points: list[np.ndarray] = []
        self._values: list[float] = []
        self._queue: list[np.ndarray] = []
        self._num_before = 0

    def ask(self) -> np.ndarray:
        """The next point of the batch."""
        if not self._queue:
            if start := self._num_before:
                self._region.update(max(self._values), max(self._values[:start]))
            if self._region.length < SHORTEST:
                self._restart()
                self._seed += 1000
                first = qmc.Sobol(self._num_dims, seed=self._seed).random(32)
                self._queue = list(first[:NUM_INITIAL])
            else:
                self._num_before = len(self._values)
                self._queue = list(self._batch())
        return self._queue.pop(0)

    def tell(self, point: np.ndarray, value: float) -> None:
        """Reports the value of a point."""
        self._points.append(point)
        self._values.append(value)

    def _batch(self) -> np.ndarray:
        """The best candidates of posterior samples; they share variables with the best point."""
        x, y = torch.tensor(np.array(self._points)).double(), torch.tensor(self._values).double()
        model, sides = fitted(x, y)
        best, half, size = x[y.argmax()], sides * self._region.length / 2.0, self._num_dims
        low, high = (best - half).clamp(0.0, 1.0), (best + half).clamp(0.0, 1.0)
        count = min(5000, max(2000, 200 * size))
        seed = int(torch.randint(2**31, (1,)))
        sobol = torch.quasirandom.SobolEngine(size, scramble=True, seed=seed)
        is_moved = torch.rand(count, size) <= min(20.0 / size, 1.0)
        still = torch.where(is_moved.sum(1) == 0)[0]
        is_moved[still, torch.randint(0, size, (len(still),))] = True
        candidates = torch.where(is_moved, low + (high - low) * sobol.draw(count).double(), best)
        with torch.no_grad():
            sample = MaxPosteriorSampling(model, replacement=False)
            return np.asarray(sample(candidates, num_samples=BATCH_SIZE))


def fitted(x: torch.Tensor, y: torch.Tensor) -> tuple[SingleTaskGP, torch.Tensor]:
    """A Matern process, and the relative sides of its region, with a geometric mean of one."""
    limits = Interval(0.005, 4.0)
    matern = MaternKernel(nu=2.5, ard_num_dims=x.shape[1], lengthscale_constraint=limits)
    likelihood = GaussianLikelihood(noise_constraint=Interval(1e-8, 1e-3))
    model = SingleTaskGP(x, y[:, None], likelihood=likelihood, covar_module=ScaleKernel(matern))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    sides = matern.lengthscale.squeeze(0).detach()
    return model, sides / sides.log().mean().exp()
