"""Packages are ordered, and imports only point downwards."""

import ast
import importlib
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from import_graph import (
    FLOORS,
    ROOMS,
    ROOT,
    circles,
    files,
    imported_names,
    module_graph,
    module_name,
    room,
)

VAGUE_NAMES = {"utils", "core", "base", "helpers", "common"}
FILES = files()


def test_every_room_has_its_place():
    assert {room(module_name(path)) for path in FILES} == set(ROOMS)


@pytest.mark.parametrize("name", ROOMS)
def test_imports_point_downwards(name: str):
    allowed = ROOMS[: ROOMS.index(name) + 1]
    upward = {
        (module, other)
        for module, imported in module_graph().items()
        for other in imported
        if room(module) == name and room(other) not in allowed
    }
    assert upward == set()


def test_structures_know_nothing_of_processes():
    """Processes build on structures, which only need decompositions, supports and checks."""
    processes = {f"structbo.models.{name}" for name in ("additive", "covariance", "gp", "marginal")}
    structures = "structbo.models.structures"
    graph = module_graph()
    assert not processes & {other for m in graph if m.startswith(structures) for other in graph[m]}


def test_no_module_imports_itself_in_a_circle():
    assert circles(module_graph()) == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_name_the_installed_package(path: Path):
    """No import is relative (starts with a dot) or names a folder of the repository."""
    firsts = {name.partition(".")[0] for name in imported_names(path)}
    assert not firsts & {"", "models", "samplers", "tests"}


def test_tests_mirror_the_rooms():
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*.py")}
    assert {folder.parts[0] for folder in folders if folder.parts} <= set(ROOMS)


def test_files_are_named_after_what_they_do():
    assert [path for path in FILES if path.stem in VAGUE_NAMES] == []


def test_no_function_has_the_name_of_its_module():
    """The same holds for classes: a name means one thing, as a module or as a callable."""
    inside = [path for path in FILES if path.stem in functions(path)]
    modules = {module_name(path) for path in FILES}
    packages = [module_name(path) for path in FILES if path.name == "__init__.py"]
    exported = [
        f"{package}.{name}"
        for package in packages
        for name in importlib.import_module(package).__all__
        if callable(getattr(importlib.import_module(package), name))
    ]
    assert (inside, sorted(modules & set(exported))) == ([], [])


def functions(path: Path) -> set[str]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def test_every_class_has_a_name_of_its_own():
    trees = [ast.parse(path.read_text()) for path in FILES]
    names = [n.name for tree in trees for n in tree.body if isinstance(n, ast.ClassDef)]
    public = [name for name in names if not name.startswith("_")]
    assert sorted(name for name, count in Counter(public).items() if count > 1) == []


def test_examples_are_short():
    lengths = {p.name: len(p.read_text().splitlines()) for p in (ROOT / "examples").rglob("*.py")}
    assert {name: length for name, length in lengths.items() if length > 120} == {}


def test_packaging_lists_every_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = project["tool"]["setuptools"]
    packages = [module_name(path) for path in FILES if path.name == "__init__.py"]
    assert sorted(setuptools["packages"]) == sorted(packages)
    assert set(setuptools["package-dir"].values()) == set(FLOORS)
