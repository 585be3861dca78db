"""Examples run as their users run them."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_custom_prior_runs_and_learns_the_decay(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    command = [sys.executable, EXAMPLES / "custom_prior.py", "--n-trials", "18"]
    run = subprocess.run(
        [*command, "--picture", picture], capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stderr
    assert "Best value" in run.stdout and "decay" in run.stdout
    assert picture.stat().st_size > 1000
