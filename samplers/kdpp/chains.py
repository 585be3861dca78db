"""Markov chains over sets of k items whose stationary distribution is a k-DPP.

The chains need no eigendecomposition. Both start from the greedy set, whose probability is bounded
from below, and exchange one item per step. Theorems bound the number of steps to a given total
variation distance from the k-DPP.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Bool, Float, Int, Key

from structbo.models.foundation.arguments import check_fraction, checked_count
from structbo.models.foundation.precision import double_precision
from structbo.samplers.kdpp.exact import checked_kernel, most_probable


def sample_kdpp_mcmc(
    key: Key[Array, ""],
    L: ArrayLike,
    k: int,
    *,
    accuracy: float = 0.01,
    num_steps: int | None = None,
) -> Int[Array, " {k}"]:
    """Draws k items by a Metropolis chain that exchanges random items.

    A step costs O(k^2), and the bound requires O(n k^2 log n) steps. `sample_kdpp_heat_bath` is far
    faster for the same accuracy, unless a small ``num_steps`` suffices.

    Args:
        key: a JAX random key.
        L: symmetric positive semi-definite matrix of rank at least k, shape (n, n).
        k: number of items to draw, static.
        accuracy: bound on the total variation distance to the k-DPP.
        num_steps: number of steps; by default `metropolis_steps` for the accuracy.

    Returns:
        The items in ascending order.

    Raises:
        ValueError: if L fails a check of these properties, or another argument is out of range.

    References:
        Anari, Oveis Gharan and Rezaei 2016, "Monte Carlo Markov chain algorithms for sampling
        strongly Rayleigh distributions and determinantal point processes".

    Example:
        >>> sample_kdpp_mcmc(jax.random.key(0), jnp.diag(jnp.array([1.0, 0.0, 2.0])), 2).tolist()
        [0, 2]
    """
    return _sample(key, L, k, accuracy, num_steps, metropolis_steps, _metropolis)


def sample_kdpp_heat_bath(
    key: Key[Array, ""],
    L: ArrayLike,
    k: int,
    *,
    accuracy: float = 0.01,
    num_steps: int | None = None,
) -> Int[Array, " {k}"]:
    """Draws k items by a chain that removes a random item and draws another given the rest.

    A step costs O(n k^2), and the bound requires O(k log(k log n)) steps.

    Args:
        key: a JAX random key.
        L: symmetric positive semi-definite matrix of rank at least k, shape (n, n).
        k: number of items to draw, static.
        accuracy: bound on the total variation distance to the k-DPP.
        num_steps: number of steps; by default `heat_bath_steps` for the accuracy.

    Returns:
        The items in ascending order.

    Raises:
        ValueError: if L fails a check of these properties, or another argument is out of range.

    References:
        Cryan, Guo and Mousa 2021, "Modified log-Sobolev inequalities for strongly log-concave
        distributions", for the bases-exchange walk and its bound.

    Example:
        >>> L = jnp.diag(jnp.array([1.0, 0.0, 2.0]))
        >>> sample_kdpp_heat_bath(jax.random.key(0), L, 2).tolist()
        [0, 2]
    """
    return _sample(key, L, k, accuracy, num_steps, heat_bath_steps, _heat_bath)


def metropolis_steps(n: int, k: int, accuracy: float) -> int:
    """Number of steps of `sample_kdpp_mcmc` to a total variation distance from its k-DPP.

    The number is ``log(1 / (accuracy * p)) / C``, where p is a lower bound of the probability of
    the greedy start. Either an exchange or its reverse is always accepted when proposed, so
    ``C >= 1 / (2 k (n - k))``.

    Args:
        n: number of items.
        k: size of the sets.
        accuracy: total variation distance, in (0, 1).

    Returns:
        The number of steps.

    References:
        Anari, Oveis Gharan and Rezaei 2016, for the bound in terms of C and p.

    Example:
        >>> metropolis_steps(8, 3, 0.01)
        367
    """
    check_fraction("accuracy", accuracy)
    return math.ceil(2 * k * (n - k) * (_log_odds_of_start(n, k) - math.log(accuracy)))


def heat_bath_steps(n: int, k: int, accuracy: float) -> int:
    """Number of steps of `sample_kdpp_heat_bath` to a total variation distance from its k-DPP.

    A step multiplies the relative entropy to the k-DPP by at most ``1 - 1 / k``. The entropy starts
    at ``log(1 / p)`` at most, where p is a lower bound of the probability of the greedy start, and
    must fall to twice the square of the accuracy (Pinsker's inequality).

    Args:
        n: number of items.
        k: size of the sets.
        accuracy: total variation distance, in (0, 1).

    Returns:
        The number of steps.

    References:
        Cryan, Guo and Mousa 2021, for the decay of the entropy.

    Example:
        >>> heat_bath_steps(1000, 10, 0.01), heat_bath_steps(5000, 10, 0.01)
        (130, 132)
    """
    check_fraction("accuracy", accuracy)
    entropy = _log_odds_of_start(n, k)
    if entropy == 0.0:
        return 0
    return max(math.ceil(k * (math.log(0.5 * entropy) - 2.0 * math.log(accuracy))), 0)


def _log_odds_of_start(n: int, k: int) -> float:
    """Bound on ``log(1 / p)``: C(n, k) sets, each at most (k!)^2 times as probable as the start."""
    return math.log(math.comb(n, k)) + 2.0 * math.lgamma(k + 1.0)


class ItemSet(NamedTuple):
    """A set of items, with the inverse for ratios of determinants.

    Args:
        order: all items, with the members of the set first.
        inverse: inverse of the set's submatrix of L.
    """

    order: Int[Array, " n"]
    inverse: Float[Array, "k k"]

    def without(self, slot: Int[Array, ""]) -> Float[Array, "k k"]:
        """The inverse of the submatrix without the item in a slot, padded with zeros."""
        column = self.inverse[slot]
        return self.inverse - jnp.outer(column, column) / column[slot]

    def exchange(
        self,
        L: Float[Array, "n n"],
        slot: Int[Array, ""],
        place: Int[Array, ""],
        accept: Bool[Array, ""] | bool,
    ) -> "ItemSet":
        """The set with the item in a slot exchanged for the item in a place of the order."""
        ends = jnp.array([slot, place])
        order = self.order.at[ends].set(self.order[jnp.where(accept, ends[::-1], ends)])
        k = len(self.inverse)
        rest, column = self.without(slot), L[order[:k], order[slot]]
        border = (rest @ column).at[slot].set(-1.0)
        gain = L[order[slot], order[slot]] - column @ rest @ column
        inverse = rest + jnp.outer(border, border) / gain
        # One Newton iteration prevents the accumulation of rounding errors.
        submatrix = L[order[:k, None], order[:k]]
        inverse = inverse @ (2.0 * jnp.eye(k) - submatrix @ inverse)
        return ItemSet(order, jnp.where(accept, inverse, self.inverse))


Step = Callable[[Key[Array, ""], Float[Array, "n n"], ItemSet], ItemSet]


def _metropolis(key: Key[Array, ""], L: Float[Array, "n n"], chain: ItemSet) -> ItemSet:
    """Proposes to exchange a random member for a random non-member; lazy with probability 1/2."""
    n, k = len(chain.order), len(chain.inverse)
    key_slot, key_place, key_accept = jax.random.split(key, 3)
    slot = jax.random.randint(key_slot, (), 0, k)
    place = jax.random.randint(key_place, (), k, n)
    column, item = L[chain.order[:k], chain.order[place]], chain.order[place]
    gain = L[item, item] - column @ chain.without(slot) @ column
    ratio = chain.inverse[slot, slot] * gain
    accept = jax.random.uniform(key_accept) < 0.5 * jnp.minimum(ratio, 1.0)
    return chain.exchange(L, slot, place, accept)


def _heat_bath(key: Key[Array, ""], L: Float[Array, "n n"], chain: ItemSet) -> ItemSet:
    """Redraws a random slot's item given the others, in proportion to det(L_S)."""
    k = len(chain.inverse)
    key_slot, key_place = jax.random.split(key)
    slot = jax.random.randint(key_slot, (), 0, k)
    columns = L[chain.order[:k]][:, chain.order]
    gains = jnp.diagonal(L)[chain.order] - (columns * (chain.without(slot) @ columns)).sum(0)
    is_kept = (jnp.arange(len(gains)) < k) & (jnp.arange(len(gains)) != slot)
    log_gains = jnp.log(jnp.where(is_kept, 0.0, jnp.maximum(gains, 0.0)))
    place = jax.random.categorical(key_place, log_gains)
    return chain.exchange(L, slot, place, place != slot)


def _sample(
    key: Key[Array, ""],
    L: ArrayLike,
    k: int,
    accuracy: float,
    num_steps: int | None,
    steps_for: Callable[[int, int, float], int],
    step: Step,
) -> Int[Array, " {k}"]:
    with double_precision():
        L = checked_kernel(L, k)
        start = most_probable(L, k)
        if k in (0, len(L)):
            return jnp.sort(start)
        if num_steps is None:
            num_steps = steps_for(len(L), k, accuracy)
        return _run(key, L, start, checked_count("num_steps", num_steps, least=0), step)


@partial(jax.jit, static_argnums=4)
def _run(
    key: Key[Array, ""],
    L: Float[Array, "n n"],
    start: Int[Array, " k"],
    num_steps: int,
    step: Step,
) -> Int[Array, " k"]:
    n, k = len(L), len(start)
    others = jnp.nonzero(jnp.ones(n, bool).at[start].set(False), size=n - k)[0]
    inverse = jnp.linalg.inv(L[start[:, None], start])
    init = ItemSet(jnp.concatenate([start, others]), inverse)
    run = jax.lax.fori_loop(0, num_steps, lambda t, c: step(jax.random.fold_in(key, t), L, c), init)
    return jnp.sort(run.order[:k])
