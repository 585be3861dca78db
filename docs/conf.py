"""How Sphinx builds the site; `.ci/docs` does so."""

from importlib.metadata import version as version_of

project = "structbo"
author = "the structbo authors"
version = release = version_of("structbo")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
suppress_warnings = ["ref.python"]  # a short name may be that of several things

# A word in single backticks is a link where it is the name of something.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = "structbo"
