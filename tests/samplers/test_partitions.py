"""Partition samplers against the enumerated posterior, and their moves one by one."""

from functools import partial
from itertools import combinations, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers

import structbo as sb
from structbo.models import AdditiveGP, CRPPartition, blocks, canonical, partition, partitions
from structbo.samplers import PartitionGibbs, PartitionMoves, RestrictedSplitMerge, SplitMerge
from structbo.samplers.conditional import Conditional
from structbo.samplers.split_merge import propose

NUM_DIMS = 5
PRIORS = {
    "uniform": partitions(),
    "bounded": partitions(max_size=3),
    "bounded by the likelihood": partitions(lambda d: CRPPartition(d, 1.3), max_size=2),
    "CRP": partitions(lambda d: CRPPartition(d, 0.4)),
}
SAMPLERS = [
    partial(SplitMerge, num_moves=4),
    partial(PartitionGibbs, num_moves=3),
    partial(RestrictedSplitMerge, num_moves=3, num_scans=1),
    PartitionMoves,
]


def name(sampler) -> str:
    return getattr(sampler, "func", sampler).__name__


def partition_model(structure, num_dims: int = NUM_DIMS):
    """A model whose partition is the only unknown."""
    fixed = {
        "lengthscale": jnp.array([0.3, 0.4, 0.5, 0.6, 0.4])[:num_dims],
        "outputscale": jnp.array(1.0),
        "noise": jnp.array(0.1),
    }
    return handlers.condition(AdditiveGP(structure), data=fixed)


@pytest.mark.parametrize(
    ("prior", "sampler"),
    [
        *[
            pytest.param("uniform", s, marks=[] if s is SAMPLERS[1] else pytest.mark.nightly)
            for s in SAMPLERS
        ],
        pytest.param("bounded", SAMPLERS[1], marks=pytest.mark.nightly),
        pytest.param(
            "bounded by the likelihood",
            partial(SplitMerge, num_moves=12),
            marks=pytest.mark.nightly,
        ),
        pytest.param("bounded by the likelihood", SAMPLERS[1], marks=pytest.mark.nightly),
        pytest.param("CRP", SAMPLERS[2], marks=pytest.mark.nightly),
        pytest.param("CRP", SAMPLERS[1], marks=pytest.mark.nightly),
    ],
    ids=lambda part: part if isinstance(part, str) else name(part),
)
def test_frequencies_of_partitions(
    prior, sampler, effort, data, all_partitions, posterior_over, run_block, check_frequencies
):
    num_points = 8 if prior == "uniform" else 12
    everything, args = all_partitions(NUM_DIMS), data(num_points, NUM_DIMS)
    model = partition_model(PRIORS[prior])
    posterior = posterior_over(model, args, "labels", everything)
    assert 0.02 < posterior.max() < 0.9  # neither flat nor a point: an informative test
    starts = jnp.tile(jnp.arange(NUM_DIMS, dtype=jnp.int32), (20, 1))
    draws = run_block(sampler(model), args, "labels", starts, 50 + int(2000 * effort))[:, 50:]
    # Splits and merges of small blocks are rarely possible, and mix slowly.
    check_frequencies(draws, everything, posterior, 0.025 if "likelihood" in prior else 0.012)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "sampler",
    [
        SplitMerge,
        partial(RestrictedSplitMerge, num_moves=4, num_scans=0),
        pytest.param(PartitionGibbs, marks=pytest.mark.nightly),
        pytest.param(PartitionMoves, marks=pytest.mark.nightly),
    ],
    ids=name,
)
def test_flat_likelihood_is_uniform(
    sampler, effort, data, all_partitions, posterior_over, run_block, check_frequencies
):
    """One observation says nothing: all 15 partitions of 4 have the same probability.

    Public chains of splits and merges are 0.14 to 0.33 away from that.
    """
    everything, args = all_partitions(4), data(2, 4)
    args = (args[0][:1], args[1][:1])
    model = partition_model(partitions(), 4)
    np.testing.assert_allclose(posterior_over(model, args, "labels", everything), 1 / 15)
    starts = jnp.zeros((200, 4), jnp.int32)
    draws = run_block(sampler(model), args, "labels", starts, 10 + int(1000 * effort))[:, 10:]
    check_frequencies(draws, everything, np.full(15, 1 / 15))


# Splits and merges, enumerated in Python.

Labels = tuple[int, ...]


def canonical_tuple(labels) -> Labels:
    names = list(dict.fromkeys(labels))
    return tuple(names.index(label) for label in labels)


