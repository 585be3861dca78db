"""From a search to its report."""

import logging
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from structbo.data import unit_points
from structbo.models.foundation.arguments import checked_count
from structbo.optimizer import Optimizer, Result
from structbo.report.evidence import Evidence
from structbo.report.output_path import checked_output
from structbo.report.page import html_page
from structbo.report.pictures import picture_style
from structbo.report.progress import best_so_far, next_steps, settings
from structbo.report.structure import learned_sections
from structbo.report.trust import calibration, convergence

_logger = logging.getLogger(__name__)


def write_report(
    search: Optimizer | Result,
    path: str | Path,
    *,
    title: str = "What the search has found",
    num_suggestions: int = 4,
    pending: Any = None,
    value_name: str = "objective",
    remark: str = "",
) -> Path:
    """Writes a page about a search: what it found, what it learned, and what to try next.

    The page is one file for any browser. It loads nothing and runs no script. It shows the
    progress, the best runs and the next points. It says which parameters matter and interact, and
    what happens to the best run if one parameter changes. It ends with how well the model predicts
    values left out, diagnostics of the chains, and settings. A fresh chain with the same settings
    finds the next points; the optimizer stays as it is.

    Runs of a search are not spread evenly. So the page ranks parameters only where predictions of
    the runs that are far from all others explain most of their variation.

    Args:
        search: an optimizer, or a result of `minimize` or `maximize`, with two complete trials or
            more.
        path: of the file; one that exists is replaced.
        title: of the page.
        num_suggestions: how many points to propose; 0 for none.
        pending: points that are being evaluated, besides pending trials, as for `suggest`.
        value_name: name of the objective, such as "yield %".
        remark: a sentence below the title.

    Returns:
        The path.

    Raises:
        ValueError: if fewer than two trials are complete, num_suggestions is negative, or a
            pending point is outside the space.
        TypeError: if search is something else.
        OSError: if the file cannot be written; a missing folder is found before the computation.
        ImportError: if Matplotlib is missing.
    """
    if not isinstance(search, Optimizer | Result):
        raise TypeError(f"search must be an Optimizer or a Result, got {search!r}.")
    path = checked_output(path)
    optimizer = search.optimizer if isinstance(search, Result) else search
    count = checked_count("num_suggestions", num_suggestions, least=0)
    waiting = optimizer.space.from_unit(unit_points(optimizer.space, pending, "pending"))
    evidence = Evidence(optimizer, count, list(waiting), value_name)
    if (complete := len(evidence.best_first)) < 2:
        raise ValueError(
            f"search must have at least two complete trials, it has {complete}; tell more values."
        )
    _ = evidence.posterior, evidence.next_points
    _logger.info("computing what matters, and drawing pictures")
    with picture_style():
        sections = [
            best_so_far(evidence),
            next_steps(evidence),
            *learned_sections(evidence),
            calibration(evidence),
            convergence(evidence),
            settings(evidence),
        ]
    made = f"{date.today():%Y-%m-%d}, structbo {version('structbo')}. {remark}"
    path.write_text(html_page(title, made.strip(), sections), encoding="utf-8")
    return path
