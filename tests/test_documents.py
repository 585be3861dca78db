"""Paths and names in README, CONTRIBUTING and docs/ exist."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from import_graph import ROOMS, ROOT, module_name

import structbo

CELL = re.compile(r"(?<!\})`((?:[\w.-]+/)+[\w.-]*)`(?:: `(\w+)`)?")
"""A path that is not a Sphinx role, and optionally a name in that file."""
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "examples/benchmarks/NOTES.md"]
DOCUMENTS += [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))]
SCRIPTS = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "examples").rglob("*.py"))]
TABLE_ROWS = [
    line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if line[:1] == "|"
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_exist(document: str):
    """This includes scripts in commands, and links."""
    text = (ROOT / document).read_text(encoding="utf-8")
    named = [path for path, _ in CELL.findall(text)]
    named += re.findall(r"python\s((?:examples|tests)/[\w/]+\.py)", text)
    places = [ROOT, ROOT / "models", ROOT / document]
    missing = [p for p in named if not any((place / p).exists() for place in places)]
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    missing += [link for link in links if not (ROOT / document).parent.joinpath(link).exists()]
    assert missing == []


@pytest.mark.parametrize("document", [*DOCUMENTS, *SCRIPTS])
def test_structbo_is_installed_from_a_checkout(document: str):
    """The package is not on PyPI."""
    text = (ROOT / document).read_text(encoding="utf-8")
    assert re.findall(r"pip install.*structbo.*", text) == []


def test_documents_name_many_paths():
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in DOCUMENTS]
    counts = [len(CELL.findall(text)) for text in texts]
    assert counts[DOCUMENTS.index("CONTRIBUTING.md")] > 50 and sum(counts) > 90


def test_readme_is_short():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 1000 and len(text.splitlines()) <= 150


def test_reference_describes_every_public_name_once():
    text = (ROOT / "docs/api/structbo.md").read_text(encoding="utf-8")
    described = re.findall(r"^\.\. auto(?:function|class|exception):: (\w+)$", text, re.MULTILINE)
    rooms = {name for name in structbo.__all__ if inspect.ismodule(getattr(structbo, name))}
    assert sorted(described) == sorted({*structbo.__all__} - rooms)
    assert described[0] == "minimize"


@pytest.mark.parametrize(("path", "name"), sorted(set(CELL.findall("\n".join(TABLE_ROWS)))))
def test_files_hold_the_names_that_tables_promise(path: str, name: str):
    place = ROOT / path
    if not name:
        assert place.exists()
    elif place.parts[len(ROOT.parts)] == "tests":
        assert re.search(rf"^{name}\b.* = ", place.read_text(encoding="utf-8"), re.MULTILINE)
    else:
        assert hasattr(importlib.import_module(module_name(place)), name)


def test_contributing_shows_the_rooms_in_their_order():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    folders = re.findall(r"^\| `((?:models|samplers|structbo)/[\w/]*)`", text, re.MULTILINE)
    rooms = [Path(folder).as_posix().replace("/", ".") for folder in folders]
    assert [room.removeprefix("structbo.") for room in rooms] == list(ROOMS[:-1])
