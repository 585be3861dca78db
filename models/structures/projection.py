"""Projections: components act along random directions ``z = W^T x``.

Acquisitions are maximized over the smallest box that contains all z. For `NearIdentity` this box is
hardly larger than the projected cube.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.typing import ArrayLike

from structbo.models.decomposition import Decomposition, Structure
from structbo.models.foundation.values import Value
from structbo.models.structure_checks import check_structure, run_structure


def projected(decomposition: Decomposition, W: ArrayLike) -> Decomposition:
    """The decomposition of a function of ``z = W^T x``.

    The data do not identify sign, order and scale of the columns of W. A near-identity prior fixes
    them. Under an unrestricted prior, only quantities that do not depend on them, such as
    predictions, are comparable between draws.

    Args:
        decomposition: components over the P columns of W, from any structure with P dimensions.
        W: the directions, shape (D, P). The identity does not change the model; P < D embeds the
            function into fewer dimensions.

    Returns:
        The decomposition with its projection.

    Raises:
        ValueError: if the number of columns differs from the number of dimensions of the
            decomposition.

    References:
        Li et al. 2016, eq. (6); Wang et al. 2013, "Bayesian optimization in high dimensions via
        random embeddings", for fixed random W with P < D.

    Example:
        >>> one_dimensional = Decomposition.of(jnp.eye(2, dtype=bool))
        >>> projected(one_dimensional, jnp.ones((5, 2))).projection.shape
        (5, 2)
    """
    W = jnp.asarray(W)
    num_dims = decomposition.members.shape[1]
    if W.ndim != 2 or W.shape[1] != num_dims:
        raise ValueError(
            f"W must have one column for each of the {num_dims} dimensions of the decomposition, "
            f"got shape {W.shape}."
        )
    return replace(decomposition, projection=W)


@dataclass(frozen=True, eq=False, repr=False)
class projections(Value):
    """The structure along random directions, site ``W``.

    Args:
        prior: a function from the number of parameters D to a distribution over matrices of shape
            (D, P), for example `NearIdentity`, or with P < D an embedding into fewer dimensions.
        structure: structure of the P projections.

    Raises:
        TypeError: if the structure is not a function of one argument.

    References:
        Li et al. 2016, section 4.

    Example:
        >>> def normal(num_dims):
        ...     return dist.Normal(jnp.zeros((num_dims, 2)), 1.0).to_event(2)
        >>> structure = projections(normal, lambda num_dims: Decomposition.of(jnp.eye(2) == 1))
        >>> with numpyro.handlers.seed(rng_seed=0):
        ...     structure(5).projection.shape
        (5, 2)
    """

    prior: Callable[[int], dist.Distribution]
    structure: Structure

    def __post_init__(self) -> None:
        check_structure(self.structure)

    def __call__(self, num_dims: int) -> Decomposition:
        W = numpyro.sample("W", self.prior(num_dims))
        if W.ndim != 2:
            raise ValueError(f"W must be a matrix of shape (D, P), got shape {W.shape}.")
        return projected(run_structure(self.structure, W.shape[1]), W)
