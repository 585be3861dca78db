"""Methods to compare, which are told points with values to be maximized."""

import sys
from typing import Any

import numpy as np


class Structbo:
    """An optimizer that keeps its state between asks, for a given number of evaluations."""

    def __init__(
        self,
        num_dims: int,
        batch: str = "believer",
        seed: int = 0,
        num_evaluations: int = sys.maxsize,
        **settings: Any,
    ) -> None:
        import structbo as sb

        box = sb.Space.box([[0, 1]] * num_dims)
        self._optimizer = sb.Optimizer(box, seed=seed, batch=batch, **settings)
        self._num_evaluations = num_evaluations

    def tell(self, point: np.ndarray, value: float) -> None:
        self._optimizer.tell(point, -value)

    def ask(self, size: int) -> list[np.ndarray]:
        with self._optimizer.expecting(self._num_evaluations):
            return [np.asarray(trial.params) for trial in self._optimizer.ask(size)]


class BoTorch:
    """BoTorch's documented default, fitted from scratch at every ask."""

    def __init__(self, num_dims: int, batch: str = "believer", seed: int = 0) -> None:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self._bounds = torch.stack([torch.zeros(num_dims), torch.ones(num_dims)]).double()
        self._points: list[np.ndarray] = []
        self._values: list[float] = []

    def tell(self, point: np.ndarray, value: float) -> None:
        self._points.append(point)
        self._values.append(value)

    def ask(self, size: int) -> list[np.ndarray]:
        import torch
        from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        x = torch.tensor(np.array(self._points)).double()
        model = SingleTaskGP(x, torch.tensor(self._values).double()[:, None])
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        best = max(self._values)
        gain = (LogExpectedImprovement if size == 1 else qLogExpectedImprovement)(model, best)
        return list(
            optimize_acqf(gain, self._bounds, size, num_restarts=10, raw_samples=512)[0].numpy()
        )
