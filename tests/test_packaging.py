"""What a user installs, and what `import structbo` costs."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_wheel_holds_the_three_floors_and_nothing_else(tmp_path: Path):
    # A copy, because setuptools also packs what an earlier build left behind in build/.
    source = tmp_path / "source"
    leftovers = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, source, ignore=leftovers)
    build = f"from setuptools.build_meta import build_wheel; build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)

    (wheel,) = tmp_path.glob("*.whl")
    files = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert "structbo/py.typed" in files
    expected = {
        str(Path("structbo" if floor != "structbo" else "") / path.relative_to(source))
        for floor in ("structbo", "models", "samplers")
        for path in (source / floor).rglob("*.py")
    }
    assert files - {"structbo/py.typed"} == expected


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


@pytest.mark.parametrize(
    "library",
    [
        "arviz",
        "matplotlib",
        "networkx",
        "optuna",
        "pandas",
        "scipy.optimize",
        "scipy.spatial",
        "scipy.stats",
    ],
)
def test_import_leaves_heavy_libraries_alone(fresh_python, library: str):
    code = f"import structbo, sys, json; print(json.dumps({library!r} in sys.modules))"
    assert fresh_python(code) is False


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
