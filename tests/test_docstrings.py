"""Every example in a docstring runs, and every public name has a docstring."""

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest

import structbo
import structbo.batches
import structbo.maximizers
import structbo.models
import structbo.plots
import structbo.samplers

PACKAGES = [
    structbo,
    structbo.batches,
    structbo.maximizers,
    structbo.models,
    structbo.plots,
    structbo.samplers,
]
# Real import names: `pytest --doctest-modules models` would import every file a second time.
MODULES = {package.__name__ for package in PACKAGES} | {
    module.name
    for package in PACKAGES
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith(".__main__")
}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_examples_in_docstrings(name: str):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(importlib.import_module(name), optionflags=flags).failed == 0


def is_documented(value: object, name: str) -> bool:
    doc = value.__doc__ or ""
    generated = doc.startswith(f"{name}(")  # by dataclass and NamedTuple
    return bool(doc.strip()) and not generated


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_public_names_are_documented(package: ModuleType):
    assert [n for n in package.__all__ if not is_documented(getattr(package, n), n)] == []
