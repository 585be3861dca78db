"""The installed package, and the cost of `import structbo`."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the source, because setuptools also packs leftovers in build/."""
    leftovers = shutil.ignore_patterns(".*", "_build", "build", "dist", "*.egg-info", "__pycache__")
    return shutil.copytree(ROOT, tmp_path / "source", ignore=leftovers)


def build(source: Path, kind: str) -> Path:
    code = f"from setuptools.build_meta import build_{kind}; build_{kind}('dist')"
    subprocess.run([sys.executable, "-c", code], cwd=source, check=True, capture_output=True)
    (built,) = (source / "dist").iterdir()
    return built


def test_wheel_holds_the_three_floors_and_nothing_else(source: Path):
    with zipfile.ZipFile(build(source, "wheel")) as wheel:
        files = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert "structbo/py.typed" in files
    expected = {
        str(Path("structbo" if floor != "structbo" else "") / path.relative_to(source))
        for floor in ("structbo", "models", "samplers")
        for path in (source / floor).rglob("*.py")
    }
    assert files - {"structbo/py.typed"} == expected


def test_sdist_holds_the_tests_and_what_readme_shows(source: Path):
    with tarfile.open(build(source, "sdist")) as sdist:
        files = {name.partition("/")[2] for name in sdist.getnames()}
    tests = {str(path.relative_to(source)) for path in (source / "tests").rglob("*.py")}
    linked = re.findall(r"\]\((?!https?:)([^)#]+)\)", (source / "README.md").read_text())
    assert linked and tests | {*linked, "examples/quickstart.py", "CHANGELOG.md"} <= files


def in_a_new_process(code: str) -> Any:
    """Runs code in another interpreter with the installed package, and returns its output."""
    command = [sys.executable, "-P", "-c", code]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.fixture(scope="module")
def imported() -> dict[str, Any]:
    """Changes of the process by `import structbo`."""
    return in_a_new_process("""
import json, jax, sys
before = dict(jax.config.values)
import structbo
after, modules = dict(jax.config.values), list(sys.modules)
jax.config.update("jax_num_cpu_devices", 2)  # an error when the backend is running
changed = [name for name in after if name in before and before[name] != after[name]]
print(json.dumps({"changed": changed, "modules": modules, "devices": jax.device_count("cpu")}))
""")


def test_import_changes_no_flag_of_jax(imported: dict[str, Any]):
    assert imported["changed"] == []


def test_import_leaves_heavy_libraries_alone(imported: dict[str, Any]):
    heavy = {"arviz", "matplotlib", "networkx", "optuna", "pandas"}
    heavy |= {"scipy.optimize", "scipy.spatial", "scipy.stats"}
    assert not heavy & set(imported["modules"])


def test_import_starts_no_device(imported: dict[str, Any]):
    """Scripts can therefore choose the platform of JAX afterwards."""
    assert imported["devices"] == 2


@pytest.mark.nightly
def test_import_adds_less_than_two_seconds_to_numpyro():
    code = """
import time, numpyro
start = time.process_time()
import structbo
print(time.process_time() - start)
"""
    assert min(in_a_new_process(code) for _ in range(3)) < 2.0
