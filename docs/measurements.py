"""Inserts results of examples/benchmarks, from their files.

- ``{benchmark} NAME`` is a directive: a table of `tables.py`.
- ``{benchmark}`NAME` `` is a role: a number of `tables.py`.
"""

from pathlib import Path
from typing import Any

from cells import BENCHMARKS
from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole
from tables import NUMBERS, TABLES


class Measured(SphinxDirective):
    """A table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        note_sources(self.env)
        return self.parse_text_to_nodes(str(TABLES[self.arguments[0]]()))


class Number(SphinxRole):
    """A number."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        note_sources(self.env)
        return [nodes.Text(NUMBERS[self.text]())], []


def note_sources(env: Any) -> None:
    """A page is built again when a result changes."""
    for path in (
        *Path(__file__).parent.glob("*.py"),
        *BENCHMARKS.glob("*.csv"),
        BENCHMARKS / "wide.jsonl",
    ):
        env.note_dependency(str(path))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("benchmark", Measured)
    app.add_role("benchmark", Number())
    return {"parallel_read_safe": True}
