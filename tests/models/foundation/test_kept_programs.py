"""Compiled programs on disk: other processes load them, and other users cannot write any."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from structbo import default_model, keep_programs
from structbo.acquisition import UCB, LogEI
from structbo.models import AdditiveGP, edges, pairs
from structbo.models.foundation import kept_programs
from structbo.models.foundation.kept_programs import Unnamed, name_of
from structbo.models.foundation.program import Program
from structbo.models.foundation.upstream import reset_cache

PROGRAM = """
import json, sys
import jax, numpy as np, numpyro
import structbo as sb
from structbo.models.prototype import prior_trace

def model(X, y=None):
    numpyro.sample("noise", numpyro.distributions.HalfNormal())

jax.jit(lambda x: x - 1.0)(np.ones(2))  # before: JAX has decided that there is no cache
hits = []
jax.monitoring.register_event_listener(
    lambda event, **_: hits.append(event) if event.endswith("compilation_cache/cache_hits") else 0
)
sb.keep_programs(sys.argv[1])
prior_trace(model, 2)
print(json.dumps(len(hits)))
"""


SUGGESTION = """
import json, logging, sys
import numpy as np
import structbo as sb
from structbo.models.foundation.program import Program

logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="%(message)s")
logging.getLogger("structbo.models.foundation.kept_programs").setLevel(logging.DEBUG)
sb.keep_programs(sys.argv[1])
x = np.random.default_rng(0).random((7, 2))
space, y = sb.Space.box([[0, 1]] * 2), np.sin(5 * x[:, 0] * x[:, 1])
points = sb.suggest(space, x, y, seed=0)

traced, shapes = [], Program.shapes
Program.shapes = lambda self, *args: traced.append(self) or shapes(self, *args)
sb.suggest(space, x, y, seed=1)
print(json.dumps([points.tolist(), len(traced)]))
"""
FACTOR = """
import json, sys
import jax.numpy as jnp, numpy as np
import structbo as sb
from structbo.models.foundation.program import Program

sb.keep_programs(sys.argv[1])
print(json.dumps(Program(jnp.linalg.cholesky)(4.0 * np.eye(2, dtype="float32")).tolist()))
"""


def output_of_a_process(program: str, folder: Path) -> list[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, str(folder)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()


def hits_of_a_process(folder: Path) -> int:
    return json.loads(output_of_a_process(PROGRAM, folder)[0])


def programs(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*/*-cache")}


def own_programs(folder: Path) -> dict[str, float]:
    """Programs of this package, and their modification times."""
    return {path.name: path.stat().st_mtime for path in folder.rglob("structbo-*")}


def test_the_second_process_compiles_nothing(tmp_path: Path):
    folder = tmp_path / "inside" / "programs"
    assert hits_of_a_process(folder) == 0
    assert folder.stat().st_mode & 0o777 == 0o700
    kept = programs(folder)
    assert any("drawn" in name for name in kept)
    assert hits_of_a_process(folder) == len(kept)
    assert programs(folder) == kept


def test_linear_algebra_that_was_never_lowered_runs(tmp_path: Path):
    """A loaded program calls LAPACK, which JAX initializes only on request."""
    expected = output_of_a_process(FACTOR, tmp_path / "programs")
    kept = own_programs(tmp_path)
    assert json.loads(expected[0]) == [[2.0, 0.0], [0.0, 2.0]] and len(kept) == 1
    assert output_of_a_process(FACTOR, tmp_path / "programs") == expected
    assert own_programs(tmp_path) == kept


@pytest.mark.nightly
def test_the_second_process_suggests_the_same_and_traces_no_program(tmp_path: Path):
    *said, points = output_of_a_process(SUGGESTION, tmp_path / "programs")
    assert said == []
    kept = own_programs(tmp_path)
    *said, again = output_of_a_process(SUGGESTION, tmp_path / "programs")
    assert len(said) == len(kept) > 4 and all("is taken from" in line for line in said)
    assert again == points and own_programs(tmp_path) == kept
    assert json.loads(again)[1] == 0, "a second suggestion traces nothing"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of this process's programs, without JAX's cache of earlier test runs."""
    monkeypatch.setattr(kept_programs, "_folder", tmp_path)
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    reset_cache()
    yield tmp_path
    jax.config.update("jax_compilation_cache_dir", before)
    reset_cache()


