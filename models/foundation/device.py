"""The device of computations: the processor, or an accelerator for large problems.

An accelerator such as a GPU computes a large suggestion in a tenth of the processor's time, but its
programs take minutes to compile. Small problems are therefore computed on the processor, also where
JAX has an accelerator.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

AUTO = "auto"
VARIABLE = "STRUCTBO_DEVICE"
"""The environment variable with the device that "auto" stands for."""
SWITCHES: Any = jax.config
"""JAX's switches, as they are in this thread."""
LEAST_WORK = 2e7
"""Product of parameters, squared observations and chains from which an accelerator is used.

On one H200, a suggestion with 50 parameters and 1,000 observations takes 200 s with compilation,
and then 1.5 s instead of 14 s. With 300 observations it takes 145 s, and then 0.6 s instead of 2 s.
"""


def checked_device(device: object, name: str = "device") -> str:
    """The name of a kind of devices that JAX has, or "auto".

    Args:
        device: the name.
        name: what errors call it.

    Raises:
        ValueError: if JAX has no such device.

    Example:
        >>> checked_device("cpu")
        'cpu'
    """
    if device != AUTO and not _exists(device):
        known = dict.fromkeys((AUTO, "cpu", jax.default_backend()))
        raise ValueError(
            f"{name} must be {' or '.join(map(repr, known))} here, got {device!r}: for another "
            "kind of devices, install JAX with its support."
        )
    return str(device)


def _exists(kind: object) -> bool:
    try:
        return isinstance(kind, str) and bool(jax.devices(kind))
    except RuntimeError:
        return False


@contextmanager
def on_device(device: str, num_rows: int, num_dims: int, num_chains: int = 1) -> Iterator[None]:
    """Computes a problem of a size on a kind of devices, in this thread.

    Args:
        device: name of the kind, or "auto". The environment variable STRUCTBO_DEVICE replaces
            "auto". Without it, "auto" keeps a device that the user gave to `jax.default_device`.
            Otherwise it chooses an accelerator for a large problem, if JAX has one, and the
            processor for any other.
        num_rows: number of observations.
        num_dims: number of dimensions.
        num_chains: number of chains that an accelerator runs at once.

    Raises:
        ValueError: if JAX has no device that the environment variable names.
        MemoryError: if the device has too little memory.
    """
    kind = os.environ.get(VARIABLE, AUTO) if device == AUTO else device
    is_large = num_chains * num_dims * num_rows**2 >= LEAST_WORK
    if kind != AUTO:
        chosen = first_of(checked_device(kind, VARIABLE))
    else:
        chosen = default_device() or first_of(None if is_large else "cpu")
    with jax.default_device(chosen):
        try:
            yield
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            raise MemoryError(_too_large(num_rows, num_dims)) from error


def _too_large(num_rows: int, num_dims: int) -> str:
    """The message of a problem that does not fit into the memory of this thread's device."""
    advice = (
        "Use fewer chains, or a smaller model such as the one of `structbo.recipes.vanilla`."
        if platform() == "cpu"
        else f'Give device="cpu", or set the environment variable {VARIABLE}=cpu.'
    )
    return (
        f"{num_rows:,} observations of {num_dims:,} parameters need more memory than the device "
        f"{platform()!r} has. {advice} All observations are kept."
    )


def first_of(kind: str | None) -> Any:
    """The first device of a kind; None if JAX only has processors, so that programs are shared.

    Args:
        kind: name of the kind; None for the one that JAX prefers.
    """
    return None if jax.default_backend() == "cpu" else jax.devices(kind)[0]


def default_device() -> Any:
    """The device, or kind of devices, that `jax.default_device` has set in this thread, or None."""
    return SWITCHES.jax_default_device


def current_device() -> Any:
    """The device of computations in this thread."""
    device = SWITCHES.jax_default_device or jax.devices()[0]
    return jax.devices(device)[0] if isinstance(device, str) else device


def platform() -> str:
    """The kind of the device of computations in this thread, such as "cpu" or "gpu"."""
    return current_device().platform