def split_merge_proposals(labels: Labels) -> dict[Labels, float]:
    """Probability of each proposal: every choice of figure 1 of Gardner et al. 2017, in turn."""
    members = [[d for d, own in enumerate(labels) if own == b] for b in range(max(labels) + 1)]
    splits = [
        [
            canonical_tuple([len(labels) if d in leaving else own for d, own in enumerate(labels)])
            for size in range(1, len(block))
            for leaving in combinations(block[1:], size)
        ]
        for block in members
        if len(block) > 1
    ]
    merges = [
        canonical_tuple([a if own == b else own for own in labels])
        for a, b in combinations(range(len(members)), 2)
    ]
    prob_split = 0.5 if splits and merges else float(bool(splits))
    probs: dict[Labels, float] = {}
    for ways in splits:
        for new in ways:
            probs[new] = probs.get(new, 0.0) + prob_split / len(splits) / len(ways)
    for new in merges:
        probs[new] = probs.get(new, 0.0) + (1 - prob_split) / len(merges)
    return probs


@pytest.mark.parametrize("num_dims", [4, pytest.param(5, marks=pytest.mark.nightly)])
def test_detailed_balance_of_splits_and_merges(
    num_dims, effort, data, all_partitions, posterior_over
):
    """On every ordered pair of partitions: the proposals of the shipped code, and its ratio."""
    everything = all_partitions(num_dims)
    states = [tuple(row) for row in everything.tolist()]
    index = {state: k for k, state in enumerate(states)}
    exact = np.zeros((len(states), len(states)))
    for state in states:
        for new, prob in split_merge_proposals(state).items():
            exact[index[state], index[new]] = prob
    np.testing.assert_allclose(exact.sum(1), 1.0)

    num_draws = int(32_000 * effort)
    keys = jax.random.split(jax.random.key(0), num_draws)
    drawn, log_ratios = jax.jit(jax.vmap(jax.vmap(propose, in_axes=(0, None)), in_axes=(None, 0)))(
        keys, everything
    )
    base = (num_dims + 1) ** np.arange(num_dims)
    order = np.argsort(everything @ base)
    codes = (everything @ base)[order]
    to = order[np.searchsorted(codes, np.asarray(drawn) @ base)]
    frequencies = np.stack([np.bincount(row, minlength=len(states)) for row in to]) / num_draws
    error = np.sqrt(exact * (1 - exact) / num_draws)
    assert (np.abs(frequencies - exact) <= 5 * error).all()
    assert ((frequencies > 0) == (exact > 0)).all()

    ratio = np.full(exact.shape, np.nan)
    ratio[np.arange(len(states))[:, None], to] = log_ratios
    possible = exact > 0
    assert (possible == possible.T).all()
    np.testing.assert_allclose(ratio[possible], np.log(exact.T[possible] / exact[possible]))

    posterior = posterior_over(
        partition_model(partitions(), num_dims), data(12, num_dims), "labels", everything
    )
    accepted = np.minimum(1.0, posterior / posterior[:, None] * np.exp(ratio))
    flow = np.where(possible, posterior[:, None] * exact * accepted, 0.0)
    np.testing.assert_allclose(flow, flow.T, atol=1e-14)


