"""The context of all computations restores the state of the process."""

from collections.abc import Iterator
from threading import Barrier, Event, Thread

import jax
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from structbo.models.foundation.precision import double_precision, is_double


def num_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """A process with two threads of linear algebra and single precision."""
    with threadpool_limits(2, "blas"), jax.enable_x64(False):
        with double_precision():
            pass  # gives up the control that a thread has of OpenBLAS
        yield


def test_inside_floats_have_64_bits_and_linear_algebra_has_one_thread():
    assert (is_double(), num_threads()) == (False, {2})
    with double_precision():
        assert (is_double(), num_threads()) == (True, {1})
        with double_precision():
            assert (is_double(), num_threads()) == (True, {1})
        assert (is_double(), num_threads()) == (True, {1})
    assert (is_double(), num_threads()) == (False, {2})


def test_an_error_inside_leaves_everything_as_it_was():
    with pytest.raises(ZeroDivisionError), double_precision():
        _ = 1 / 0
    assert (is_double(), num_threads()) == (False, {2})


def test_the_last_of_two_overlapping_computations_restores_the_threads():
    """Both threads stay alive, as threadpoolctl 3.8 only takes control from dead threads."""
    both_inside, short_left, long_left = Barrier(2), Event(), Event()
    is_done, seen = Event(), []

    def short() -> None:
        with double_precision():
            both_inside.wait()
        short_left.set()
        is_done.wait()

    def long() -> None:
        with double_precision():
            both_inside.wait()
            short_left.wait()
            seen.append((is_double(), num_threads()))
        long_left.set()
        is_done.wait()

    threads = [Thread(target=target, daemon=True) for target in (short, long)]
    for thread in threads:
        thread.start()
    assert long_left.wait(60.0)
    assert seen == [(True, {1})]
    assert (is_double(), num_threads()) == (False, {2})
    is_done.set()
    for thread in threads:
        thread.join()
