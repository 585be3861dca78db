"""Compiled programs on disk: another process takes them from there, and nobody else can put any."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from structbo import keep_programs

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


def hits_of_a_process(folder: Path) -> int:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def programs(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name.endswith("-cache")}


def test_the_second_process_compiles_nothing(tmp_path: Path):
    folder = tmp_path / "inside" / "programs"
    assert hits_of_a_process(folder) == 0
    assert folder.stat().st_mode & 0o777 == 0o700
    kept = programs(folder)
    assert any("drawn" in name for name in kept)
    assert hits_of_a_process(folder) == len(kept)
    assert programs(folder) == kept


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
