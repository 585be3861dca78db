"""Runs of known functions that a greedy search has chosen, and true shares of the parameters."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import qmc

from structbo import Categorical, Optimizer, Space
from structbo.space import Levels


class Known(NamedTuple):
    """A function whose values are to be maximized, and the standard deviation of its noise."""

    space: Space
    function: Callable[[dict[str, Any]], float]
    noise: float


def _yield(point: dict[str, Any]) -> float:
    """A product of effects, in percent: without a catalyst nothing else matters."""
    catalyst = {"A": 1.0, "B": 0.5, "none": 0.02}[point["catalyst"]]
    base = {"K": 1.0, "C": 0.8, "N": 0.6}[point["base"]]
    heat = np.exp(-(((point["temperature"] - 85.0) / 30.0) ** 2))
    return float(95.0 * catalyst * base * heat * (1.0 - np.exp(-point["time"] / 4.0)))


def _sum(point: dict[str, Any]) -> float:
    a, b, c, d = point.values()
    return float(3.0 * np.sin(3.0 * a) + 6.0 * (b - 0.3) ** 2 + 1.2 * c + 0.5 * np.cos(4.0 * d))


def _steep(point: dict[str, Any]) -> float:
    a, b, c, d = point.values()
    return float(-20.0 * (a - 0.62) ** 2 - 2.0 * (b - 0.4) ** 2 - (c - 0.5) ** 2 - 0.3 * d)


def _pairs(point: dict[str, Any]) -> float:
    a, b, c, d = point.values()
    return float(4.0 * np.sin(1.5 * np.pi * a * b) + 6.0 * (c - 0.5) * (d - 0.5))


def _peak(point: dict[str, Any]) -> float:
    x = np.array(list(point.values()))
    return float(10.0 * np.exp(-((x - 0.35) ** 2 / [0.03, 0.05, 0.1, 0.4]).sum()))


def _cliff(point: dict[str, Any]) -> float:
    a, b, c, d = point.values()
    return float(5.0 * np.tanh(8.0 * (a - 0.5)) * (b > 0.3) + 2.0 * c * d)


CHEMISTRY = Space(
    {
        "temperature": (20.0, 120.0),
        "time": (0.5, 24.0, "log"),
        "catalyst": Categorical(["A", "B", "none"]),
        "base": Categorical(["K", "C", "N"]),
    }
)
BOX = Space({name: (0.0, 1.0) for name in "abcd"})
FUNCTIONS = {
    "yield": Known(CHEMISTRY, _yield, 1.5),
    "sum": Known(BOX, _sum, 0.1),
    "steep": Known(BOX, _steep, 0.05),
    "pairs": Known(BOX, _pairs, 0.1),
    "peak": Known(BOX, _peak, 0.1),
    "cliff": Known(BOX, _cliff, 0.1),
}


def greedy_search(name: str, seed: int) -> Optimizer:
    """An optimizer that was told 10 quasi-random runs, and 20 near the best of those before."""
    space, function, noise = FUNCTIONS[name]
    rng = np.random.default_rng(seed)
    optimizer = Optimizer(space, "maximize", seed=seed)
    design = qmc.Sobol(space.num_dims, seed=seed).random(16)[:10]
    for k in range(30):
        x = design[k] if k < 10 else _near(optimizer, rng)
        (point,) = space.from_unit(space.snap(x[None]))
        optimizer.tell(point, function(space.by_name(point)) + noise * rng.standard_normal())
    return optimizer


def _near(optimizer: Optimizer, rng: np.random.Generator) -> np.ndarray:
    """The best point so far with about half of its coordinates changed a little."""
    (best,) = optimizer.space.to_unit([optimizer.best.params])
    moves = rng.random(len(best)) < 0.5
    return np.clip(best + moves * rng.normal(0.0, 0.12, len(best)), 0.0, 1.0)


def total_shares(name: str, optimizer: Optimizer) -> np.ndarray:
    """Total Sobol' indices of the function on the scale of the model, by Jansen's estimator."""
    space, function, _ = FUNCTIONS[name]
    uniform = qmc.Sobol(2 * space.num_dims, seed=0).random(2**12)
    first, second = np.split(uniform, 2, axis=1)
    transform = optimizer.posterior.units.transform

    def values(x: np.ndarray) -> np.ndarray:
        points = space.from_unit(Levels.of(space.levels).even(x))
        return transform(np.array([function(space.by_name(point)) for point in points]))

    base = values(first)
    shares = []
    for d in range(space.num_dims):
        changed = first.copy()
        changed[:, d] = second[:, d]
        shares.append(np.square(base - values(changed)).mean() / 2.0 / base.var())
    return np.array(shares)