def total(x: Any, y: Any, times: int = 1) -> Any:
    return times * (x + y).sum()


total.__module__ = "structbo"


def twice(x: Any) -> Any:
    return 2.0 * x


def test_another_program_of_the_same_parts_is_loaded(
    folder: Path, caplog: pytest.LogCaptureFixture
):
    arguments = np.ones(3, "float32"), np.ones(3, "float32"), 2
    assert float(Program(total, static=(2,))(*arguments)) == 12.0
    assert len(own_programs(folder)) == 1
    with caplog.at_level(logging.DEBUG, "structbo.models.foundation.kept_programs"):
        made = Program(total, static=(2,))
        assert made.prepare(*arguments).shape == ()
        assert float(made(*arguments)) == 12.0 == float(made(*arguments))
    assert [record.message for record in caplog.records if "is taken from" in record.message]
    assert len(own_programs(folder)) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        (np.ones(4, "float32"), np.ones(4, "float32"), 2),
        (np.ones(3, "int32"), np.ones(3, "int32"), 2),
        (np.ones(3, "float32"), np.ones(3, "float32"), 3),
        (np.ones(3, "float32"), 1.0, 2),
    ],
    ids=["shape", "type", "static", "weak"],
)
def test_other_arguments_are_another_program(folder: Path, arguments: Any):
    """This also holds after a program was loaded."""
    first = np.ones(3, "float32"), np.ones(3, "float32"), 2
    x, y, times = arguments
    for _ in range(2):
        made = Program(total, static=(2,))
        assert float(made(*first)) == 12.0
        assert float(made(*arguments)) == times * float((x + y).sum())
        assert float(made(*first)) == 12.0
        assert len(own_programs(folder)) == 2


@pytest.mark.parametrize("num_bytes", [0, 7, -99], ids=["empty", "a few", "all but the last"])
def test_a_broken_file_is_compiled_anew(
    folder: Path, num_bytes: int, caplog: pytest.LogCaptureFixture
):
    arguments = np.ones(3, "float32"), np.ones(3, "float32")
    assert float(Program(total)(*arguments)) == 6.0
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:num_bytes])
    for _ in range(2):
        assert float(Program(total)(*arguments)) == 6.0
    assert sum("is broken" in record.message for record in caplog.records) == 1


def test_functions_that_may_change_are_not_kept(folder: Path):
    def local(x: Any) -> Any:
        return twice(x)

    local.__module__ = "structbo"

    def own(num_dims: int) -> Any:
        return pairs(jnp.zeros((num_dims, num_dims), int))

    def of_model(model: Any, x: Any) -> Any:
        return x

    of_model.__module__, of_model.__qualname__ = "structbo", "of_model"
    x = np.ones(2, "float32")
    Program(twice)(x)
    Program(local)(x)
    Program(of_model, (AdditiveGP(own),))(x)
    assert not own_programs(folder)
    Program(of_model, (AdditiveGP(edges(0.2)),))(x)
    assert len(own_programs(folder)) == 1


def test_names_are_equal_where_contents_are():
    models = [default_model(), default_model(), AdditiveGP(noise=dist.LogNormal(-4.0, 1.0))]
    first, again, other = map(name_of, models)
    assert first == again != other
    trees = [jax.tree.structure({"a": (UCB(b), 1.0)}) for b in (1.0, 2.0)]
    assert name_of(trees[0]) == name_of(trees[1])  # the number is a leaf
    assert name_of(jax.tree.structure({"a": (LogEI(), 1.0)})) != name_of(trees[0])
    assert name_of(jax.tree.structure({"b": (UCB(1.0), 1.0)})) != name_of(trees[0])
    for unnamed in (lambda: 0, own_programs, object(), {"a": object()}):
        with pytest.raises(Unnamed, match=r"not of an installed package|not known by its content"):
            name_of(unnamed)


@pytest.mark.skipif(os.name != "posix", reason="folders have no modes")
@pytest.mark.parametrize("mode", [0o755, 0o770, 0o702])
def test_folders_of_others_are_refused(tmp_path: Path, mode: int):
    tmp_path.chmod(mode)
    with pytest.raises(PermissionError, match=f"yours alone.*mode {mode:o}"):
        keep_programs(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="folders have no owners")
def test_owned_by_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tmp_path.chmod(0o700)
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="yours alone"):
        keep_programs(tmp_path)
