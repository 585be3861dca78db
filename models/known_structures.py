"""Structures that are not random: the two ends between which all others lie."""

import jax.numpy as jnp

from structbo.models.decomposition import Decomposition, Structure


def main_effects() -> Structure:
    """The structure with one component per dimension and no interactions.

    Returns:
        A structure for `AdditiveGP`, without sites.

    Example:
        >>> main_effects()(2).members.astype(int).tolist()
        [[1, 0], [0, 1]]
    """
    return lambda num_dims: Decomposition.of(jnp.eye(num_dims, dtype=bool))


def fully_dependent() -> Structure:
    """The structure with one component over all dimensions, which assumes nothing.

    Returns:
        A structure for `AdditiveGP`, without sites.

    Example:
        >>> fully_dependent()(2).members.astype(int).tolist()
        [[1, 1]]
    """
    return lambda num_dims: Decomposition.of(jnp.ones((1, num_dims), bool))
