"""Pairs of parameters: their shares of the variance, and what the data say about them."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from structbo.posterior.draws import PosteriorDraws
from structbo.posterior.importances import checked_share, drawn_shares, summarized
from structbo.posterior.structures import labels_of_pairs

if TYPE_CHECKING:
    import pandas as pd

FOUND, NONE, UNDECIDED, UNKNOWN = "found", "none", "undecided", "unknown"
NUM_PRIOR_DRAWS = 128
"""Functions drawn from the prior, which the ones from the posterior are compared with."""
SAME = 0.2
"""Distributions of a share are the same if their cumulative functions differ by at most this. With
64 and 128 draws from one continuous distribution, 93 % do."""


def verdict(lower: float, upper: float, least_share: float, *, is_like_prior: bool = False) -> str:
    """Whether a 90 % interval of a share decides, and if not, whether data say anything about it.

    Example:
        >>> ends = (0.005, 0.1), (0.0049, 0.005), (0.0, 0.0049)
        >>> [verdict(*both, least_share=0.005) for both in ends]
        ['found', 'undecided', 'none']
        >>> verdict(0.0, 0.1, 0.005, is_like_prior=True)
        'unknown'
    """
    if lower >= least_share:
        return FOUND
    if upper < least_share:
        return NONE
    return UNKNOWN if is_like_prior else UNDECIDED


def interaction_table(
    posterior: PosteriorDraws,
    prior: PosteriorDraws,
    max_draws: int,
    seed: int,
    least_share: float,
) -> "pd.DataFrame":
    """The table of `Posterior.interactions`.

    Args:
        posterior: the draws.
        prior: draws from the prior of the same model.
        max_draws: number of draws from the posterior.
        seed: seed of the drawn functions.
        least_share: share from which a pair matters.
    """
    import pandas as pd

    least = checked_share(least_share)
    drawn = drawn_shares(posterior, max_draws, seed).pairs
    before = drawn_shares(prior, NUM_PRIOR_DRAWS, seed).pairs
    shares = summarized(drawn, least)
    rows = zip(shares.lower, shares.upper, same_distributions(drawn, before), strict=True)
    columns = {
        "share": shares.mean,
        "lower": shares.lower,
        "upper": shares.upper,
        "probability": shares.matters,
        "prior": summarized(before, least).matters,
        "verdict": [verdict(low, high, least, is_like_prior=same) for low, high, same in rows],
    }
    table = pd.DataFrame(columns, index=labels_of_pairs(posterior.names))
    return table.sort_values("share", ascending=False, kind="stable")


def like_prior(
    posterior: PosteriorDraws, prior: PosteriorDraws, max_draws: int, seed: int
) -> Bool[np.ndarray, "D D"]:
    """Which pairs have a share whose posterior is its prior; symmetric, with a false diagonal."""
    drawn = drawn_shares(posterior, max_draws, seed).pairs
    same = same_distributions(drawn, drawn_shares(prior, NUM_PRIOR_DRAWS, seed).pairs)
    found = np.zeros((len(posterior.names),) * 2, bool)
    found[np.triu_indices(len(found), 1)] = same
    return found | found.T


def same_distributions(
    draws: Float[np.ndarray, "chains draws K"], others: Float[np.ndarray, "_ _ K"]
) -> Bool[np.ndarray, " K"]:
    """Whether the cumulative functions of two samples of each quantity differ by at most `SAME`.

    Example:
        >>> low, high = np.zeros((1, 10, 1)), np.ones((1, 10, 1))
        >>> same_distributions(low, low).tolist(), same_distributions(low, high).tolist()
        ([True], [False])
    """
    from scipy.stats import ks_2samp

    columns = zip(np.concatenate(draws).T, np.concatenate(others).T, strict=True)
    return np.array([ks_2samp(*both).statistic <= SAME for both in columns], bool)
