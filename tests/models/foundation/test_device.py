"""Small problems are computed on the processor, also where JAX has an accelerator.

A second processor poses as the accelerator, in a process with two of them.
"""

import json
import os
import subprocess
import sys
from unittest.mock import Mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from structbo import Space, fit
from structbo.models import AdditiveGP
from structbo.models.foundation import device as module
from structbo.models.foundation.device import LEAST_WORK, checked_device, on_device
from structbo.models.foundation.precision import double_precision
from structbo.optimizer import Engine

TWO_DEVICES = """
import json
from unittest.mock import Mock

import jax
import numpy as np

import structbo as sb
from structbo.models.foundation import device, precision

processor, accelerator = jax.devices()
jax.default_backend = lambda: "gpu"
first_of = lambda kind: processor if kind == "cpu" else accelerator
device.first_of = precision.first_of = first_of
device.current_device = lambda: Mock(
    platform="gpu" if jax.config.jax_default_device == accelerator else "cpu"
)
device.LEAST_WORK = 2 * 7**2
optimizer, found = sb.Optimizer(sb.Space.box([[0.0, 1.0]] * 2), seed=0, num_initial=6), []
for _ in range(8):
    trial = optimizer.ask()
    optimizer.tell(trial, float(np.sum(trial.params)))
    if (draws := optimizer.draws) is not None:
        where, = draws["noise"].devices()
        found.append((len(optimizer.trials) - 1, len(draws["noise"]), where.id))
where = []
run, x = jax.jit(lambda x: x + 1.0), np.ones(1)
with precision.double_precision():
    where.append(run(x).devices().pop().id)
with jax.default_device(accelerator), precision.double_precision():
    where.append(run(x).devices().pop().id)
print(json.dumps([found, where]))
"""


def output(program: str, **variables: str) -> str:
    flags = "--xla_force_host_platform_device_count=2"
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "XLA_FLAGS": flags, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()[-1]


@pytest.mark.nightly
def test_a_search_moves_to_the_accelerator_when_its_problem_is_large() -> None:
    """There it averages over more draws, and a chain for each begins."""
    found, where = json.loads(output(TWO_DEVICES))
    assert found == [[6, 6, 0], [7, 16, 1]]
    assert where == [0, 1], "the processor, unless the user chose another device"


@pytest.mark.nightly
def test_the_variable_moves_small_problems_too() -> None:
    small = TWO_DEVICES.replace("2 * 7**2", "1e9").replace(
        "device.current_device",
        'device.checked_device = lambda *names: "gpu"\ndevice.current_device',
    )
    found, _ = json.loads(output(small, STRUCTBO_DEVICE="gpu"))
    assert found == [[6, 16, 1], [7, 16, 1]]


def test_the_size_of_a_problem_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[str | None] = []
    monkeypatch.setattr(module, "first_of", lambda kind: kinds.append(kind))
    rows = int(np.sqrt(LEAST_WORK / 20))
    for num_rows, num_chains in (
        (rows - 1, 1),
        (rows + 1, 1),
        (rows // 2 - 1, 4),
        (rows // 2 + 1, 4),
    ):
        with on_device("auto", num_rows, 20, num_chains):
            pass
    assert kinds == ["cpu", None, "cpu", None]


def test_a_device_of_the_user_is_kept() -> None:
    (only,) = jax.devices("cpu")
    with jax.default_device(only), on_device("auto", 3, 2), double_precision():
        assert jax.config.jax_default_device == only


@pytest.mark.usefixtures("on_a_processor")
def test_without_an_accelerator_nothing_is_switched() -> None:
    """A switch would compile programs a second time."""
    with jax.default_device(None), on_device("cpu", 10_000, 500), double_precision():
        assert jax.config.jax_default_device is None
        assert jnp.zeros(1).devices() == {jax.devices("cpu")[0]}


def test_too_little_memory_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def fill() -> None:
        with on_device("auto", 1234, 7):
            jnp.zeros((10**7, 10**7)).block_until_ready()

    with pytest.raises(MemoryError, match=r"^1,234 observations of 7 .* 'cpu' has\. Use fewer"):
        fill()
    monkeypatch.setattr(module, "platform", lambda: "gpu")
    with pytest.raises(MemoryError, match="STRUCTBO_DEVICE=cpu"):
        fill()


def test_other_errors_of_a_device_are_kept() -> None:
    error = jax.errors.JaxRuntimeError("INTERNAL: something else")
    with pytest.raises(jax.errors.JaxRuntimeError, match="something else"), on_device("cpu", 3, 2):
        raise error


@pytest.mark.parametrize("wrong", ["abacus", 3, None])
def test_unknown_devices_are_named(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"device must be 'auto' or 'cpu'.* here, got"):
        checked_device(wrong)
    with pytest.raises(ValueError, match="device must be"):
        Engine(Space.box([[0.0, 1.0]]), device=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="device must be"):
        fit(AdditiveGP(), np.ones((2, 1)), np.ones(2), device=wrong)  # type: ignore[arg-type]


def test_an_unknown_device_of_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRUCTBO_DEVICE", "abacus")
    with pytest.raises(ValueError, match="STRUCTBO_DEVICE must be 'auto' or 'cpu'"):
        Engine(Space.box([[0.0, 1.0]]))


@pytest.mark.nightly
@pytest.mark.usefixtures("on_an_accelerator")
def test_a_second_suggestion_on_an_accelerator_compiles_nothing(compiled) -> None:
    x = np.random.default_rng(0).random((12, 7))
    engine = Engine(Space.box([[0.0, 1.0]] * 7), seed=0, num_initial=4)
    none = np.empty((0, 7))
    assert compiled(lambda: engine.propose(x[:10], x[:10].sum(1), none, 1))
    assert compiled(lambda: engine.propose(x[:11], x[:11].sum(1), none, 1)) == []
    assert compiled(lambda: engine.propose(x, x.sum(1), none, 1)) == []


def test_the_accelerator_of_tests_is_a_processor(on_an_accelerator: None) -> None:
    assert isinstance(module.current_device(), Mock) and module.platform() == "gpu"
