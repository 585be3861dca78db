"""The command ``structbo``: the next points of a table, and a demonstration."""

from structbo.command_line.main import main

__all__ = ["main"]
