"""Background calls, and how they end with the program."""

import subprocess
import sys
from threading import Event

import pytest

from structbo.models.foundation.background import Background

ENDS_EARLY = """
import sys, threading, time
from structbo.models.foundation.background import Background

begun = threading.Event()

def slow():
    begun.set()
    time.sleep(0.2)
    print("slow", flush=True)

background = Background("test")
background.submit(slow)
for _ in range(3):
    background.submit(print, "late")
begun.wait()
"""


def test_a_program_that_ends_waits_for_the_call_that_runs_and_for_no_other() -> None:
    """The interpreter does not shut down during a call; calls that have not begun are dropped."""
    ended = subprocess.run(
        [sys.executable, "-c", ENDS_EARLY], capture_output=True, text=True, check=True
    )
    assert (ended.stdout, ended.stderr) == ("slow\n", "")


def test_calls_run_in_order_and_an_error_stays_with_its_own() -> None:
    background, may_run = Background("test"), Event()
    noted: list[int] = []

    def note(number: int) -> int:
        may_run.wait(timeout=60.0)
        noted.append(number)
        return 1 // number

    futures = [background.submit(note, number) for number in (1, 0, 2)]
    may_run.set()
    assert [futures[k].result(timeout=60.0) for k in (0, 2)] == [1, 0]
    with pytest.raises(ZeroDivisionError):
        futures[1].result(timeout=60.0)
    assert noted == [1, 0, 2]
