"""The package for OptunaHub has the required files and page, and works."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "optunahub" / "package" / "samplers" / "structbo"
PAGE = (PACKAGE / "README.md").read_text(encoding="utf-8")


def load_module(package: str) -> ModuleType:
    """Loads the module as OptunaHub does, under another name."""
    assert package == "samplers/structbo"
    spec = importlib.util.spec_from_file_location("hub.samplers.structbo", PACKAGE / "__init__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_header_has_all_entries_as_strings() -> None:
    header = yaml.safe_load(PAGE.split("---")[1])
    texts = {"author", "title", "description", "license"}
    assert set(header) == texts | {"tags", "optuna_versions"}
    assert all(isinstance(header[name], str) and header[name] for name in texts)
    lists = header["tags"] + header["optuna_versions"]
    assert all(isinstance(entry, str) for entry in lists)
    assert "sampler" in header["tags"] and header["license"] == "MIT License"


def test_the_page_has_all_sections_and_names_what_there_is() -> None:
    sections = re.split(r"^## (.*)$", PAGE, flags=re.MULTILINE)
    titles = ["Abstract", "Class or Function Names", "Installation", "Example", "Others"]
    assert sections[1::2] == titles
    named = re.findall(r"^- (\w+)$", sections[4], flags=re.MULTILINE)
    module = load_module("samplers/structbo")
    assert sorted(named) == sorted(module.__all__)
    assert all(getattr(module, name).__doc__ for name in named)


def test_the_license_is_that_of_the_project_and_the_requirement_its_extra() -> None:
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert (PACKAGE / "requirements.txt").read_text().split() == ["structbo[optuna]"]
    assert 'pip install "structbo[optuna]"' in PAGE


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["page", "example.py"])
def test_its_examples_run(
    what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub: Any = SimpleNamespace(load_module=load_module)
    monkeypatch.setitem(sys.modules, "optunahub", hub)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    code = blocks[0] if what == "page" else (PACKAGE / what).read_text(encoding="utf-8")
    exec(compile(code, what, "exec"), {"__name__": "example"})
    assert ("'x'" if what == "page" else "'x1'") in capsys.readouterr().out
