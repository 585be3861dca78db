"""Pictures of Matplotlib inside a page: as SVG, small enough for a phone, with a description."""

import base64
import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from structbo.report.html import Html, tag

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 4.4
"""Width of most pictures, in inches, at which their letters can be read on a phone."""


@contextmanager
def picture_style() -> Iterator[None]:
    """The settings of Matplotlib for pictures of a page, which are the same each time.

    Raises:
        ImportError: if Matplotlib is missing.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            'a report needs Matplotlib, which is missing: pip install "structbo[plots]"'
        ) from error
    # Letters stay text: browsers have fonts for all scripts, Matplotlib has not.
    fixed: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "structbo", "font.size": 10.0}
    with warnings.catch_warnings(), matplotlib.rc_context(fixed):
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        yield


def blank_axes(height: float, *, rows: int = 1, width: float = WIDTH) -> "list[Axes]":
    """Axes of a new figure, one below the other; width and height are its own, in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return list(figure.subplots(rows, squeeze=False)[:, 0])


def picture(axes: "Axes", description: str, caption: str) -> Html:
    """The figure of these axes, with a caption that the page numbers.

    Args:
        axes: some of its axes.
        description: for those who cannot see it.
        caption: what it shows, below it.
    """
    figure: Any = axes.figure
    file = io.BytesIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    data = base64.b64encode(file.getvalue()).decode()
    image = tag("img", src=f"data:image/svg+xml;base64,{data}", alt=description)
    return tag("figure", image, tag("figcaption", caption), class_="picture")


def drawn(height: float, draw: "Callable[[Axes], object]", description: str, caption: str) -> Html:
    """A picture of single axes, as a function draws it."""
    (axes,) = blank_axes(height)
    draw(axes)
    return picture(axes, description, caption)
