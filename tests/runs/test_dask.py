"""A run on a Dask cluster, one of whose workers is killed."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from short_runs import BOX, MANY, minimize


@pytest.mark.nightly
def test_a_worker_that_is_killed_costs_no_trial(tmp_path: Path) -> None:
    """Dask repeats the evaluations of the worker."""
    distributed = pytest.importorskip("distributed")
    marker = str(tmp_path / "killed")

    def killing_its_worker_once(point: np.ndarray) -> float:
        if not os.path.exists(marker):
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return float(point[0])

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as here,
        distributed.Client(here) as client,
    ):
        run = client.get_executor()
        result = minimize(
            killing_its_worker_once, BOX, 10, num_initial=MANY, executor=run, n_jobs=2
        )
    assert os.path.exists(marker)
    assert [trial.state for trial in result.trials] == ["complete"] * 10
    for trial in result.trials:
        assert trial.value == trial.params[0]
