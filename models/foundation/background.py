"""Background work that ends with the program."""

import atexit
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any


class Background:
    """Runs calls sequentially in a thread.

    When the program ends, it waits for the running call and drops calls that have not begun. An
    executor of `concurrent.futures` would run all of them first.

    Args:
        name: name of the thread.

    Example:
        >>> Background("adds").submit(sum, [1, 2]).result()
        3
    """

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._is_running = Lock()
        self._has_ended = False
        Thread(target=self._run, name=name, daemon=True).start()
        atexit.register(self._end)

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Runs a function after all functions submitted before."""
        future: Future[Any] = Future()
        self._calls.put((future, partial(function, *args)))
        return future

    def _run(self) -> None:
        while True:
            future, call = self._calls.get()
            with self._is_running:
                if self._has_ended:
                    return
                try:
                    future.set_result(call())
                except BaseException as error:
                    future.set_exception(error)

    def _end(self) -> None:
        self._has_ended = True
        self._is_running.acquire()
