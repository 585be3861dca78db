"""Properties of structures over draws: probabilities, their Monte Carlo errors, and R-hat."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from structbo.models import AdditiveCovariance, elimination_width
from structbo.models.foundation.arrays import AnyArray

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS = 20
"""Maximum number of rows of a printed table; longer tables show the first and the last rows."""

Pairs = tuple[Int[np.ndarray, " E"], Int[np.ndarray, " E"]]
"""Rows and columns of pairs of dimensions."""


@dataclass(frozen=True, eq=False, repr=False)
class Probabilities:
    """Posterior probabilities of events, with their Monte Carlo errors.

    ``mean, mcse = probabilities`` gives the two arrays; printed, it is the table of `to_frame`.

    Args:
        mean: share of the draws in which each event happens; a symmetric matrix for pairs.
        mcse: Monte Carlo standard errors of these shares.
        names: names of the K events or the D dimensions; by default 0, 1, ...

    Example:
        >>> pairs = np.array([[0.0, 0.2, 0.9], [0.2, 0.0, 0.4], [0.9, 0.4, 0.0]])
        >>> Probabilities(pairs, 0.1 * pairs, ("a", "b", "c"))
              mean   mcse
        a,c  0.900  0.090
        b,c  0.400  0.040
        a,b  0.200  0.020
    """

    mean: Float[np.ndarray, " K"] | Float[np.ndarray, "D D"]
    mcse: Float[np.ndarray, " K"] | Float[np.ndarray, "D D"]
    names: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Float[np.ndarray, " K"] | Float[np.ndarray, "D D"]]:
        return iter((self.mean, self.mcse))

    def __repr__(self) -> str:
        return self.to_frame().to_string(max_rows=MAX_ROWS, float_format="{:.3f}".format)

    def to_frame(self) -> "pd.DataFrame":
        """The table of all events or pairs, each once, the most probable first."""
        import pandas as pd

        names = self.names or tuple(map(str, range(len(self.mean))))
        if np.ndim(self.mean) == 1:
            return pd.DataFrame({"mean": self.mean, "mcse": self.mcse}, index=list(names))
        pairs = np.triu_indices(len(names), 1)
        columns = {"mean": self.mean[pairs], "mcse": self.mcse[pairs]}
        table = pd.DataFrame(columns, index=pair_labels(names, pairs))
        return table.sort_values("mean", ascending=False, kind="stable")


class Structures(NamedTuple):
    """Properties of a decomposition that do not depend on its parametrization.

    Args:
        together: which dimensions share a component.
        active: which dimensions are in some component.
        num_components: how many components there are.
        effective_components: the inverse of the sum of squared shares of the variance, which is the
            number of components if all shares are equal.
        treewidth: treewidth of the graph of ``together``, by `elimination_width`: exact up to 2, an
            upper bound above.
    """

    together: Bool[AnyArray, "*draws P P"]
    active: Bool[AnyArray, "*draws P"]
    num_components: Int[AnyArray, "*draws"]
    effective_components: Float[AnyArray, "*draws"]
    treewidth: Int[AnyArray, "*draws"]

    @classmethod
    def of(cls, covariance: AdditiveCovariance) -> "Structures":
        """The properties of one decomposition; traceable."""
        members = covariance.decomposition.members.astype(float)
        together = (members.T @ members > 0.0) & ~jnp.eye(members.shape[1], dtype=bool)
        shares = covariance.shares
        return cls(
            together,
            members.any(0),
            covariance.decomposition.count,
            1.0 / jnp.square(shares).sum(),
            elimination_width(together),
        )

    def pairs_together(self) -> tuple[Bool[np.ndarray, "*draws E"], Pairs]:
        """Which pairs share a component, each pair once, and their rows and columns."""
        together = np.asarray(self.together)
        pairs = np.triu_indices(together.shape[-1], 1)
        return together[..., pairs[0], pairs[1]], pairs


def indicator_probabilities(indicators: ArrayLike, names: Sequence[str] = ()) -> Probabilities:
    """Probabilities of events, with Monte Carlo errors above zero.

    For an event in k of S draws with effective sample size E, the error is ``sqrt(p (1 - p) / E)``
    at ``p = (k + 1/2) / (S + 1)``. An event that never changed has no effective sample size: it
    gets the smallest E of the events that changed (S if none did).

    Args:
        indicators: whether each of K events is true in each draw, shape (chains, draws, K).
        names: names of the K events.

    Returns:
        Two arrays of shape (K,).

    References:
        Vehtari et al. 2021, "Rank-normalization, folding, and localization: an improved R-hat",
        for the effective sample size.

    Example:
        >>> mean, mcse = indicator_probabilities(np.ones((2, 100, 1)))
        >>> float(mean[0]), round(float(mcse[0]), 4)
        (1.0, 0.0035)
    """
    import arviz as az

    happened = np.asarray(indicators, float)
    num_draws = happened.shape[0] * happened.shape[1]
    mean = happened.mean((0, 1))
    draws = az.convert_to_dataset({"event": happened})
    effective = np.array(az.ess(draws, method="mean")["event"], float)
    moved = (mean > 0.0) & (mean < 1.0)
    effective[~moved] = effective[moved].min(initial=num_draws)
    smoothed = (mean * num_draws + 0.5) / (num_draws + 1.0)
    errors = np.sqrt(smoothed * (1.0 - smoothed) / effective)
    return Probabilities(mean, errors, tuple(names))


def symmetric(probabilities: Probabilities, pairs: Pairs, names: tuple[str, ...]) -> Probabilities:
    """Probabilities of pairs (K,) of D names as symmetric matrices (D, D) with a zero diagonal."""
    mean, mcse = np.zeros((2, len(names), len(names)))
    mean[pairs], mcse[pairs] = probabilities
    return Probabilities(mean + mean.T, mcse + mcse.T, names)


def pair_labels(names: Sequence[str], pairs: Pairs) -> list[str]:
    """Labels of pairs of dimensions, for example ``a,b``."""
    return [f"{names[a]},{names[b]}" for a, b in zip(*pairs, strict=True)]


def labels_of_pairs(names: Sequence[str]) -> list[str]:
    """Labels of all pairs, in the order of `numpy.triu_indices`."""
    return pair_labels(names, np.triu_indices(len(names), 1))


def indicator_rhat(indicators: ArrayLike) -> Float[np.ndarray, " K"]:
    """R-hat of events: 1 if all draws agree, infinite if constant chains disagree.

    Args:
        indicators: whether each of K events is true in each draw, shape (chains, draws, K).

    References:
        Vehtari et al. 2021, "Rank-normalization, folding, and localization: an improved R-hat".

    Example:
        >>> chains = np.repeat([[False], [True]], 50, axis=1)
        >>> indicator_rhat(np.stack([chains, ~chains | chains], axis=-1)).tolist()
        [inf, 1.0]
    """
    import arviz as az

    happened = np.asarray(indicators, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Any = az.rhat(az.convert_to_dataset({"event": happened}))
    rhat = np.array(found["event"], float)
    first = happened[:1, :1]
    rhat[(happened == first).all((0, 1))] = 1.0
    still = (happened == happened[:, :1]).all((0, 1)) & (happened != first).any((0, 1))
    rhat[still] = np.inf
    return rhat


def distance_to_mode(structures: Structures) -> Int[np.ndarray, "chains draws"]:
    """The number of pairs in which ``together`` of each draw differs from its mode.

    Args:
        structures: structures of draws, with arrays of shape (chains, draws, ...).

    Returns:
        Hamming distances.
    """
    together, _ = structures.pairs_together()
    if not together.size:  # one dimension has no pairs
        return np.zeros(together.shape[:2], np.intp)
    packed = np.packbits(together, axis=-1).reshape(-1, -(-together.shape[-1] // 8))
    _, which, counts = np.unique(packed, axis=0, return_inverse=True, return_counts=True)
    mode = np.flatnonzero(which.ravel() == np.argmax(counts))[0]
    distance: Int[np.ndarray, "chains draws"] = np.not_equal(
        together, together.reshape(-1, together.shape[-1])[mode]
    ).sum(-1)
    return distance
