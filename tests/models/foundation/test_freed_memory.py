"""Freed memory that the process still holds."""

import ctypes
import sys

import pytest

from structbo.models.foundation.compilation import return_freed_memory

NUM_BLOCKS, SIZE = 50_000, 1024


def resident() -> int:
    """Resident memory of the process, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="only the C library of Linux has the call")
def test_freed_memory_is_returned_to_the_system() -> None:
    c = ctypes.CDLL(None)
    c.malloc.restype, c.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [c.malloc(SIZE) for _ in range(NUM_BLOCKS)]
    for block in blocks:
        ctypes.memset(block, 1, SIZE)
    # The last block keeps the C library from returning the blocks before it.
    for block in blocks[:-1]:
        c.free(block)
    before = resident()
    return_freed_memory()
    assert before - resident() > 0.8 * NUM_BLOCKS * SIZE
    c.free(blocks[-1])


def test_systems_without_such_a_call_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(ctypes, "CDLL")
    return_freed_memory()
