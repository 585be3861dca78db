"""What a user installs, and what `import structbo` costs."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy, because setuptools also packs what an earlier build left behind in build/."""
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


@pytest.fixture
def fresh_python(tmp_path: Path):
    """Runs code in a new interpreter, outside of the repository, and reads what it prints."""

    def run(code: str):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    return run


def test_import_changes_no_flag_of_jax(fresh_python):
    code = """
import json, jax
before = dict(jax.config.values)
import structbo
after = jax.config.values
print(json.dumps([name for name in after if name in before and before[name] != after[name]]))
"""
    assert fresh_python(code) == []


def test_import_leaves_heavy_libraries_alone(fresh_python):
    heavy = {"arviz", "matplotlib", "networkx", "optuna", "pandas"}
    heavy |= {"scipy.optimize", "scipy.spatial", "scipy.stats"}
    assert not heavy & set(
        fresh_python("import structbo, sys, json; print(json.dumps(list(sys.modules)))")
    )


def test_import_starts_no_device(fresh_python):
    """So that scripts can choose the platform of JAX afterwards."""
    code = """
import json, structbo, jax
jax.config.update("jax_num_cpu_devices", 2)  # an error when the backend is running
print(json.dumps(jax.device_count()))
"""
    assert fresh_python(code) == 2


@pytest.mark.nightly
def test_import_adds_less_than_two_seconds_to_numpyro(fresh_python):
    code = """
import time, numpyro
start = time.process_time()
import structbo
print(time.process_time() - start)
"""
    assert min(fresh_python(code) for _ in range(3)) < 2.0
