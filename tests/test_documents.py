"""What README and CONTRIBUTING name is there."""

import importlib
import re
from pathlib import Path

import pytest
from import_graph import ROOMS, ROOT, module_name

CELL = re.compile(r"`((?:[\w.-]+/)+[\w.-]*)`(?:: `(\w+)`)?")
"""A path, and the name that stands in that file, if any."""
TABLE_ROWS = [
    line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if line[:1] == "|"
]


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_paths_exist(document: str):
    paths = CELL.findall((ROOT / document).read_text(encoding="utf-8"))
    places = [ROOT, ROOT / "models"]
    missing = [p for p, _ in paths if not any((place / p).exists() for place in places)]
    assert len(paths) > 8 and missing == []


@pytest.mark.parametrize(("path", "name"), sorted(set(CELL.findall("\n".join(TABLE_ROWS)))))
def test_files_hold_the_names_that_tables_promise(path: str, name: str):
    place = ROOT / path
    if not name:
        assert place.exists()
    elif place.parts[len(ROOT.parts)] == "tests":
        assert re.search(rf"^{name}\b.* = ", place.read_text(encoding="utf-8"), re.MULTILINE)
    else:
        assert hasattr(importlib.import_module(module_name(place)), name)


def test_readme_shows_the_rooms_in_their_order():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    folders = re.findall(r"^\| `((?:models|samplers|structbo)/[\w/]*)`", text, re.MULTILINE)
    rooms = [Path(folder).as_posix().replace("/", ".") for folder in folders]
    assert [room.removeprefix("structbo.") for room in rooms] == list(ROOMS[:-1])
