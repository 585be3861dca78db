"""The house has three floors and arrows only point downwards: structbo, samplers, models."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "models": ("structbo.models",),
    "samplers": ("structbo.models", "structbo.samplers"),
    "structbo": ("structbo",),
}
VAGUE_NAMES = {"utils", "core", "base", "helpers"}
FILES = [path for floor in MAY_IMPORT for path in sorted((ROOT / floor).rglob("*.py"))]


def imported_names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            yield from (f"{start}.{alias.name}" for alias in node.names)


def may_import(floor: str, name: str) -> bool:
    first = name.partition(".")[0]
    if first == "structbo":
        return any(f"{name}.".startswith(f"{package}.") for package in MAY_IMPORT[floor])
    return first not in {"", "models", "samplers", "tests"}  # "" is a relative import


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path: Path):
    floor = path.relative_to(ROOT).parts[0]
    assert [name for name in imported_names(path) if not may_import(floor, name)] == []


def test_files_are_named_after_what_they_do():
    assert [path for path in FILES if path.stem in VAGUE_NAMES] == []


def test_examples_are_short():
    lengths = {p.name: len(p.read_text().splitlines()) for p in (ROOT / "examples").glob("*.py")}
    assert {name: length for name, length in lengths.items() if length >= 120} == {}


def test_packaging_lists_every_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = project["tool"]["setuptools"]
    folders = {folder: package for package, folder in setuptools["package-dir"].items()}
    on_disk = [path.parent.relative_to(ROOT) for path in FILES if path.name == "__init__.py"]
    packages = [".".join((folders[path.parts[0]], *path.parts[1:])) for path in on_disk]
    assert sorted(setuptools["packages"]) == sorted(packages)
