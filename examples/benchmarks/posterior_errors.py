"""Errors between two posteriors of the default model: edges, other sites, predictions."""

from typing import Any

import jax
import numpy as np
from posterior_data import DataSet
from posterior_model import MODEL

from structbo.data import Data
from structbo.draws import Draws, condition
from structbo.models.foundation.compilation import compiled
from structbo.models.foundation.precision import double_precision

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
SITES = ("rho", "kappa", "noise", "outputscale", "lengthscale")
MAX_DENSITY_DRAWS = 400


def summary(draws: Draws, data: DataSet) -> dict[str, Any]:
    """Compared quantities: shares of edges, quantiles of logarithms, and predictive density.

    Args:
        draws: of the default model, the draws along the first axis.
        data: the observations that they are conditioned on.
    """
    rows = np.triu_indices(data.x.shape[1], 1)
    thinned = slice(None, None, -(-len(draws["Z"]) // MAX_DENSITY_DRAWS))
    return {
        "edges": np.asarray(draws["Z"])[:, *rows].mean(0).tolist(),
        **{s: np.quantile(np.log(draws[s]), LEVELS, axis=0).tolist() for s in SITES},
        "density": log_density({name: values[thinned] for name, values in draws.items()}, data),
    }


def log_density(draws: Draws, data: DataSet) -> float:
    """Mean log predictive density of the test values, by the mixture of all draws."""
    with double_precision():
        mean, variance = (
            np.asarray(part)
            for part in _predicted(MODEL, draws, Data.padded(*data[:2]), data.test_x)
        )
    each = -0.5 * ((data.test_y - mean) ** 2 / variance + np.log(2.0 * np.pi * variance))
    return float((np.logaddexp.reduce(each, axis=0) - np.log(len(each))).mean())


@compiled("model")
def _predicted(model: Any, draws: Draws, data: Data, x: Any) -> Any:
    """Mean and variance of observations at points (m, D), two arrays of shape (draws, m)."""

    def of_draw(gp: Any) -> Any:
        mean, variance = gp.predict(x)
        return mean, variance + gp.noise

    return jax.lax.map(of_draw, condition(model, draws, data))


def errors(draws: Any, data: DataSet, reference: dict[str, Any]) -> list[float]:
    """Errors of draws against the long run: edges, other sites, and predictive density."""
    own = summary(draws, data)
    edges = np.abs(np.subtract(own["edges"], reference["edges"])).mean()
    sites = []
    for site in SITES:
        true = np.array(reference[site])
        spread = np.maximum(true[-1] - true[0], 1e-3)
        sites.append((np.abs(own[site] - true) / spread).mean())
    return [float(edges), float(np.mean(sites)), reference["density"] - own["density"]]
