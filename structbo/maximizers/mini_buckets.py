"""An upper bound on the maximum of a sum of tables, for any graph.

Variables are eliminated one by one as in message passing. If the tables that involve a variable
have too many other variables in total, they are divided into *mini-buckets*, which are maximized
over the variable separately: the sum of their maxima is at least the maximum of their sum.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from structbo.maximizers.junction_tree import Scopes, dependency_graph, triangulate

Term = tuple[tuple[int, ...], Float[np.ndarray, "*_grid"]]
"""Variables, in increasing order, and a table with one axis for each of them."""
NUM_SWEEPS = 30


def upper_bound(
    tables: Sequence[Float[np.ndarray, " _F *_grid"]],
    scopes: Scopes,
    num_dims: int,
    *,
    max_size: int,
) -> float:
    """Bounds the maximum of a sum of tables over their grid from above.

    First the tables are balanced: for each variable in turn, the maxima for its values are divided
    evenly among the tables that involve it. Then mini-buckets of bounded size are eliminated; the
    buckets of a variable are balanced likewise.

    Args:
        tables: the factors, by group, with one axis of G grid points for each variable.
        scopes: their variables, by group; a row of -1 is padding.
        num_dims: number of variables D.
        max_size: the largest number of variables of a mini-bucket; larger factors stay whole.

    Returns:
        A number of at least the maximum, and equal to it if the junction tree has no clique of more
        than ``max_size`` variables.

    References:
        Dechter and Rish 2003, "Mini-buckets"; Ihler et al. 2012, "Join-graph based cost-shifting
        schemes", for the balancing.

    Example:
        >>> tables = [np.array([[[0.0, 1.0], [3.0, 2.0]]])]
        >>> upper_bound(tables, [np.array([[0, 1]])], 2, max_size=2)
        3.0
    """
    terms: list[Term] = []
    for group, group_tables in zip(scopes, tables, strict=True):
        for scope, table in zip(group.tolist(), np.asarray(group_tables), strict=True):
            if min(scope) >= 0:
                terms.append((tuple(sorted(scope)), np.transpose(table, np.argsort(scope))))
    for _ in range(NUM_SWEEPS):
        for variable in range(num_dims):
            involved = [i for i, (scope, _) in enumerate(terms) if variable in scope]
            for i, term in zip(involved, _balanced([terms[i] for i in involved]), strict=True):
                terms[i] = term
    for variable in triangulate(dependency_graph(scopes, num_dims)).order:
        bucket = [term for term in terms if variable in term[0]]
        terms = [term for term in terms if variable not in term[0]]
        for scope, table in _balanced(_mini_buckets(bucket, max_size)):
            rest = tuple(v for v in scope if v != variable)
            terms.append((rest, table.max(axis=scope.index(variable))))
    return float(sum(table for _, table in terms))


def _mini_buckets(bucket: list[Term], max_size: int) -> list[Term]:
    """Sums of terms, added largest first while the number of variables is within the bound."""
    sums: list[Term] = []
    for scope, table in sorted(bucket, key=lambda term: -len(term[0])):
        for i, (other, total) in enumerate(sums):
            union = tuple(sorted({*scope, *other}))
            if len(union) <= max_size:
                sums[i] = union, _expanded((scope, table), union) + _expanded((other, total), union)
                break
        else:
            sums.append((scope, table))
    return sums


def _balanced(terms: list[Term]) -> list[Term]:
    """Terms with the same sum, and equal maxima for every value of their common variables."""
    if len(terms) < 2:
        return terms
    shared = tuple(sorted(set.intersection(*(set(scope) for scope, _ in terms))))
    best = [
        table.max(axis=tuple(axis for axis, v in enumerate(scope) if v not in shared))
        for scope, table in terms
    ]
    mean = sum(best) / len(best)
    return [
        (scope, table + _expanded((shared, mean - own), scope))
        for (scope, table), own in zip(terms, best, strict=True)
    ]


def _expanded(term: Term, union: tuple[int, ...]) -> Float[np.ndarray, "*_grid"]:
    """A table with axes of length one for missing variables of a union."""
    scope, table = term
    lengths = dict(zip(scope, table.shape, strict=True))
    return table.reshape([lengths.get(v, 1) for v in union])
