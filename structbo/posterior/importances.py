"""Importances of parameters: their shares of the variance of the function, with intervals.

The variance is over the unit cube with uniform and independent parameters. The shares are Sobol's
indices: first order, second order and total.
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np
from jax import Array
from jaxtyping import Float, Int, Key

from structbo.models import ConditionedGP
from structbo.models.foundation.arguments import checked_seed
from structbo.posterior.anova import NO_TRIPLES, Variances, term_variances
from structbo.posterior.draws import PosteriorDraws
from structbo.posterior.quadrature import Quadrature, quadrature_of
from structbo.posterior.structures import (
    Probabilities,
    indicator_probabilities,
    labels_of_pairs,
    symmetric,
)
from structbo.space.differing_names import difference

if TYPE_CHECKING:
    import pandas as pd

NUM_FEATURES = 256
"""Random features of each component of a drawn function."""
NUM_NODES = 24
"""Nodes of Gauss-Legendre quadrature, enough for lengthscales above 0.1."""
NUM_POINTS = 256
"""Points at which terms of three parameters and more are evaluated."""
MAX_TRIPLES = 2000
"""Largest number of triples in a table: 23 parameters have fewer."""
LEAST_SHARE = 0.005
"""Share of the variance from which a term matters."""


class Shares(NamedTuple):
    """Posterior of shares of the variance of the function.

    Args:
        mean: average over draws of the structure, the hyper-parameters and the function.
        lower: 5 % quantile over these draws.
        upper: 95 % quantile over these draws.
        mcse: Monte Carlo standard error of the mean; NaN with fewer than four draws per chain.
        matters: fraction of the draws whose share is at least the argument ``least_share`` of
            `Posterior.importances`, which is the posterior probability of that event; NaN if it is
            unknown.
    """

    mean: Float[np.ndarray, "*terms"]
    lower: Float[np.ndarray, "*terms"]
    upper: Float[np.ndarray, "*terms"]
    mcse: Float[np.ndarray, "*terms"]
    matters: Float[np.ndarray, "*terms"]


class Importances(NamedTuple):
    """Shares of the variance of the function due to single parameters, pairs and larger groups.

    Args:
        names: names of the D parameters.
        first_order: shares of the main effects, the averages over all other parameters, shape (D,).
        total: shares of all terms that contain a parameter, shape (D,).
        pairs: shares of the interactions of two parameters beyond their main effects, symmetric
            with a zero diagonal, shape (D, D). Zero for pairs that no draw joins;
            `Posterior.together_probabilities` has the Monte Carlo error of that, and
            `Posterior.interaction_probabilities` the one of ``pairs.matters``.
        higher_order: share of all terms of three parameters and more, a scalar; see
            `Posterior.triples`. In every draw, first-order, pair and higher-order shares add up to
            one.
    """

    names: tuple[str, ...]
    first_order: Shares
    total: Shares
    pairs: Shares
    higher_order: Shares

    def check_names(self, names: Sequence[str]) -> None:
        """Checks that the importances are of these parameters, in this order.

        Raises:
            ValueError: if they are not.
        """
        if self.names != tuple(names):
            raise ValueError(
                "importances must be of the same parameters in the same order: "
                f"{difference(self.names, names)}."
            )

    def to_frame(self) -> "pd.DataFrame":
        """A table with the columns of `Shares` and a row for every parameter and every pair.

        Rows are labeled by kind, "first_order", "total", "pair" or "higher_order", and by the names
        of the parameters: ``table.loc["total"]`` has one row per parameter.
        """
        import pandas as pd

        upper = np.triu_indices(len(self.names), 1)
        kinds = {
            "first_order": (self.names, self.first_order),
            "total": (self.names, self.total),
            "pair": (labels_of_pairs(self.names), Shares(*(v[upper] for v in self.pairs))),
            "higher_order": (("",), Shares(*(np.atleast_1d(v) for v in self.higher_order))),
        }
        tables = [
            pd.DataFrame(shares._asdict(), index=list(labels)) for labels, shares in kinds.values()
        ]
        return pd.concat(tables, keys=list(kinds), names=["kind", "parameters"])


class DrawnShares(NamedTuple):
    """Shares of the variance of a function from each draw.

    Args:
        first_order: shares of the main effects.
        total: shares of all terms that contain a parameter.
        pairs: shares of the interactions of two parameters, each pair once.
        higher_order: share of all terms of three parameters and more.
        triples: shares of the chosen interactions of three parameters.
    """

    first_order: Float[np.ndarray, "chains draws D"]
    total: Float[np.ndarray, "chains draws D"]
    pairs: Float[np.ndarray, "chains draws E"]
    higher_order: Float[np.ndarray, "chains draws 1"]
    triples: Float[np.ndarray, "chains draws T"]


def posterior_importances(
    posterior: PosteriorDraws, max_draws: int, seed: int, least_share: float = LEAST_SHARE
) -> Importances:
    """The importances of all parameters and pairs; see `Posterior.importances`."""
    least = checked_share(least_share)
    drawn = drawn_shares(posterior, max_draws, seed)
    first, total, pairs, higher, _ = (summarized(shares, least) for shares in drawn)
    return Importances(
        posterior.names,
        first,
        total,
        _symmetric(pairs, len(posterior.names)),
        Shares(*(value[0, ...] for value in higher)),
    )


def posterior_interactions(
    posterior: PosteriorDraws, max_draws: int, seed: int, least_share: float
) -> Probabilities:
    """Whether pairs matter; see `Posterior.interaction_probabilities`."""
    least = checked_share(least_share)
    shares = drawn_shares(posterior, max_draws, seed).pairs
    pairs = np.triu_indices(len(posterior.names), 1)
    return symmetric(indicator_probabilities(shares >= least), pairs, posterior.names)


def checked_share(share: object) -> float:
    """The argument ``least_share``, a number in (0, 1)."""
    if isinstance(share, float | np.floating) and 0.0 < share < 1.0:
        return float(share)
    raise ValueError(f"least_share must be a number in (0, 1), got {share!r}.")


def posterior_triples(
    posterior: PosteriorDraws, max_draws: int, seed: int, least_share: float
) -> "pd.DataFrame":
    """The table of `Posterior.triples`."""
    import pandas as pd

    least, names = checked_share(least_share), posterior.names
    if (number := comb(len(names), 3)) > MAX_TRIPLES:
        raise ValueError(
            f"triples are computed for at most {MAX_TRIPLES} groups, and {len(names)} parameters "
            f"have {number}. importances().higher_order is the share of all of them."
        )
    triples = np.array([*combinations(range(len(names)), 3)], int).reshape(-1, 3)
    shares = summarized(drawn_shares(posterior, max_draws, seed, triples).triples, least)
    labels = [",".join(names[dim] for dim in triple) for triple in triples]
    table = pd.DataFrame(shares._asdict(), index=labels)
    return table.sort_values("mean", ascending=False, kind="stable")


def drawn_shares(
    posterior: PosteriorDraws,
    max_draws: int,
    seed: int,
    triples: Int[np.ndarray, "T 3"] = NO_TRIPLES,
) -> DrawnShares:
    """Shares of one function for each of at most ``max_draws`` draws.

    Args:
        posterior: the draws.
        max_draws: number of draws.
        seed: seed of the functions.
        triples: the dimensions of the interactions of three parameters.
    """
    from scipy.stats import qmc

    key = jax.random.key(checked_seed(seed))
    quadrature = quadrature_of(posterior, NUM_NODES)
    kept = posterior.thinned(max_draws)
    uniforms = qmc.Sobol(len(posterior.names), scramble=False).random(NUM_POINTS)
    found = kept.map_draws(_drawn_variances, quadrature, uniforms, triples, key=key)
    first, pairs, higher, higher_with, of_three = (np.asarray(value) for value in found)
    upper = np.triu_indices(len(posterior.names), 1)
    interactions = pairs[:, *upper]
    variance = first.sum(1) + interactions.sum(1) + higher

    def shares(variances: Float[np.ndarray, "S K"]) -> Float[np.ndarray, "chains draws K"]:
        # A constant function has no variance to share.
        share = variances / np.where(variance > 0.0, variance, 1.0)[:, None]
        return share.reshape(kept.num_chains, len(share) // kept.num_chains, share.shape[1])

    return DrawnShares(
        shares(first),
        shares(first + pairs.sum(2) + higher_with),
        shares(interactions),
        shares(higher[:, None]),
        shares(of_three),
    )


def _drawn_variances(
    gp: ConditionedGP,
    key: Key[Array, ""],
    quadrature: Quadrature,
    uniforms: Float[Array, "M D"],
    triples: Int[Array, "T 3"],
) -> Variances:
    """Variances of the terms of one function drawn from a process."""
    key_path, key_shift = jax.random.split(key)
    path = gp.sample_path(key_path, NUM_FEATURES)
    shift = jax.random.uniform(key_shift, uniforms.shape[1:])
    return term_variances(path, quadrature, (uniforms + shift) % 1.0, triples)


def summarized(
    draws: Float[np.ndarray, "chains draws K"], least_share: float = LEAST_SHARE
) -> Shares:
    """Means, quantiles and Monte Carlo errors of draws, and how many reach a share."""
    import arviz as az

    flat = np.concatenate(draws)
    # With Weibull's definition, a new draw is below the 5 % quantile with probability 5 %.
    lower, upper = np.quantile(flat, [0.05, 0.95], axis=0, method="weibull")
    mcse = np.full(draws.shape[-1], np.nan)
    if draws.shape[1] > 3:
        moved = (flat != flat[0]).any(0)
        mcse[~moved] = 0.0
        if moved.any():
            ess = az.ess(az.convert_to_dataset({"share": draws[..., moved]}), method="mean")
            mcse[moved] = flat[:, moved].std(0, ddof=1) / np.sqrt(np.asarray(ess["share"]))
    return Shares(flat.mean(0), lower, upper, mcse, (flat >= least_share).mean(0))


def _symmetric(shares: Shares, num_dims: int) -> Shares:
    """Shares of pairs (K,) as symmetric matrices (D, D) with a zero diagonal."""
    matrices = np.zeros((len(shares), num_dims, num_dims))
    rows, columns = np.triu_indices(num_dims, 1)
    matrices[:, rows, columns] = matrices[:, columns, rows] = np.stack(shares)
    return Shares(*matrices)
