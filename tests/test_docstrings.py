"""Every example in a docstring runs, and every public name has a docstring."""

import ast
import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType

import pytest

import structbo

# Real import names: `pytest --doctest-modules models` would import every file a second time.
FLOORS = [structbo, structbo.models, structbo.samplers]
FOUND = [
    module
    for floor in FLOORS
    for module in pkgutil.walk_packages(floor.__path__, f"{floor.__name__}.")
]
MODULES = {floor.__name__ for floor in FLOORS} | {module.name for module in FOUND}
PACKAGES = FLOORS + [importlib.import_module(module.name) for module in FOUND if module.ispkg]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_examples_in_docstrings(name: str):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(importlib.import_module(name), optionflags=flags).failed == 0


def is_documented(package: ModuleType, name: str) -> bool:
    value = getattr(package, name)
    is_function = callable(value) and inspect.isfunction(inspect.unwrap(value))
    if not (is_function or isinstance(value, ModuleType | type)):
        return any(name in documented_constants(module) for module in modules_of(package))
    doc = value.__doc__ or ""
    generated = doc.startswith(f"{name}(")  # by dataclass and NamedTuple
    return bool(doc.strip()) and not generated


def modules_of(package: ModuleType) -> Iterator[ModuleType]:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(module.name)


def documented_constants(module: ModuleType) -> set[str]:
    """Constants with a docstring below, such as `CRITERIA`."""
    body = ast.parse(inspect.getsource(module)).body
    return {
        ast.unparse(target)
        for statement, below in pairwise(body)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        for target in assigned(statement)
    }


def assigned(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.AnnAssign):
        return [statement.target]
    return statement.targets if isinstance(statement, ast.Assign) else []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_public_names_are_documented(package: ModuleType):
    assert [name for name in package.__all__ if not is_documented(package, name)] == []
