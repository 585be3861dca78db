"""Random keys that record their uses, even inside compiled code.

The generator is threefry, registered under another name: its functions report the value of their
key to the host whenever the compiled program runs. This covers loops, branches, and keys derived
from one seed in different places. All random functions of JAX call the four functions below.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from jax.extend.random import define_prng_impl

THREEFRY = "threefry2x32"
USES: list["Use"] = []
new_key = jax.random.key


class Use(NamedTuple):
    """One use of a key: its value, the operation, and the number folded in."""

    key: tuple[int, ...]
    kind: str
    number: int = 0


def _record(kind: str, key: Any, number: Any = 0) -> None:
    def write(key: Any, number: Any) -> None:
        USES.append(Use(tuple(np.asarray(key).tolist()), kind, int(number)))

    jax.debug.callback(write, key, number)


def _key(data: Any) -> jax.Array:
    return jax.random.wrap_key_data(data, impl=THREEFRY)


def _seed(seed: Any) -> jax.Array:
    return jax.random.key_data(new_key(seed, impl=THREEFRY))


def _split(key: Any, shape: tuple[int, ...]) -> jax.Array:
    _record("split", key)
    return jax.random.key_data(jax.random.split(_key(key), shape))


def _bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> jax.Array:
    _record("drawn", key)
    return jax.random.bits(_key(key), shape, f"uint{bit_width}")


def _fold_in(key: Any, number: Any) -> jax.Array:
    _record("folded", key, number)
    return jax.random.key_data(jax.random.fold_in(_key(key), number))


RECORDED = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_bits,
    fold_in=_fold_in,
    name="recorded",
    tag="rec",
)


def recorded_key(seed: Any) -> jax.Array:
    """A recording key, in place of `jax.random.key`."""
    return new_key(seed, impl=RECORDED)


def reused(uses: list[Use]) -> dict[tuple[int, ...], Counter[str]]:
    """Keys with conflicting uses, by value.

    A key serves one draw, or one split, or it is folded with different numbers. A key that is split
    must not be folded too, since ``fold_in(k, 1)`` is ``split(k, n)[1]``. A repeated split is
    harmless unless its keys are drawn from twice.
    """
    of_key: dict[tuple[int, ...], list[Use]] = defaultdict(list)
    for use in uses:
        of_key[use.key].append(use)
    return {
        key: Counter(use.kind for use in of_one)
        for key, of_one in of_key.items()
        if len({use.kind for use in of_one}) > 1
        or any(number > 1 for use, number in Counter(of_one).items() if use.kind != "split")
    }


@contextmanager
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Use]]:
    """Records the uses of all keys created in the context."""
    with monkeypatch.context() as patch:
        patch.setattr(jax.random, "key", recorded_key)
        jax.effects_barrier()
        USES.clear()
        yield USES
        jax.effects_barrier()
