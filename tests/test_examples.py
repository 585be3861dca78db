"""Examples run as their users run them."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    "num_trials",
    [
        pytest.param(4, id="before the model is used"),
        pytest.param(18, id="whole", marks=pytest.mark.nightly),
    ],
)
def test_custom_prior_runs_and_learns_the_decay(tmp_path: Path, num_trials: int) -> None:
    """The posterior is drawn in both; points are suggested by the model in the second."""
    picture = tmp_path / "picture.png"
    command = [sys.executable, EXAMPLES / "custom_prior.py", "--n-trials", str(num_trials)]
    run = subprocess.run(
        [*command, "--picture", picture], capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stderr
    assert "Best value" in run.stdout and "decay" in run.stdout
    assert picture.stat().st_size > 1000
