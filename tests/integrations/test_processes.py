"""Two processes share a study, in SQLite and on a PostgreSQL server.

The tests start the server and remove all its files. Without PostgreSQL or psycopg, tests of the
server are skipped.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest

from structbo import Optimizer

MANY = 100
"""More quasi-random points than any test here evaluates: no model, hence fast."""
NUM_TRIALS = 8
"""Number of trials of each process."""
PROCESS = f"""
import sys
import optuna
from structbo.integrations.optuna import StructboSampler

space = {{"x": (0.0, 1.0), "y": (0.0, 1.0)}}
sampler = StructboSampler(space, num_initial=int(sys.argv[2]))
study = optuna.load_study(study_name="shared", storage=sys.argv[1], sampler=sampler)
study.optimize(
    lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials={NUM_TRIALS}
)
"""
DEBIAN = "/usr/lib/postgresql"
"""Debian's folder of server programs, which is not in the path."""


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """The URL of a server that only listens to a socket in a temporary folder."""
    pytest.importorskip("psycopg")
    installed = [shutil.which("initdb"), *sorted(Path(DEBIAN).glob("*/bin/initdb"))]
    initdb = next((Path(path) for path in installed if path is not None), None)
    if initdb is None:
        pytest.skip("there is no PostgreSQL: Debian's package is postgresql")
    with tempfile.TemporaryDirectory() as folder:
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []  # root must not

        def run(program: str, *options: str) -> None:
            command = [*user, initdb.with_name(program), "-D", f"{folder}/data", *options]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)

        only_here = f"-c listen_addresses='' -k {folder}"
        try:
            if user:
                shutil.chown(folder, "postgres")
            run("initdb", "-U", "me", "-A", "trust", "--no-sync")
            run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", only_here, "start")
        except (LookupError, OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"PostgreSQL cannot be started here: {error}")
        try:
            yield f"postgresql+psycopg://me@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")


@pytest.fixture(params=["postgresql", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/shared.db"
    return request.getfixturevalue("postgresql")


@pytest.mark.nightly
@pytest.mark.parametrize("num_initial", [MANY, 4])
def test_processes_share_a_study(num_initial: int, url: str) -> None:
    """No point is evaluated twice, and all points of the initial design appear in order."""
    storage = optuna.storages.RDBStorage(url)
    study = optuna.create_study(storage=storage, study_name="shared")
    command = [sys.executable, "-c", PROCESS, url, str(num_initial)]
    processes = [subprocess.Popen(command) for _ in range(2)]
    try:
        assert [process.wait() for process in processes] == [0, 0]
        trials = study.trials
    finally:
        optuna.delete_study(study_name="shared", storage=storage)
        storage.engine.dispose()
    assert [trial.number for trial in trials] == list(range(2 * NUM_TRIALS))
    points = [(trial.params["x"], trial.params["y"]) for trial in trials]
    assert len(set(points)) == 2 * NUM_TRIALS
    num_design = min(num_initial, 2 * NUM_TRIALS)
    design = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, num_initial=MANY).ask(num_design)
    assert points[:num_design] == [tuple(trial.params.values()) for trial in design]
