"""The log of a run: off by default, with one line per trial."""

import logging
from pathlib import Path
from typing import Any

import pytest

from structbo import Optimizer, minimize

VALUES = [2.0, float("nan"), 1.0, 1.5]
SETTINGS: dict[str, Any] = {"num_initial": 100, "show_progress_bar": False, "catch": ValueError}


def run(**settings: Any) -> None:
    values = iter(VALUES)
    minimize(lambda p: next(values), {"x": (0.0, 1.0)}, 4, **SETTINGS, **settings)


@pytest.mark.filterwarnings("ignore:the objective")
@pytest.mark.parametrize("is_kept", [False, True])
def test_every_trial_is_a_line(
    is_kept: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "structbo"):
        run(**({"storage": f"sqlite:///{tmp_path}/runs.db"} if is_kept else {}))
    lines = [r.getMessage() for r in caplog.records if r.name.startswith("structbo")]
    assert [line.partition(", at {'x': ")[0] for line in lines] == [
        "trial 0: 2, the best so far",
        "trial 1: failed",
        "trial 2: 1, the best so far",
        "trial 3: 1.5",
    ]


@pytest.mark.filterwarnings("ignore:the objective")
def test_nothing_is_shown_by_default(capfd: pytest.CaptureFixture[str]) -> None:
    run()
    assert capfd.readouterr() == ("", "")


def test_coordinates_have_the_digits_that_matter(caplog: pytest.LogCaptureFixture) -> None:
    optimizer = Optimizer({"t": (20.0, 80.0), "k": (1e-4, 1.0, "log")})
    with caplog.at_level(logging.INFO, "structbo"):
        optimizer.tell({"t": 45.380417, "k": 1 / 3}, 2.0)
    assert caplog.messages == ["trial 0: 2, the best so far, at {'t': 45.38, 'k': 0.3333}"]
    assert repr(optimizer).endswith("best 2 at {'t': 45.38, 'k': 0.3333})")
    assert optimizer.best.params["t"] == 45.380417
