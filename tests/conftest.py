"""Tests run in double precision, with one thread of linear algebra, and share compiled programs.

OpenBLAS threads spin while they wait for each other: on a busy machine a Cholesky factorization of
200 rows takes a hundred times longer. Compilation dominates the time, so pytest's cache folder
keeps programs for other processes and the next run, and fast tests compile with few optimizations.
Nightly tests run long, with the default optimizations. XLA computes in one thread, NPROC: the
processes of pytest share the cores, and before JAX 0.11 batched factorizations, as in vectorized
chains, deadlock if they occupy all threads. The variables must be set before SciPy is imported and
JAX compiles.
"""

import gc
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax")
)
# Storing a faster program takes as long as compiling it.
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
os.environ["NPROC"] = "1"

import logging
import re
from collections.abc import Callable, Iterator
from itertools import product
from unittest.mock import Mock

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
import shape_checks  # noqa: F401  # it wraps what is imported after it
from short_runs import BOX, MANY

from structbo import Optimizer
from structbo.models.foundation import device

MAX_MEMORY_MAPS = 45_000
"""Limit on the memory maps of a process.

Linux allows 65,530; every compiled program takes a few.
"""


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == "not nightly":
        jax.config.update("jax_disable_most_optimizations", True)
        os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # for processes that tests start
        flags = ["--xla_cpu_parallel_codegen_split_count=1"]  # a program is one module for LLVM
        if jax.__version_info__ < (0, 11):  # half the time again; XLA dropped the flag after
            flags.append("--xla_cpu_use_fusion_emitters=false")
        os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *flags])
    numpyro.enable_x64()
    # Scanning all objects takes half a second in a process with thousands of programs.
    gc.set_threshold(700, 10, 200)


@pytest.fixture(scope="module", autouse=True)
def forget_compiled_programs() -> Iterator[None]:
    """Clears caches before a process with thousands of programs runs out of memory maps."""
    yield
    maps = Path("/proc/self/maps")
    if not maps.exists() or len(maps.read_bytes().splitlines()) > MAX_MEMORY_MAPS:
        jax.clear_caches()


@pytest.fixture(scope="session")
def all_graphs() -> Callable[[int], jax.Array]:
    """Every edge matrix over D dimensions, shape (2 ** (D (D - 1) / 2), D, D)."""

    def enumerate_graphs(num_dims: int) -> jax.Array:
        rows, columns = np.triu_indices(num_dims, 1)
        bits = np.array(list(product([0, 1], repeat=len(rows))))
        graphs = np.zeros((len(bits), num_dims, num_dims), int)
        graphs[:, rows, columns] = graphs[:, columns, rows] = bits
        return jnp.array(graphs)

    return enumerate_graphs


@pytest.fixture(scope="session")
def all_partitions() -> Callable[[int], np.ndarray]:
    """Every partition of D dimensions in canonical labels, shape (Bell number, D)."""

    def extended(strings: list[list[int]]) -> list[list[int]]:
        return [[*s, label] for s in strings for label in range(max(s) + 2)]

    def enumerate_partitions(num_dims: int) -> np.ndarray:
        strings = [[0]]
        for _ in range(num_dims - 1):
            strings = extended(strings)
        return np.array(strings, np.int32)

    return enumerate_partitions


@pytest.fixture(scope="session")
def total_variation() -> Callable[..., float]:
    """Half the sum of absolute differences between frequencies of draws and probabilities."""

    def distance(draws, values, probabilities: np.ndarray) -> float:
        draws = np.asarray(draws).reshape(-1, *values.shape[1:])
        flat = np.concatenate([np.asarray(values), draws]).reshape(len(values) + len(draws), -1)
        code = np.unique(flat, axis=0, return_inverse=True)[1].ravel()
        frequencies = np.bincount(code[len(values) :], minlength=code.max() + 1) / len(draws)
        expected = np.zeros(code.max() + 1)
        expected[code[: len(values)]] = probabilities
        return 0.5 * np.abs(frequencies - expected).sum()

    return distance


@pytest.fixture
def on_a_processor() -> Iterator[None]:
    """Forces sequential computation, even on a machine with a GPU."""
    with jax.default_device(jax.devices("cpu")[0]):
        yield


@pytest.fixture
def on_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that poses as a GPU, so that computations are batched."""
    monkeypatch.setattr(device, "current_device", lambda: Mock(platform="gpu"))


@pytest.fixture
def compiled(caplog: pytest.LogCaptureFixture) -> Callable[[Callable[[], object]], list[str]]:
    """Runs a function, and returns the names of functions compiled by XLA meanwhile."""

    def names(run: Callable[[], object]) -> list[str]:
        caplog.clear()
        with caplog.at_level(logging.WARNING, "jax"), jax.log_compiles(True):
            run()
        pattern = r"Compiling jit\((.*)\) with"
        found = (re.match(pattern, record.message) for record in caplog.records)
        return [match[1] for match in found if match]

    return names


@pytest.fixture
def optimizer() -> Optimizer:
    return Optimizer(BOX, num_initial=MANY)
