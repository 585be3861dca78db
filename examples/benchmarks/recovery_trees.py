"""Shares of variance of sums of regression trees, exact on the nodes of a grid.

A tree is a sum over leaves of products of one-dimensional indicators, so that its averages are sums
of products of averages.

References:
    Hutter, Hoos and Leyton-Brown 2014, "An efficient approach for assessing hyperparameter
    importance".
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from recovery_anova import Shares, nodes_of, shares_of

import structbo as sb


class Columns(NamedTuple):
    """What trees see of points: numbers as they are, and an indicator for each category.

    Args:
        space: the space of the points.
        columns: parameter of each column, and the level that it indicates, or None for a number.
    """

    space: sb.Space
    columns: tuple[tuple[int, float | None], ...]

    @classmethod
    def of(cls, space: sb.Space) -> "Columns":
        columns: list[tuple[int, float | None]] = []
        for d, parameter in enumerate(space.parameters):
            levels = parameter.levels if d in space.categorical else None
            columns += [(d, None)] if levels is None else [(d, level) for level in levels]
        return cls(space, tuple(columns))

    def of_points(self, x: np.ndarray) -> np.ndarray:
        """The columns at points of the unit cube."""
        return np.column_stack([_column(x[:, d], level) for d, level in self.columns])

    def at_nodes(self) -> list[tuple[int, np.ndarray]]:
        """The parameter of each column, and the values of the column at the parameter's nodes."""
        nodes = nodes_of(self.space)
        return [(d, _column(nodes[d], level)) for d, level in self.columns]


def _column(coordinates: np.ndarray, level: float | None) -> np.ndarray:
    if level is None:
        return coordinates
    return np.isclose(coordinates, level).astype(float)


class Leaves(NamedTuple):
    """A piecewise constant function: the sum of the values of all leaves that hold a point.

    Args:
        values: values of the L leaves.
        holds: for each of the D parameters, which nodes a leaf holds, each of shape (L, Q_d).
    """

    values: np.ndarray
    holds: list[np.ndarray]

    @classmethod
    def of(cls, trees: Sequence[Any], columns: Columns) -> "Leaves":
        """The leaves of scikit-learn's trees, whose average is the function.

        Args:
            trees: the attributes ``tree_`` of the estimators.
            columns: the columns that the trees split.
        """
        at_nodes, values, holds = columns.at_nodes(), [], []
        whole = [np.ones(len(nodes), bool) for nodes in nodes_of(columns.space)]
        for tree in trees:
            stack = [(0, whole)]
            while stack:
                node, held = stack.pop()
                if tree.children_left[node] < 0:
                    values.append(tree.value[node, 0, 0] / len(trees))
                    holds.append(held)
                    continue
                d, column = at_nodes[tree.feature[node]]
                is_left = column <= tree.threshold[node]
                for child, side in (
                    (tree.children_left[node], is_left),
                    (tree.children_right[node], ~is_left),
                ):
                    stack.append((child, [*held[:d], held[d] & side, *held[d + 1 :]]))
        return cls(np.array(values), [np.array(held, float) for held in zip(*holds, strict=True)])

    def shares(self, variance: float) -> Shares:
        """Shares of the variance of the function.

        Args:
            variance: variance of the function over all parameters.
        """
        means = np.array([held.mean(1) for held in self.holds])
        dims = range(len(means))

        def coefficients(*kept: int) -> np.ndarray:
            return self.values * means[[d for d in dims if d not in kept]].prod(0)

        joint = {
            (i, j): (self.holds[i] * coefficients(i, j)[:, None]).T @ self.holds[j]
            for i, j in combinations(dims, 2)
        }
        return shares_of([coefficients(d) @ self.holds[d] for d in dims], joint, variance)
