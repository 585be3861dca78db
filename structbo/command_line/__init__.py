"""The command ``structbo``: next points for a table, a report on it, and a demonstration."""

from structbo.command_line.entry_point import main

__all__ = ["main"]
