"""The command ``structbo``: the next points of a table, a report on it, and a demonstration."""

from structbo.command_line.entry_point import main

__all__ = ["main"]
