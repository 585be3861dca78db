"""Short runs: simple and failing objectives, and draws in place of a Markov chain."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import structbo
from structbo.data import Data, Warping
from structbo.draws import Fitted
from structbo.models import Model
from structbo.optimizer.preparation import Ahead

BOX = np.array([[-1.0, 1.0], [0.0, 10.0]])
MANY = 100
"""More quasi-random points than any test here evaluates: no model, hence fast."""

minimize = partial(structbo.minimize, show_progress_bar=False)
maximize = partial(structbo.maximize, show_progress_bar=False)


def bowl(point: np.ndarray) -> float:
    """A function with its minimum 0 at (0.3, 6)."""
    return float((point[0] - 0.3) ** 2 + (point[1] / 10.0 - 0.6) ** 2)


def failing_at(
    number: int, error: type[BaseException], objective: Callable[[Any], float] = bowl
) -> Callable[[Any], float]:
    """An objective that raises at one call, counted from 0."""
    calls = iter(range(1000))

    def function(point: Any) -> float:
        if next(calls) == number:
            raise error("out of memory")
        return objective(point)

    return function


def drawn(
    with_graphs: bool, model: Model, x: np.ndarray, y: np.ndarray, seed: int
) -> list[dict[str, Any]]:
    """Six random draws, with the types of a Markov chain's draws."""
    rng, num_dims = np.random.default_rng(seed), x.shape[1]
    scales = rng.uniform(0.3, 2.0, (6, num_dims))
    known = {"outputscale": np.ones(()), "noise": np.array(1e-2)}
    if not with_graphs:
        return [{"lengthscale": row, **known} for row in scales]
    known |= {"rho": np.array(0.5), "kappa": np.ones(())}
    upper = np.triu(rng.random((6, num_dims, num_dims)) < 0.5, 1)
    graphs = (upper | np.swapaxes(upper, 1, 2)).astype(np.int32)
    return [{"lengthscale": row, "Z": Z, **known} for row, Z in zip(scales, graphs, strict=True)]


def given_draws(model: Model, seed: int, *, with_graphs: bool = False) -> Fitted:
    """Draws in place of a Markov chain, which dominates compilation.

    Args:
        model: a model with main effects only, or the default model.
        seed: seed of the draws, together with the number of observations.
        with_graphs: whether draws have the sites of the default model, with random graphs.
    """
    return Fitted(model, seed, partial(drawn, with_graphs))


given_graphs = partial(given_draws, with_graphs=True)
"""Draws of the default model.

A search based on them compiles the same programs in all tests whose spaces have three dimensions,
of which the last is categorical, and five levels at most.
"""


def slow_schedule() -> Ahead:
    """The schedule of a run with slow evaluations, which prepares programs only when needed."""
    hours = itertools.count(step=3600.0)
    return Ahead(lambda: next(hours))


def warped(data: Data, power: float) -> tuple[Data, Warping]:
    """The data after a transform of a given power, in place of `Chain.warped`."""
    warping = Warping.of(data, power)
    return warping.data(data), warping
