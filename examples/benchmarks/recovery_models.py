"""Models of structbo, as methods of recovery.py."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from jax import Array
from recovery_answers import Answer, Intervals, Method

import structbo as sb
from structbo.data import padded
from structbo.models import ConditionedGP, Model
from structbo.optimizer.optimizer import NUM_SAMPLES

MODELS: dict[str, Callable[[sb.Space], Model]] = {
    "fit": lambda space: sb.default_model(space.categorical),
    "no_residual": lambda space: sb.default_model(space.categorical, has_residual=False),
    "anova": sb.anova_model,
}
"""Models given to `fit`, which does not warp observations. A new model is a line here."""


def by_posterior(
    posterior_of: Callable[[sb.Space, np.ndarray, np.ndarray, int], sb.Posterior],
    space: sb.Space,
    x: np.ndarray,
    y: np.ndarray,
    seed: int,
) -> Answer:
    """Everything that a posterior of structbo says."""
    start = time.process_time()
    posterior = posterior_of(space, x, y, seed)
    seconds = time.process_time() - start
    found = posterior.importances(seed=seed)

    def predict(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moments = posterior.map_draws(observation, padded(points), max_draws=64)
        means, variances = (np.asarray(value)[:, : len(points)] for value in moments)
        mean, deviation = posterior.units.moments(means, variances)
        return mean, deviation**2

    return Answer(
        predict,
        Intervals(*found.first_order[:3]),
        Intervals(*found.pairs[:3]),
        posterior.edge_probabilities().mean,
        seconds,
        float(posterior.summary()["r_hat"].max()),
    )


def observation(gp: ConditionedGP, key: Array, x: Array) -> tuple[Array, Array]:
    """Mean and variance of new observations, on the scale of the model."""
    mean, variance = gp.predict(x)
    return mean, variance + gp.noise


def of_search(space: sb.Space, x: np.ndarray, y: np.ndarray, seed: int) -> sb.Posterior:
    """The posterior of an optimizer that was told the data."""
    optimizer = sb.Optimizer(space, "maximize", seed=seed)
    for point, value in zip(space.from_unit(x), y, strict=True):
        optimizer.tell(point, float(value))
    return optimizer.posterior


def of_model(
    model_of: Callable[[sb.Space], Model], space: sb.Space, x: np.ndarray, y: np.ndarray, seed: int
) -> sb.Posterior:
    """The posterior of a model."""
    points = space.from_unit(x)
    return sb.fit(
        model_of(space),
        points,
        y,
        space=space,
        num_samples=NUM_SAMPLES,
        seed=seed,
        show_progress_bar=False,
    )


STRUCTBO: dict[str, Method] = {
    "structbo": partial(by_posterior, of_search),
    **{name: partial(by_posterior, partial(of_model, model)) for name, model in MODELS.items()},
}
"""The posterior of an `Optimizer` with default settings, and the posteriors of models."""
