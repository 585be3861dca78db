"""Maximizers of acquisition functions, and samples of points where they are high."""

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
    coarse_to_fine,
    max_sum,
    rounds_needed,
)
from structbo.maximizers.mini_buckets import upper_bound
from structbo.maximizers.tree_sampling import sample_additive, sample_tables

__all__ = [
    "AdditiveFunction",
    "JunctionTree",
    "Layout",
    "Maximum",
    "coarse_to_fine",
    "dependency_graph",
    "make_layout",
    "max_sum",
    "maximize_additive",
    "rounds_needed",
    "sample_additive",
    "sample_tables",
    "table_bytes",
    "triangulate",
    "upper_bound",
]
