"""Leave-one-out cross-validation: how well models predict held-out observations."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jax import Array
from jaxtyping import Float, Key
from numpy.typing import ArrayLike

from structbo.models import MarginalGP
from structbo.posterior.arviz import to_container
from structbo.posterior.draws import PosteriorDraws
from structbo.posterior.predictive import leave_one_out_densities

if TYPE_CHECKING:
    import pandas as pd

HIGH_PARETO_K = 0.7
STACKING_STEPS = 20_000
STACKING_TOLERANCE = 1e-9


def compare(posteriors: Mapping[str, PosteriorDraws]) -> "pd.DataFrame":
    """Compares models, such as families of structures, by leave-one-out predictions.

    Given a draw, leave-one-out densities are exact for its process, which inducing points
    approximate (see `MarginalGP`). The draws themselves are conditioned on all observations;
    Pareto-smoothed importance sampling corrects for that.

    Args:
        posteriors: posteriors of different models given the same observations, by name.

    Returns:
        A table with the best model first: the expected log predictive density ``elpd_loo`` and its
        standard error ``se``; its difference ``elpd_diff`` from the best model and the standard
        error ``dse`` of the difference; the stacking ``weight`` in the best mixture of predictive
        densities; and the largest ``pareto_k``.

    Raises:
        ValueError: if there is no posterior, or observations differ.

    Warns:
        UserWarning: if a Pareto k is above 0.7, or above ``1 - 1 / log10(S)`` with S draws; the
            numbers of that model are unreliable.

    References:
        Vehtari, Gelman and Gabry 2017, "Practical Bayesian model evaluation using leave-one-out
        cross-validation and WAIC"; Yao et al. 2018, "Using stacking to average Bayesian predictive
        distributions"; Vehtari et al. 2024, "Pareto smoothed importance sampling", for bounds on k.
    """
    import pandas as pd

    if not posteriors:
        raise ValueError("posteriors is empty: pass at least one posterior by name.")
    first = next(iter(posteriors.values()))
    for name, posterior in posteriors.items():
        if not (np.array_equal(posterior.X, first.X) and np.array_equal(posterior.y, first.y)):
            raise ValueError(
                f"posteriors must have the same X and y, but {name!r} differs: fit all models "
                "to the same observations."
            )
    found = {name: _smoothed(posterior) for name, posterior in posteriors.items()}
    each = np.stack([elpd for elpd, _ in found.values()], axis=1)
    for name, (_, k) in found.items():
        limit = min(1.0 - 1.0 / np.log10(posteriors[name].num_draws), HIGH_PARETO_K)
        if (k > limit).any():
            warnings.warn(
                f"leave-one-out of {name!r} is unreliable: Pareto k is above {limit:.2f} for "
                f"{(k > limit).sum()} of {len(k)} observations; draw more, or remove outliers.",
                stacklevel=2,
            )
    below = each - each[:, [np.argmax(each.sum(0))]]
    scale = np.sqrt(len(each))
    table = pd.DataFrame(
        {
            "elpd_loo": each.sum(0),
            "se": scale * each.std(0),
            "elpd_diff": below.sum(0),
            "dse": scale * below.std(0),
            "weight": stacking_weights(each),
            "pareto_k": [k.max() for _, k in found.values()],
        },
        index=list(found),
    )
    return table.sort_values("elpd_loo", ascending=False)


def _smoothed(
    posterior: PosteriorDraws,
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Expected log predictive density of every observation, and its Pareto k."""
    import arviz as az

    found = posterior.map_observations(_densities)
    densities = found.reshape(posterior.num_chains, -1, len(posterior.y))
    effective = az.ess(az.convert_to_dataset({"y": np.exp(densities)}), method="mean")["y"]
    sites = {"y": densities}
    data = to_container({"posterior": sites, "log_likelihood": sites}, {}, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning of `compare` names the model
        loo = az.loo(data, pointwise=True, reff=float(np.mean(effective)) / posterior.num_draws)
    elpd = loo.elpd_i if hasattr(loo, "elpd_i") else loo.loo_i
    # If one draw has all the weight, ArviZ 0.23 gives infinity and ArviZ 1.x NaN.
    k = np.nan_to_num(np.asarray(loo.pareto_k, float), nan=np.inf, posinf=np.inf)
    return np.asarray(elpd, float), k


def _densities(
    likelihood: MarginalGP, key: Key[Array, ""], y: Float[Array, " n"]
) -> Float[Array, " n"]:
    return leave_one_out_densities(likelihood, y)


def stacking_weights(log_densities: ArrayLike) -> Float[np.ndarray, " K"]:
    """Weights of the mixture of predictive densities with the largest likelihood.

    Found by expectation maximization, which never lowers the likelihood.

    Args:
        log_densities: leave-one-out log densities of n observations under K models, shape (n, K).

    Returns:
        Non-negative numbers that sum to one.

    References:
        Yao et al. 2018, eq. (4).

    Example:
        >>> stacking_weights(np.log([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])).round(2).tolist()
        [0.71, 0.29]
    """
    values = np.asarray(log_densities, float)
    densities = np.exp(values - values.max(1, keepdims=True))
    weights = np.full(densities.shape[1], 1.0 / densities.shape[1])
    for _ in range(STACKING_STEPS):
        share = densities * weights
        new = (share / share.sum(1, keepdims=True)).mean(0)
        if np.abs(new - weights).max() < STACKING_TOLERANCE:
            break
        weights = new
    return weights
