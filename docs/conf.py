"""How Sphinx builds the site; `.ci/docs` does so."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
sys.path[:0] = [str(HERE), str(EXAMPLES), str(EXAMPLES / "benchmarks")]

project = "structbo"
author = "The structbo developers"
copyright = f"2026, {author}"
version = release = version_of("structbo")

extensions = [
    "experiments",
    "measurements",
    "recovery",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
suppress_warnings = ["ref.python"]  # a short name may mean several things

# A word in single backticks is a link where it is the name of something.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = "structbo"


def is_field(app: Any, kind: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leaves out fields of named tuples, which the text of their class describes."""
    return True if type(value).__name__ == "_tuplegetter" else None


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", is_field)
