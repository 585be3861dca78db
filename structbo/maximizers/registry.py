"""The maximizers by name."""

from structbo.maximizers.additive_maximum import MessagePassing
from structbo.maximizers.ascent import CoordinateAscent, GradientAscent
from structbo.maximizers.comparison import ComponentwiseSearch, Direct
from structbo.maximizers.draw_by_draw import DrawByDraw
from structbo.maximizers.maximizer import Maximizer
from structbo.maximizers.multi_start import MultiStart
from structbo.models.foundation.arguments import checked_choice

MAXIMIZERS: dict[str, Maximizer] = {
    "multi_start": MultiStart(),
    "message_passing": MessagePassing(),
    "coordinate_ascent": CoordinateAscent(),
    "gradient_ascent": GradientAscent(),
    "direct": Direct(),
    "componentwise": ComponentwiseSearch(),
    "draw_by_draw": DrawByDraw(),
}
"""The maximizers by name, with their default arguments."""


def as_maximizer(maximizer: str | Maximizer) -> Maximizer:
    """The maximizer with a name, or the given maximizer.

    Raises:
        ValueError: if the name is unknown.
        TypeError: if it is neither a name nor an instance of a maximizer.

    Example:
        >>> as_maximizer("direct")
        Direct(max_evaluations=2000)
    """
    example = "structbo.maximizers.Direct(max_evaluations=500)"
    is_instance = isinstance(maximizer, Maximizer)
    return checked_choice("maximizer", maximizer, MAXIMIZERS, is_instance, example)
