"""The functional analysis of variance of values on a product grid, for all sets."""

from itertools import combinations

import numpy as np

Terms = dict[tuple[int, ...], np.ndarray]


def grid_terms(values: np.ndarray, weights: np.ndarray) -> Terms:
    """Terms of all sets of dimensions, as arrays that broadcast to the shape of the values.

    Args:
        values: values of a function on a grid, shape (Q, ..., Q).
        weights: weights of the nodes of each dimension, shape (Q, D).
    """
    dims = range(values.ndim)
    terms: Terms = {}
    for size in range(values.ndim + 1):
        for kept in combinations(dims, size):
            average = values
            for d in set(dims) - set(kept):
                shape = np.ones(values.ndim, int)
                shape[d] = -1
                average = (average * weights[:, d].reshape(shape)).sum(d, keepdims=True)
            inside = (term for dims_, term in terms.items() if set(dims_) < set(kept))
            terms[kept] = average - sum(inside)
    return terms


def grid_variances(values: np.ndarray, weights: np.ndarray) -> dict[tuple[int, ...], float]:
    """Variances of the terms of all sets of dimensions."""
    found = {}
    for dims, term in grid_terms(values, weights).items():
        square = np.square(term)
        for d in range(values.ndim):
            weight = weights[:, d] if d in dims else np.ones(1)
            square = np.tensordot(weight, square, (0, 0))
        found[dims] = float(square)
    return found
