"""Batch strategies against refitted Gaussian processes and against enumeration."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erfc

from structbo.batches import (
    BatchProblem,
    ConfidenceBound,
    DPPMax,
    DPPSample,
    EstimationWidth,
    ExpectedImprovement,
    GroundSet,
    Hallucination,
    LocalPenalization,
    PureExploration,
    ThompsonBatch,
    TwoStage,
    batch_kernel,
    choose_batch,
    lipschitz_constant,
    most_uncertain,
    widening,
)
from structbo.batches.local_penalization import log_penalty
from structbo.data import Data
from structbo.draws import condition
from structbo.models import AdditiveGP, ConditionedGP, pairs

NUM_DIMS, NUM_POINTS, NUM_CANDIDATES, NUM_DRAWS = 3, 12, 40, 3
MODEL = AdditiveGP(lambda num_dims: pairs(jnp.ones((num_dims, num_dims)) - jnp.eye(num_dims)))
KEY = jax.random.key(0)
STRATEGIES = {
    "DPP-MAX": DPPMax(),
    "DPP-SAMPLE": DPPSample(),
    "DPP-SAMPLE, chain": DPPSample(accuracy=0.01),
    "PE": PureExploration(),
    "BUCB": Hallucination(),
    "constant liar": Hallucination(lie=np.min),
    "LP": LocalPenalization(),
    "Thompson": ThompsonBatch(),
    "two stages": TwoStage(),
}

Posteriors = Callable[..., tuple[ConditionedGP, Data]]


@pytest.fixture(scope="module")
def posteriors() -> Posteriors:
    """Processes with random hyper-parameters given random data, and optional further points."""
    conditioned = jax.jit(lambda draws, data: condition(MODEL, draws, data))

    def make(
        seed: int = 0, num_draws: int = NUM_DRAWS, more: Any = (), noise: float | None = None
    ) -> Any:
        rng = np.random.default_rng(seed)
        draws = {
            "lengthscale": rng.uniform(0.2, 0.6, (num_draws, NUM_DIMS)),
            "outputscale": rng.uniform(0.8, 1.2, num_draws),
            "noise": rng.uniform(0.01, 0.05, num_draws),
        }
        if noise is not None:
            draws["noise"] = np.full(num_draws, noise)
        x = rng.random((NUM_POINTS, NUM_DIMS))
        y = np.sin(6.0 * x[:, 0]) + x[:, 1] * x[:, 2]
        for point, value in more:
            x, y = np.vstack([x, point]), np.append(y, value)
        data = Data.padded(x, y)
        return conditioned(draws, data), data

    return make


def candidates(seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, 1]).random((NUM_CANDIDATES, NUM_DIMS))


def problem_of(posteriors: ConditionedGP, data: Data, points: np.ndarray, **given) -> BatchProblem:
    defaults = {"criterion": ConfidenceBound(1.0), "width": 1.0, "next_width": 1.2, "first": None}
    pending, values = np.arange(0), np.asarray(data.y)[data.mask]
    ground = GroundSet.of(posteriors, points)
    return BatchProblem(ground, posteriors, values, pending, **(defaults | given))


def test_moments_are_those_of_the_mixture(posteriors: Posteriors):
    mixture, _ = posteriors()
    points = candidates()
    ground = GroundSet.of(mixture, points)
    rng, samples = np.random.default_rng(0), []

    @jax.jit
    @jax.vmap
    def moments(one: ConditionedGP) -> tuple[jax.Array, jax.Array]:
        x = jnp.asarray(points)
        return one.predict(x)[0], one.covariance_between(x, x)

    for mean, covariance in zip(*map(np.asarray, moments(mixture)), strict=True):
        samples.append(rng.multivariate_normal(mean, covariance, 10_000))
    samples = np.concatenate(samples)
    np.testing.assert_allclose(ground.mean, samples.mean(0), atol=0.03)
    np.testing.assert_allclose(ground.covariance, np.cov(samples.T), atol=0.04)
    assert ground.noise == pytest.approx(float(mixture.noise.mean()))


def test_one_more_evaluation_equals_conditioning_anew(posteriors: Posteriors):
    single, _ = posteriors(num_draws=1)
    points = candidates()
    ground = GroundSet.of(single, points).given(7, 1.3).given(21)
    mean = GroundSet.of(single, points).given(7, 1.3).mean[21]
    again, _ = posteriors(num_draws=1, more=[(points[7], 1.3), (points[21], mean)])
    expected = GroundSet.of(again, points)
    np.testing.assert_allclose(ground.mean, expected.mean, atol=1e-10)
    np.testing.assert_allclose(ground.covariance, expected.covariance, atol=1e-10)
    assert np.flatnonzero(~ground.available).tolist() == [7, 21]


@pytest.mark.parametrize("strategy", ["DPP-MAX", "DPP-SAMPLE", "DPP-SAMPLE, chain"])
def test_noise_below_round_off_leaves_the_kernel_a_covariance(posteriors: Posteriors, strategy):
    """Chains find variances of 1e-13 for noise-free objectives; a factorization may add more."""
    near = candidates()[:30] * 0.02 + 0.4
    mixture, data = posteriors(more=[(point, 0.0) for point in near[:20]], noise=1e-16)
    items, kernel = batch_kernel(problem_of(mixture, data, near), 4)
    spectrum = np.linalg.eigvalsh(kernel[: len(items), : len(items)])
    assert spectrum.min() > 0.99
    chosen = choose_batch(STRATEGIES[strategy], mixture, data, near, 4, key=KEY, width=1.0)
    assert len(set(chosen.tolist())) == 4


@pytest.mark.parametrize("num_draws", [1, NUM_DRAWS])
def test_pure_exploration_equals_greedy_maximization_of_the_determinant(
    posteriors: Posteriors, num_draws
):
    """Kathuria et al. 2016, section 3.2, for UCB and for EST."""
    for seed in range(6):
        mixture, data = posteriors(seed, num_draws)
        points = candidates(seed)
        best = float(np.max(data.y))
        for width in (2.0, 0.3, EstimationWidth(best + 0.5)):
            explored, greedy = (
                choose_batch(strategy, mixture, data, points, 6, key=KEY, width=width)
                for strategy in (PureExploration(), DPPMax())
            )
            assert explored.tolist() == greedy.tolist()


def test_relevance_region(posteriors: Posteriors):
    mixture, data = posteriors()
    problem = problem_of(mixture, data, candidates(), width=0.5, next_width=0.2)
    mean, deviation = problem.ground.mean, problem.ground.deviation
    bar = (mean - 0.5 * deviation).max()
    expected = mean + 2.0 * 0.2 * deviation >= bar
    expected[problem.start] = False
    assert 0 < expected.sum() < NUM_CANDIDATES - 1
    assert (problem.region(1) == expected).all()
    # If the region is too small, the next most relevant candidates fill it up.
    narrow = replace(problem, width=0.0, next_width=0.0)
    order = np.argsort(-mean)
    assert narrow.start != order[0] or set(np.flatnonzero(narrow.region(5))) == set(order[1:6])
    assert narrow.region(5).sum() == 5
    assert narrow.region(0).sum() <= 1


def test_dpp_kernel_is_the_posterior_after_the_first_point(posteriors: Posteriors):
    single, data = posteriors(num_draws=1)
    points = candidates()
    problem = problem_of(single, data, points)
    items, kernel = batch_kernel(problem, 4)
    again, _ = posteriors(num_draws=1, more=[(points[problem.start], 0.0)])
    covariance = GroundSet.of(again, points[items]).covariance
    noise = float(single.noise[0])
    size = len(items)
    np.testing.assert_allclose(
        kernel[:size, :size], np.eye(size) + covariance / noise, atol=1e-7 / noise
    )
    assert not kernel[size:].any()


@pytest.mark.nightly
def test_samples_have_the_probabilities_of_the_kernel(posteriors: Posteriors, total_variation):
    mixture, data = posteriors()
    problem = problem_of(mixture, data, candidates()[:7], width=3.0, next_width=3.0)
    items, kernel = batch_kernel(problem, 3)
    subsets = np.array(list(combinations(range(len(items)), 2)))
    weight = np.linalg.det(kernel[subsets[:, :, None], subsets[:, None, :]])
    for strategy in (DPPSample(), DPPSample(accuracy=0.01)):
        keys = jax.random.split(jax.random.key(3), 250)
        batches = np.array([strategy(problem, 3, key) for key in keys])
        assert (batches[:, 0] == problem.start).all()
        # 15 sets: the mean distance is below sqrt(15 / (2 pi 250)) = 0.1, its deviation 0.032.
        drawn = np.sort(batches[:, 1:], axis=1)
        assert total_variation(drawn, items[subsets], weight / weight.sum()) < 0.18


@pytest.mark.parametrize(
    ("criterion", "lie"),
    [
        (ConfidenceBound(1.5), None),
        (ConfidenceBound(EstimationWidth(1.8, widening=1.3)), None),
        (ExpectedImprovement(1.2), None),
        (ExpectedImprovement(1.2), np.min),
    ],
    ids=["BUCB", "B-EST", "kriging believer", "constant liar"],
)
def test_hallucination_equals_conditioning_anew(posteriors: Posteriors, criterion, lie):
    """The incumbent rises to the best assumed value of a chosen point."""
    single, data = posteriors(num_draws=1)
    points = candidates()
    chosen = Hallucination(lie)(problem_of(single, data, points, criterion=criterion), 5, KEY)
    more: list[tuple[np.ndarray, float]] = []
    for index in chosen:
        if isinstance(criterion, ExpectedImprovement):
            criterion = ExpectedImprovement(max(1.2, *(value for _, value in more), -np.inf))
        ground = GroundSet.of(posteriors(num_draws=1, more=more)[0], points)
        scores = criterion(ground)
        scores[chosen[: len(more)]] = -np.inf
        assert scores.argmax() == index
        value = ground.mean[index] if lie is None else np.min(data.y[data.mask])
        more.append((points[index], value))


@pytest.mark.parametrize("lie", [None, np.max])
def test_pending_points_are_hallucinated_too(posteriors: Posteriors, lie):
    single, data = posteriors(num_draws=1)
    points, pending, criterion = candidates(), candidates(1)[:2], ExpectedImprovement(1.2)
    chosen = choose_batch(
        Hallucination(lie), single, data, points, 1, key=KEY, width=1.0, criterion=criterion,
        pending=pending,
    )  # fmt: skip
    means = GroundSet.of(single, pending).mean
    values = means if lie is None else np.full(2, np.max(data.y[data.mask]))
    again, _ = posteriors(num_draws=1, more=zip(pending, values, strict=True))
    assert chosen[0] == criterion(GroundSet.of(again, points)).argmax()


def test_est_is_a_confidence_bound(posteriors: Posteriors):
    """Lemma 3.1: the most probable candidate to reach the estimate has the highest bound."""
    for seed in range(10):
        ground = GroundSet.of(posteriors(seed)[0], candidates(seed))
        maximum = ground.mean.max() + 0.4
        bound = ConfidenceBound(EstimationWidth(maximum))(ground)
        assert bound.argmax() == ((maximum - ground.mean) / ground.deviation).argmin()
        assert bound.max() == pytest.approx(maximum)


def test_expected_improvement_is_its_integral(posteriors: Posteriors):
    ground = GroundSet.of(posteriors()[0], candidates())
    white = np.random.default_rng(0).normal(size=(200_000, 1))
    improved = np.maximum(ground.mean + ground.deviation * white - 0.9, 0.0).mean(0)
    np.testing.assert_allclose(ExpectedImprovement(0.9)(ground), improved, atol=3e-3)


def test_widening_bounds_how_much_deviations_shrink(posteriors: Posteriors):
    ground = GroundSet.of(posteriors()[0], candidates())
    explored = ground
    for index in most_uncertain(ground, 8):
        explored = explored.given(index)
    rng = np.random.default_rng(0)
    for start in (ground, explored):
        bound = widening(start, 4)
        for _ in range(30):
            given = start
            for index in rng.choice(np.flatnonzero(start.available), 3, replace=False):
                given = given.given(int(index))
            assert (start.deviation <= bound * given.deviation * (1.0 + 1e-9)).all()
    assert widening(explored, 4) < widening(ground, 4)
    assert widening(ground, 1) == 1.0


@pytest.mark.parametrize("width", [1.5, EstimationWidth(1.8)], ids=["BUCB", "B-EST"])
def test_two_stages_explore_and_then_widen_confidence_bounds(posteriors: Posteriors, width):
    """Against moments that are conditioned anew; the width of EST follows the deviations."""
    single, data = posteriors(num_draws=1)
    points = candidates()
    problem = problem_of(single, data, points, width=width)
    first = TwoStage(NUM_POINTS + 1)(problem, 4, KEY)
    assert first == most_uncertain(problem.ground, 4)
    chosen = TwoStage(NUM_POINTS)(problem, 4, KEY)
    factor = widening(problem.ground, 4)
    assert 1.0 < factor < 1000.0
    more: list[tuple[np.ndarray, float]] = []
    for index in chosen:
        ground = GroundSet.of(posteriors(num_draws=1, more=more)[0], points)
        own = 1.5
        if isinstance(width, EstimationWidth):
            own = ((1.8 - ground.mean) / ground.deviation).min()
        scores = ground.mean + factor * own * ground.deviation
        scores[chosen[: len(more)]] = -np.inf
        assert scores.argmax() == index
        more.append((points[index], ground.mean[index]))
    assert chosen != Hallucination()(replace(problem, criterion=ConfidenceBound(width)), 4, KEY)


def test_bounds_that_widen_without_limit_explore(posteriors: Posteriors):
    """A noise of 1e-8 makes every observation worth more than 9 nats."""
    single, data = posteriors(num_draws=1, noise=1e-16)
    apart = 100.0 * np.concatenate([candidates(), candidates(5)])
    problem = problem_of(single, data, apart)
    assert np.isinf(widening(problem.ground, 60))
    assert TwoStage(0)(problem, 60, KEY)[:2] == most_uncertain(problem.ground, 2)


def test_penalty_and_lipschitz_constant(posteriors: Posteriors):
    mixture, _ = posteriors()
    points = candidates()
    ground = GroundSet.of(mixture, points)
    gap = 2.0 * np.linalg.norm(points - points[3], axis=1) - 1.5 + ground.mean[3]
    expected = 0.5 * erfc(-gap / np.sqrt(2.0 * ground.covariance[3, 3]))
    np.testing.assert_allclose(np.exp(log_penalty(ground, 3, 2.0, 1.5)), expected, rtol=1e-9)
    slopes = np.zeros_like(points)
    for dim in range(NUM_DIMS):
        step = 1e-5 * np.eye(NUM_DIMS)[dim]
        up, down = (GroundSet.of(mixture, points + s).mean for s in (step, -step))
        slopes[:, dim] = (up - down) / 2e-5
    largest = np.linalg.norm(slopes, axis=1).max()
    assert lipschitz_constant(mixture, points) == pytest.approx(largest, rel=1e-6)


def test_penalization_maximizes_the_product(posteriors: Posteriors):
    mixture, data = posteriors()
    points, q = candidates(), 5
    problem = problem_of(mixture, data, points)
    chosen = LocalPenalization(lipschitz=3.0)(problem, q, KEY)
    ground, best = problem.ground, problem.values.max()
    for b in range(q):
        scores = np.log1p(np.exp(problem.criterion(ground)))
        for index in chosen[:b]:
            scores *= np.exp(log_penalty(ground, index, 3.0, best))
        scores[chosen[:b]] = -np.inf
        assert scores.argmax() == chosen[b]


def test_an_improvement_that_vanishes_does_not_change_the_penalized_batch(posteriors: Posteriors):
    """If a single zero triggered the transform, all improvements would be nearly equal."""
    mixture, data = posteriors()
    points = candidates()
    problem = problem_of(mixture, data, points, criterion=ExpectedImprovement(problem_best(data)))
    chosen = LocalPenalization(lipschitz=3.0)(problem, 5, KEY)
    hopeless = int(problem.criterion(problem.ground).argmin())
    mean = problem.ground.mean.copy()
    mean[hopeless] = -1e6
    lower = replace(problem, ground=replace(problem.ground, mean=mean))
    assert lower.criterion(lower.ground)[hopeless] == 0.0
    assert LocalPenalization(lipschitz=3.0)(lower, 5, KEY) == chosen


def problem_best(data: Data) -> float:
    return float(np.asarray(data.y)[data.mask].max())


@pytest.mark.nightly
def test_thompson_maximizes_samples_of_the_mixture(posteriors: Posteriors, total_variation):
    mixture, data = posteriors()
    points = candidates()[:4]
    problem = problem_of(mixture, data, points)
    keys = jax.random.split(jax.random.key(5), 150)
    first = np.array([ThompsonBatch()(problem, 1, key)[0] for key in keys])
    rng, wins = np.random.default_rng(0), np.zeros(4)
    for draw in range(NUM_DRAWS):
        one = jax.tree.map(lambda leaf, draw=draw: leaf[draw], mixture)
        moments = one.predict(points)[0], one.covariance_between(points, points)
        best = rng.multivariate_normal(*moments, 20_000).argmax(1)
        wins += np.bincount(best, minlength=4)
    # The mean distance is below sqrt(4 / (2 pi 150)) = 0.065, its deviation below 0.041.
    assert total_variation(first[:, None], np.arange(4)[:, None], wins / wins.sum()) < 0.17


@pytest.mark.parametrize("name", STRATEGIES)
def test_batches_are_distinct_legal_and_aware_of_pending_points(posteriors: Posteriors, name):
    mixture, data = posteriors()
    points = np.repeat(candidates()[:10], 2, axis=0)
    pending = np.array([points[4], [0.3, 0.3, 0.3]])
    arguments = {"key": KEY, "width": 0.7, "pending": pending}
    chosen = choose_batch(STRATEGIES[name], mixture, data, points, 9, **arguments)
    assert len(np.unique(points[chosen], axis=0)) == len(chosen) == 9
    assert not set(chosen.tolist()) & {4, 5}
    arguments["first"] = 6
    chosen = choose_batch(STRATEGIES[name], mixture, data, points, 3, **arguments)
    assert len(set((chosen // 2).tolist())) == 3
    # Two strategies treat pending points as the start of the batch, one widens the first bound.
    assert (chosen[0] == 6) == (name not in ("LP", "Thompson", "two stages"))
    del arguments["pending"]
    alone = choose_batch(STRATEGIES[name], mixture, data, points, 1, **arguments)
    assert alone.tolist() == [6]


@pytest.mark.parametrize("name", ["PE", "BUCB", "LP"])
def test_pending_points_repel(posteriors: Posteriors, name):
    """A point that is chosen without pending points is not chosen once it is pending."""
    mixture, data = posteriors()
    points = candidates()
    arguments = {"key": KEY, "width": 1.0}
    free = choose_batch(STRATEGIES[name], mixture, data, points, 1, **arguments)
    nearly = points[free] + 1e-6
    busy = choose_batch(STRATEGIES[name], mixture, data, points, 1, pending=nearly, **arguments)
    assert free[0] != busy[0]


def test_bad_arguments_are_named(posteriors: Posteriors):
    mixture, data = posteriors()
    points = candidates()
    arguments = {"key": KEY, "width": 1.0}
    with pytest.raises(ValueError, match="q must be between 1 and the 40 different candidates"):
        choose_batch(DPPMax(), mixture, data, points, 41, **arguments)
    for first in (-1, 40):
        with pytest.raises(ValueError, match=rf"first must be .*, got {first}"):
            choose_batch(DPPMax(), mixture, data, points, 2, first=first, **arguments)
    with pytest.raises(ValueError, match="width must be finite and not negative, got -1"):
        choose_batch(DPPMax(), mixture, data, points, 2, key=KEY, width=-1.0)
    with pytest.raises(ValueError, match="next_width must be finite and not negative, got inf"):
        choose_batch(PureExploration(), mixture, data, points, 2, next_width=np.inf, **arguments)
    with pytest.raises(ValueError, match="q must be an integer of at least 1"):
        choose_batch(DPPMax(), mixture, data, points, 2.0, **arguments)
    with pytest.raises(ValueError, match="points must have 3 columns, got 2"):
        choose_batch(DPPMax(), mixture, data, points[:, :2], 2, **arguments)
    with pytest.raises(TypeError, match="strategy must be an instance"):
        choose_batch("dpp_max", mixture, data, points, 2, **arguments)
    with pytest.raises(TypeError, match="criterion must be an instance"):
        choose_batch(DPPMax(), mixture, data, points, 2, criterion="ucb", **arguments)
    with pytest.raises(ValueError, match=r"strategy must choose 2 different .* got \[7, 7\]"):
        choose_batch(lambda problem, q, key: [7] * q, mixture, data, points, 2, **arguments)
    with pytest.raises(ValueError, match="number must be at most the 40 available"):
        most_uncertain(GroundSet.of(mixture, points), 41)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DPPSample(accuracy=2.0), "accuracy must be a number between 0 and 1, got 2.0"),
        (lambda: LocalPenalization(-1.0), "lipschitz must be positive"),
        (lambda: LocalPenalization(np.nan), "lipschitz must be positive"),
        (lambda: Hallucination("min"), "lie must be a function"),
    ],
)
def test_bad_settings_are_named_at_once(make: Any, message: str):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
