"""Maximizers of acquisition functions, and samples of points with high values."""

from structbo.maximizers.additive_maximum import Maximum, MessagePassing, maximize_additive
from structbo.maximizers.ascent import CoordinateAscent, GradientAscent
from structbo.maximizers.comparison import ComponentwiseSearch, Direct
from structbo.maximizers.components import Components
from structbo.maximizers.draw_by_draw import DrawByDraw
from structbo.maximizers.imputed import Imputed
from structbo.maximizers.junction_tree import (
    JunctionTree,
    Layout,
    dependency_graph,
    make_layout,
    table_bytes,
    triangulate,
)
from structbo.maximizers.maximizer import Maximizer, evaluate, is_additive, ranked
from structbo.maximizers.message_passing import (
    AdditiveFunction,
    at_places,
    coarse_to_fine,
    max_sum,
    maxima_on_same_grids,
    rounds_needed,
)
from structbo.maximizers.mini_buckets import upper_bound
from structbo.maximizers.multi_start import MultiStart
from structbo.maximizers.registry import MAXIMIZERS, as_maximizer
from structbo.maximizers.search_state import Search
from structbo.maximizers.tree_sampling import sample_additive, sample_tables

__all__ = [
    "MAXIMIZERS",
    "AdditiveFunction",
    "Components",
    "ComponentwiseSearch",
    "CoordinateAscent",
    "Direct",
    "DrawByDraw",
    "GradientAscent",
    "Imputed",
    "JunctionTree",
    "Layout",
    "Maximizer",
    "Maximum",
    "MessagePassing",
    "MultiStart",
    "Search",
    "as_maximizer",
    "at_places",
    "coarse_to_fine",
    "dependency_graph",
    "evaluate",
    "is_additive",
    "make_layout",
    "max_sum",
    "maxima_on_same_grids",
    "maximize_additive",
    "ranked",
    "rounds_needed",
    "sample_additive",
    "sample_tables",
    "table_bytes",
    "triangulate",
    "upper_bound",
]
