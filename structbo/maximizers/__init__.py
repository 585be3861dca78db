"""Maximizers of acquisition functions."""

from structbo.maximizers.additive import Maximum, maximize_additive
from structbo.maximizers.junction_tree import (
    JunctionTree,
    Layout,
    dependency_graph,
    make_layout,
    table_bytes,
    triangulate,
)
from structbo.maximizers.message_passing import (
    AdditiveFunction,
    Levels,
    coarse_to_fine,
    max_sum,
    rounds_needed,
)
from structbo.maximizers.mini_buckets import upper_bound

__all__ = [
    "AdditiveFunction",
    "JunctionTree",
    "Layout",
    "Levels",
    "Maximum",
    "coarse_to_fine",
    "dependency_graph",
    "make_layout",
    "max_sum",
    "maximize_additive",
    "rounds_needed",
    "table_bytes",
    "triangulate",
    "upper_bound",
]
