"""XLA options that speed up compilation, if XLA has them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from structbo.models.foundation import program
from structbo.models.foundation.compilation import compiled
from structbo.models.foundation.program import (
    MAX_SERIAL_ROWS,
    OPTIONS,
    SERIAL,
    Program,
    compiler_options,
)

find_options = compiler_options.__wrapped__


def test_options_that_are_not_known_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of options change from version to version."""
    wanted = {"xla_no_such_option": True, "xla_backend_optimization_level": 1}
    monkeypatch.setattr(program, "OPTIONS", wanted)
    assert find_options("cpu", False) == {"xla_backend_optimization_level": 1}


def test_other_devices_have_no_options() -> None:
    assert find_options("gpu") == {}


def test_the_installed_version_knows_some() -> None:
    """Without them compilation takes nearly twice as long: on failure, look for new names."""
    assert "xla_backend_optimization_level" in compiler_options()
    assert compiler_options("cpu", False).items() <= OPTIONS.items()
    assert compiler_options().items() <= (OPTIONS | SERIAL).items()


def test_results_are_the_same_but_for_round_off() -> None:
    def energy(x: jax.Array) -> jax.Array:
        return jnp.linalg.slogdet(jnp.exp(-((x[:, None] - x) ** 2)) + jnp.eye(len(x)))[1]

    x = jnp.linspace(0.0, 3.0, 20)
    slope = jax.value_and_grad(energy)
    fast, plain = compiled()(slope)(x), jax.jit(slope)(x)
    for one, other in zip(fast, plain, strict=True):
        assert jnp.allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("more", [0, 1])
def test_only_long_matrices_are_divided_among_cores(more: int) -> None:
    program = Program(lambda x, rows: (x @ x.T).sum() + rows.sum())
    x = np.ones((MAX_SERIAL_ROWS + more, 2), "float32")
    assert program._kind((x, np.ones((2000, 3), int)), {}).is_serial is (more == 0)
    assert program(x, np.ones((2000, 3), int)) == 2 * len(x) ** 2 + 6000
