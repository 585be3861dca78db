"""A page that says what a search has found, how far to trust it, and what to try next."""

from structbo.report.writing import write_report

__all__ = ["write_report"]
