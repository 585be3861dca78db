"""Double precision, the processor, and one thread of linear algebra during computations.

JAX's switches are per thread. The number of threads of a linear algebra library is per process, so
running computations are counted, and the last one to end restores it.
"""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import jax
import jax.numpy as jnp
import scipy.linalg  # noqa: F401 - loads the library that JAX calls
import threadpoolctl
from threadpoolctl import ThreadpoolController

from structbo.models.foundation.device import default_device, first_of


class _OneThread:
    """Limits linear algebra to one thread while any computation is inside.

    For matrices of the sizes here, threads of these libraries wait for each other longer than they
    compute. The libraries are searched for once: a search takes tens of milliseconds, grows with
    the number of compiled programs, and can deadlock with a thread that loads a library.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._num_inside = 0
        self._libraries = ThreadpoolController().select(user_api="blas")
        self._limits: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._limits is None:
                self._limits = self._libraries.limit(limits=1)
            self._num_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._num_inside -= 1
            if self._num_inside == 0 and self._limits is not None:
                self._limits.restore_original_limits()
                self._limits = None
            self._give_up_control()

    @staticmethod
    def _give_up_control() -> None:
        """Lets other threads control OpenBLAS, which threadpoolctl 3.8 allows to one at a time."""
        controller = threadpoolctl.OpenBLASController
        if hasattr(controller, "clear_controlling_thread"):
            controller.clear_controlling_thread()


_one_thread = _OneThread()


@contextmanager
def double_precision() -> Iterator[None]:
    """Computes with 64-bit floats in this thread, and with one thread of linear algebra.

    The device is the processor, unless the user or `on_device` has chosen another one.

    Contexts may be nested and overlap in threads. The last one to end restores all settings.

    Example:
        >>> with double_precision():
        ...     jnp.zeros(1).dtype
        dtype('float64')
    """
    _one_thread.enter()
    try:
        device = default_device() or first_of("cpu")
        with jax.enable_x64(True), jax.default_device(device):
            yield
    finally:
        _one_thread.leave()


def is_double() -> bool:
    """Whether floats have 64 bits in this thread."""
    return jnp.result_type(float) == jnp.float64


def check_double(name: str) -> None:
    """Checks that floats have 64 bits, which factorizations need.

    Args:
        name: what needs them.

    Raises:
        RuntimeError: if they have 32 bits.
    """
    if not is_double():
        raise RuntimeError(
            f"{name} needs 64-bit floats and jax_enable_x64 is off: call numpyro.enable_x64() "
            "first, or run inside `with jax.enable_x64(True):`."
        )


class KeepsPrecision:
    """A base class whose instances keep 64-bit floats when they are unpickled.

    JAX converts unpickled arrays to single precision while its switch is off.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), pickle.dumps(self.__getstate__() or {}))


def _unpickled(cls: type[KeepsPrecision], attributes: bytes) -> KeepsPrecision:
    restored = object.__new__(cls)
    with jax.enable_x64(True):
        vars(restored).update(pickle.loads(attributes))
    return restored