def restricted_transitions(
    state: Labels, density: dict[Labels, float], num_scans: int
) -> dict[Labels, float]:
    """Probability of each next state: all pairs, launches and scans of Jain and Neal 2004."""

    def divided(union: tuple[int, ...], second: frozenset[int]) -> Labels:
        top = len(state)
        return canonical_tuple(
            [own if d not in union else top + (d in second) for d, own in enumerate(state)]
        )

    def scan(union, free, sides: frozenset[int]) -> dict[frozenset[int], float]:
        """Probabilities of the results of one Gibbs scan over the free dimensions."""
        results = {sides: 1.0}
        for dim in free:
            after: dict[frozenset[int], float] = {}
            for current, prob in results.items():
                options = [current - {dim}, current | {dim}]
                weights = [density[divided(union, option)] for option in options]
                for option, weight in zip(options, weights, strict=True):
                    after[option] = after.get(option, 0.0) + prob * weight / sum(weights)
            results = after
        return results

    pairs = list(combinations(range(len(state)), 2))
    transitions = {state: 0.0}
    for i, j in [*pairs, *[pair[::-1] for pair in pairs]]:
        union = tuple(d for d, own in enumerate(state) if own in (state[i], state[j]))
        free = [d for d in union if d not in (i, j)]
        launches = {
            frozenset([j, *[d for d, coin in zip(free, coins, strict=True) if coin]]): 0.5
            ** len(free)
            for coins in product([0, 1], repeat=len(free))
        }
        for _ in range(num_scans):
            after: dict[frozenset[int], float] = {}
            for launch, prob in launches.items():
                for result, step in scan(union, free, launch).items():
                    after[result] = after.get(result, 0.0) + prob * step
            launches = after
        for launch, prob in launches.items():
            weight = prob / (2 * len(pairs))
            last = scan(union, free, launch)
            if state[i] == state[j]:
                outcomes = [(divided(union, side), q, 1 / q) for side, q in last.items()]
            else:
                now = frozenset(d for d, own in enumerate(state) if own == state[j])
                merged = canonical_tuple(
                    [len(state) if d in union else own for d, own in enumerate(state)]
                )
                outcomes = [(merged, 1.0, last[now])]
            for new, q, ratio in outcomes:
                accept = min(1.0, density[new] / density[state] * ratio)
                transitions[new] = transitions.get(new, 0.0) + weight * q * accept
                transitions[state] += weight * q * (1 - accept)
    return transitions


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("num_dims", "num_scans"),
    [(4, 1), *[pytest.param(*case, marks=pytest.mark.nightly) for case in ((4, 0), (5, 1))]],
)
def test_detailed_balance_of_restricted_splits(
    num_dims, num_scans, data, all_partitions, posterior_over
):
    """The kernel, enumerated in Python, is reversible, and the shipped code follows it."""
    everything, args = all_partitions(num_dims), data(12, num_dims)
    model = partition_model(partitions(), num_dims)
    posterior = posterior_over(model, args, "labels", everything)
    states = [tuple(row) for row in everything.tolist()]
    density = dict(zip(states, posterior.tolist(), strict=True))
    rows = [restricted_transitions(state, density, num_scans) for state in states]
    kernel = np.array([[row.get(new, 0.0) for new in states] for row in rows])
    np.testing.assert_allclose(kernel.sum(1), 1.0)
    flow = posterior[:, None] * kernel
    np.testing.assert_allclose(flow, flow.T, atol=1e-14)

    block, num_draws = RestrictedSplitMerge(model, num_moves=1, num_scans=num_scans), 1000

    def one_move(key, start):
        conditional = Conditional(model, "labels", start, args, {})
        return block.update(key, conditional, start)[0]

    move_each = jax.vmap(one_move, in_axes=(None, 0))
    keys = jax.random.split(jax.random.key(0), num_draws)
    moved = jax.jit(lambda: jax.lax.map(lambda key: move_each(key, everything), keys))()
    frequencies = (np.asarray(moved)[:, :, None] == everything).all(-1).mean(0)
    error = np.sqrt(kernel * (1 - kernel) / num_draws)
    assert (np.abs(frequencies - kernel) <= 5 * error + 1e-12).all()


# Bounds, sizes and likelihoods.


@pytest.mark.nightly
@pytest.mark.parametrize(
    "sampler",
    [*SAMPLERS[:2], *[pytest.param(s, marks=pytest.mark.nightly) for s in SAMPLERS[2:]]],
    ids=name,
)
def test_chain_enters_the_support_from_outside(sampler, data, run_block):
    """The prior does not know the bound of blocks: a chain may start where no move is valid."""
    model = partition_model(PRIORS["bounded by the likelihood"])
    draws = run_block(
        sampler(model), data(12, NUM_DIMS), "labels", jnp.zeros((1, NUM_DIMS), jnp.int32), 100
    )
    inside = jax.vmap(lambda labels: blocks(labels, 2).valid)(draws[0])
    first = int(np.argmax(inside))
    assert inside[first:].all()
    assert first < 50
    assert partition(draws).all()
    assert len(np.unique(draws[0, 50:], axis=0)) > 1


@pytest.mark.nightly
@pytest.mark.parametrize("sampler", SAMPLERS, ids=name)
def test_one_dimension_has_one_partition(sampler, run_block):
    args = (jnp.linspace(0, 1, 5)[:, None], jnp.arange(5.0))
    model = partition_model(partitions(), 1)
    draws = run_block(sampler(model), args, "labels", jnp.zeros((1, 1), jnp.int32), 3)
    assert not draws.any()


@pytest.mark.nightly
def test_planted_partition_is_found():
    """Six dimensions in blocks of 3, 2 and 1; the priors, the sampler and `fit` are the default."""
    truth = jnp.array([0, 1, 0, 2, 1, 0])
    rng = np.random.default_rng(3)
    X = rng.random((80, 6))
    y = (
        8 * (X[:, 0] - 0.5) * (X[:, 2] - 0.5)
        + np.sin(4 * X[:, 0] * X[:, 5])
        + np.cos(6 * (X[:, 1] - X[:, 4]))
        + np.square(2 * X[:, 3] - 1)
    )
    y = (y - y.mean()) / y.std() + 0.05 * rng.normal(size=80)
    result = sb.fit(
        AdditiveGP(partitions()),
        X,
        y,
        num_warmup=100,
        num_samples=100,
        num_chains=1,
        show_progress_bar=False,
    )
    labels = result.draws["labels"]
    assert labels.shape == (1, 100, 6)
    assert (labels == canonical(truth)).all(-1).mean() > 0.9
