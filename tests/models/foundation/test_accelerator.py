"""Batched computation on an accelerator, here a processor that poses as one."""

from unittest.mock import Mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from structbo.models.foundation.accelerator import (
    COPIES,
    LEAST_BYTES,
    MAX_DRAWS,
    SHARE,
    for_chains,
    map_draws,
    max_chains,
    where_needed,
)


@pytest.mark.parametrize("where", ["on_a_processor", "on_an_accelerator"])
def test_draws_come_one_by_one_or_in_batches(where: str, request: pytest.FixtureRequest) -> None:
    """An accelerator computes whole batches and the remainder."""
    request.getfixturevalue(where)

    def norm(draw: dict[str, Array]) -> Array:
        return (draw["x"] ** 2).sum() + draw["y"]

    count = MAX_DRAWS + 3
    draws = {"x": jnp.arange(2.0 * count).reshape(count, 2), "y": jnp.arange(count)}
    expected = [4 * k**2 + (2 * k + 1) ** 2 + k for k in range(count)]
    assert map_draws(norm, draws).tolist() == expected
    text = str(jax.make_jaxpr(lambda d: map_draws(norm, d))(draws))
    assert (f"[{MAX_DRAWS},2]" in text) is (where == "on_an_accelerator")


def test_chains_share_their_other_arguments() -> None:
    points, more = jnp.ones((5, 2)), jnp.array(3.0)

    def one(chain: Array, points: Array, more: Array) -> Array:
        return chain * points.sum() + more

    assert for_chains(one)(jnp.arange(3.0), points, more).tolist() == [3.0, 13.0, 23.0]


def test_chains_at_once_fit_into_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """This device, like processors, does not report its memory."""
    monkeypatch.setattr(jax, "devices", lambda: [Mock(memory_stats=lambda: None)])
    for num_rows, num_dims in ((32, 2), (256, 20), (512, 200)):
        each = 8 * COPIES * num_dims * num_rows**2
        found = max_chains(num_rows, num_dims)
        assert found == 1 or found * each <= SHARE * LEAST_BYTES < (found + 1) * each
    assert max_chains(4096, 500) == 1


def test_of_a_batch_that_does_not_fit_equal_parts_go_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is no remainder, which would be compiled separately."""
    monkeypatch.setattr("structbo.models.foundation.accelerator.max_chains", lambda *_: 4)
    traced = []

    def one(chain: Array, points: Array) -> Array:
        traced.append(chain)
        return chain + points.sum()

    assert for_chains(one)(jnp.arange(6.0), jnp.zeros((1, 1))).tolist() == [0, 1, 2, 3, 4, 5]
    assert len(traced) == 1


@pytest.mark.parametrize("needs", [[False, False], [False, True], [True, True]])
def test_what_no_one_needs_is_not_computed(needs: list[bool]) -> None:
    calls = []

    def each(needs: Array, value: Array) -> Array:
        def compute() -> Array:
            jax.debug.callback(lambda: calls.append(1))
            return -value

        return where_needed(needs, value, compute)

    values = np.array([1.0, 2.0])
    found = jax.jit(jax.vmap(each))(jnp.array(needs), values)
    assert found.tolist() == np.where(needs, -values, values).tolist()
    jax.effects_barrier()
    assert bool(calls) is any(needs)
