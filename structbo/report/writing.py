"""From a search to its report."""

from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from structbo.data import unit_points
from structbo.models.foundation.arguments import checked_count
from structbo.optimizer import Optimizer, Result
from structbo.report.evidence import Evidence
from structbo.report.page import html_page
from structbo.report.pictures import picture_style
from structbo.report.search import best_points, next_steps, progress, settings
from structbo.report.structure import learned_sections
from structbo.report.trust import calibration, convergence


def write_report(
    search: Optimizer | Result,
    path: str | Path,
    *,
    title: str = "What the search has found",
    num_suggestions: int = 4,
    pending: Any = None,
) -> Path:
    """Writes a page about a search: what it found, what it learned, and what to try next.

    The page is one file for any browser. It loads nothing and runs no script. It has the progress,
    the best points, importances and interactions with their uncertainty, effects in units, how well
    the model predicts values left out, diagnostics of the chains, and the next points. These are
    found without changing the optimizer, by a fresh chain with the same settings.

    Args:
        search: an optimizer, or a result of `minimize` or `maximize`, with two complete trials or
            more.
        path: of the file; one that exists is replaced.
        title: of the page.
        num_suggestions: how many points to propose; 0 for none.
        pending: points that are being evaluated, besides pending trials, as for `suggest`.

    Returns:
        The path.

    Raises:
        ValueError: if fewer than two trials are complete, num_suggestions is negative, or a
            pending point is outside the space.
        TypeError: if search is something else.
        OSError: if the file cannot be written.
        ImportError: if Matplotlib is missing.
    """
    if not isinstance(search, Optimizer | Result):
        raise TypeError(f"search must be an Optimizer or a Result, got {search!r}.")
    optimizer = search.optimizer if isinstance(search, Result) else search
    count = checked_count("num_suggestions", num_suggestions, least=0)
    waiting = optimizer.space.from_unit(unit_points(optimizer.space, pending, "pending"))
    evidence = Evidence(optimizer, count, list(waiting))
    if (complete := len(evidence.best_first)) < 2:
        raise ValueError(
            f"search must have at least two complete trials, it has {complete}; tell more values."
        )
    with picture_style():
        sections = [
            progress(evidence),
            best_points(evidence),
            *learned_sections(evidence),
            calibration(evidence),
            convergence(evidence),
            next_steps(evidence),
            settings(evidence),
        ]
    remark = f"{date.today():%Y-%m-%d}, structbo {version('structbo')}"
    path = Path(path)
    path.write_text(html_page(title, remark, sections), encoding="utf-8")
    return path
