"""Finding active parameters: the search, and the stored results."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpyro
import pytest

import structbo as sb
from structbo.screening.likelihood_ratio import Hypotheses

BANDWIDTH, NOISE = 0.05, 0.1
Problem = tuple[set[str], Callable[[np.ndarray], float]]


def box(num_dims: int) -> sb.Space:
    return sb.Space.box([[0.0, 1.0]] * num_dims)


def gp_sample(num_dims: int, num_active: int, seed: int, noise: float) -> Problem:
    """A sample of the Gaussian process of the paper's section 2, by random Fourier features."""
    rng = np.random.default_rng(seed)
    active = rng.choice(num_dims, num_active, replace=False)
    frequencies = rng.normal(size=(2000, num_active)) * np.sqrt(2) / BANDWIDTH
    phases, weights = rng.uniform(0, 2 * np.pi, 2000), rng.normal(size=2000) / np.sqrt(1000)

    def observe(x: np.ndarray) -> float:
        f = weights @ np.cos(frequencies @ x[active] + phases)
        return float(f + np.sqrt(noise) * rng.normal())

    return {f"x{d}" for d in active}, observe


def quadratic(num_dims: int, num_active: int, seed: int, noise: float) -> Problem:
    """The paper's function Quad, in which inactive parameters have a tiny influence."""
    rng = np.random.default_rng(seed)
    active = rng.choice(num_dims, num_active, replace=False)
    scale = np.full(num_dims, 0.01)
    scale[active] = 10.0
    best = rng.uniform(-1, 1, num_dims)

    def observe(x: np.ndarray) -> float:
        return float(np.sum((scale * (2 * x - 1 - best)) ** 2) + np.sqrt(noise) * rng.normal())

    return {f"x{d}" for d in active}, observe


def found(make: Any, num_dims: int, seed: int, test: Any, **known: float) -> tuple[bool, int]:
    """Whether exactly the two active parameters were found, and the number of evaluations."""
    active, objective = make(num_dims, 2, seed, NOISE)
    hds = sb.HierarchicalDiagonalSampling(box(num_dims), test, seed=seed, **known)
    hds.run(objective)
    return set(hds.active) == active, len(hds.trials)


KNOWN = {"noise": NOISE, "outputscale": 1.0, "bandwidth": BANDWIDTH, "mean": 0.0}


@pytest.mark.nightly
@pytest.mark.parametrize("test", ["GPT", "FDT"])
def test_active_parameters_of_gp_samples_at_a_cost_that_grows_with_log_d(test: Any) -> None:
    """In the paper's setting all are found, with GPT at about half the cost of FDT."""
    cost = {}
    for num_dims in (32, 100, 400):
        runs = [found(gp_sample, num_dims, seed, test, **KNOWN) for seed in range(4)]
        assert sum(right for right, _ in runs) >= 3
        cost[num_dims] = np.mean([evaluations for _, evaluations in runs])
    assert cost[32] < (200 if test == "GPT" else 400)
    # From 32 to 400 parameters the logarithm grows by 1.73, the number itself by 12.5.
    assert cost[400] / cost[32] < 2.5


@pytest.mark.nightly
@pytest.mark.parametrize("test", ["GPT", "FDT"])
@pytest.mark.parametrize("num_dims", [32, 100])
def test_active_parameters_of_a_quadratic_with_everything_estimated(
    num_dims: int, test: Any
) -> None:
    runs = [found(quadratic, num_dims, seed, test) for seed in range(8)]
    assert sum(right for right, _ in runs) >= 7
    assert np.mean([evaluations for _, evaluations in runs]) < 200


def test_noise_is_estimated_from_inactive_groups_too() -> None:
    """By chance, the variance of the repeats is a ninth of the variance of the noise."""
    rng = np.random.default_rng(0)

    def observe(x: np.ndarray, number: int) -> float:
        deviation = 0.1 if number < 10 else 0.3
        return float(3.0 * np.sin(6.0 * x[3]) + deviation * rng.normal())

    def screened(**known: float) -> sb.HierarchicalDiagonalSampling:
        hds = sb.HierarchicalDiagonalSampling(box(64), **known)
        while not hds.is_done:
            trial = hds.ask()
            hds.tell(trial, observe(trial.params, trial.number))
        return hds

    hds = screened()
    assert hds.active == ("x3",)
    assert hds.hypotheses is not None
    assert hds.hypotheses.noise == pytest.approx(0.09, rel=0.4)
    given = screened(noise=0.01).hypotheses
    assert given is not None
    assert given.noise == 0.01


def test_the_printed_fdt_takes_these_pairs() -> None:
    active, objective = gp_sample(16, 2, 1, 1e-3)
    hds = sb.HierarchicalDiagonalSampling(
        box(16), "FDT", seed=1, as_printed=True, bandwidth=BANDWIDTH
    )
    hds.run(objective)
    assert set(hds.active) == active
    pairs = [(group, pair) for group in hds.groups for pair in group.pairs]
    for group, (first, second) in pairs[1:]:
        gap = hds.trials[second].params - hds.trials[first].params
        expected = np.where(np.isin(np.arange(16), group.members), 3 * BANDWIDTH, 0.0)
        np.testing.assert_allclose(gap, expected, atol=1e-12)


@pytest.mark.parametrize("as_printed", [False, True])
def test_every_place_maximizes_the_index(as_printed: bool) -> None:
    """The index is recomputed on a grid; at times, the other index prefers another group."""
    _, objective = gp_sample(8, 2, 1, NOISE)
    hds = sb.HierarchicalDiagonalSampling(box(8), seed=1, as_printed=as_printed, **KNOWN)
    grid, differ = np.linspace(0.0, 1.0, 101), 0
    for _ in range(60):
        best = {}
        for group in hds.groups:
            if group.decision == "undetermined":
                y = np.array([hds.trials[n].value for n in group.evaluations], float)
                printed = sum(Hypotheses(1.0, NOISE, BANDWIDTH).of_next(group.z, y, grid)).max()
                best[group.names] = printed, printed + group.evidence
        before = {group.names: len(group.evaluations) for group in hds.groups}
        trial = hds.ask()
        (chosen,) = (g.names for g in hds.groups if len(g.evaluations) > before[g.names])
        own, other = np.array(list(best.values())).T[:: 1 if as_printed else -1]
        assert best[chosen][0 if as_printed else 1] == pytest.approx(own.max(), abs=1e-9)
        differ += own[np.argmax(other)] < own.max() - 0.1
        hds.tell(trial, objective(trial.params))
        if hds.is_done:
            break
    assert differ


def test_tree_and_evidence() -> None:
    active, objective = gp_sample(16, 2, 1, 1e-4)
    hds = sb.HierarchicalDiagonalSampling(box(16), seed=1)
    hds.run(objective)
    assert hds.is_decided and set(hds.active) == active
    assert hds.groups[0] is hds.tree and hds.tree.members == tuple(range(16))
    for group in hds.groups:
        matters = bool(set(group.names) & active)
        assert group.decision == ("active" if matters else "inactive")
        assert group.evidence >= 10 if matters else group.evidence <= -10
        if matters and len(group.members) > 1:
            assert sum((half.members for half in group.halves), ()) == group.members
        else:
            assert group.halves == ()
        for number in group.evaluations:
            x = hds.trials[number].params
            others = np.setdiff1d(np.arange(16), group.members)
            np.testing.assert_allclose(x[others], hds.background[others])
            assert np.ptp(x[list(group.members)]) < 1e-12
    asked = sum(len(group.evaluations) for group in hds.groups)
    assert asked == len(hds.trials) - 10, "all but the repeats of the background point"
    lines = str(hds).splitlines()
    assert lines[0].startswith(f"2 of 16 parameters active after {len(hds.trials)} evaluations: x")
    assert lines[1].startswith("x0, ..., x15 (16): active, evidence ")
    assert len(lines) == 1 + len(hds.groups)
    assert lines[2].startswith("  x0, ..., x7 (8): ")


def test_probabilities_follow_the_evidence() -> None:
    active, objective = gp_sample(16, 2, 1, 1e-4)
    hds = sb.HierarchicalDiagonalSampling(box(16), seed=1)
    np.testing.assert_allclose(hds.active_probabilities(), 1 / 18)
    hds.run(objective)
    probabilities = hds.active_probabilities()
    is_active = np.isin(hds.space.names, list(active))
    np.testing.assert_allclose(probabilities, np.where(is_active, 0.99, 0.01))
    # A pair of parameters with known evidence: Bayes' rule by enumeration.
    two = sb.HierarchicalDiagonalSampling(box(2))
    two.tree.evaluations, two.tree.evidence = [0], 1.5
    weights = {(a, b): 0.3 ** (a + b) * 0.7 ** (2 - a - b) for a in (0, 1) for b in (0, 1)}
    weights = {k: w * np.exp(1.5 * any(k)) for k, w in weights.items()}
    expected = (weights[1, 0] + weights[1, 1]) / sum(weights.values())
    np.testing.assert_allclose(two.active_probabilities(0.3), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"prior must be between 0 and 1, got 1\.5"):
        two.active_probabilities(1.5)


@pytest.mark.parametrize("test", ["GPT", "FDT"])
def test_same_seed_and_values_give_the_same_asks(test: Any) -> None:
    runs = []
    for _ in range(2):
        _, objective = gp_sample(20, 2, 3, NOISE)
        hds = sb.HierarchicalDiagonalSampling(box(20), test, seed=5, budget=60)
        hds.run(objective)
        runs.append(np.array([trial.params for trial in hds.trials]))
    np.testing.assert_array_equal(*runs)
    other = sb.HierarchicalDiagonalSampling(box(20), test, seed=6)
    assert not np.allclose(other.background, hds.background)
    assert ((runs[0] >= 0) & (runs[0] <= 1)).all()


@pytest.mark.parametrize("test", ["GPT", "FDT"])
def test_many_pending_points_told_in_another_order(test: Any) -> None:
    active, objective = gp_sample(32, 2, 2, 1e-3)
    hds = sb.HierarchicalDiagonalSampling(box(32), test, seed=0)
    rng = np.random.default_rng(0)
    while not hds.is_done:
        batch = [hds.ask() for _ in range(7)]
        for trial in rng.permutation(np.array(batch, object)):
            hds.tell(trial, objective(trial.params))
    assert set(hds.active) == active
    assert all(trial.state == "complete" for trial in hds.trials)


@pytest.mark.parametrize("test", ["GPT", "FDT"])
def test_failed_evaluations_are_kept_and_say_nothing(test: Any) -> None:
    active, objective = gp_sample(32, 2, 2, 1e-3)
    hds = sb.HierarchicalDiagonalSampling(box(32), test, seed=0)
    while not hds.is_done:
        trial = hds.ask()
        hds.tell(trial, np.nan if trial.number % 4 == 0 else objective(trial.params))
    assert set(hds.active) == active
    states = [trial.state for trial in hds.trials]
    assert states.count("failed") == len(range(0, len(states), 4))


@pytest.mark.parametrize("test", ["GPT", "FDT"])
def test_budget_is_kept(test: Any) -> None:
    for budget in (1, 15, 40):
        hds = sb.HierarchicalDiagonalSampling(box(100), test, budget=budget)
        hds.run(lambda x: float(np.sin(9 * x).sum()))
        assert len(hds.trials) == budget and hds.is_done and not hds.is_decided
        with pytest.raises(
            ValueError, match=f"done after {budget} of at most {budget} evaluations"
        ):
            hds.ask()


@pytest.mark.parametrize("test", ["GPT", "FDT"])
@pytest.mark.parametrize("value", [0.0, -7e5])
def test_a_constant_has_no_active_parameters(test: Any, value: float) -> None:
    hds = sb.HierarchicalDiagonalSampling(box(50), test)
    hds.run(lambda x: value)
    assert hds.is_decided and hds.active == ()
    assert len(hds.trials) < 40


def test_result_does_not_depend_on_units() -> None:
    counts = []
    for shift, scale in ((0.0, 1.0), (1e4, 1e-3), (-5.0, 1e6)):
        active, objective = gp_sample(32, 2, 4, 1e-3)
        hds = sb.HierarchicalDiagonalSampling(box(32), seed=1)
        hds.run(lambda x, f=objective, b=shift, a=scale: b + a * f(x))
        assert set(hds.active) == active
        counts.append(len(hds.trials))
    assert len(set(counts)) == 1


MIXED = sb.Space(
    {f"r{d}": (1e-3, 1.0, "log") for d in range(8)}
    | {f"k{d}": sb.Integer(1, 6) for d in range(8)}
    | {f"c{d}": sb.Categorical(["a", "b", "c"]) for d in range(8)}
)


def test_discrete_parameters_take_the_nearest_level() -> None:
    """All points are legal, and integers and categories are found like real parameters."""

    def objective(params: dict[str, Any]) -> float:
        return np.log(params["r3"]) + params["k5"] + 3.0 * (params["c2"] == "b")

    hds = sb.HierarchicalDiagonalSampling(MIXED, seed=0)
    hds.run(objective)
    assert set(hds.active) == {"r3", "k5", "c2"}
    for trial in hds.trials:
        MIXED.to_unit(trial.params)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "gpt"}, 'test must be "GPT" or "FDT", got \'gpt\''),
        ({"budget": 0}, "budget must be an integer of at least 1, got 0"),
        ({"thresholds": (1.0, 5.0)}, r"must be two numbers around zero, got \(1.0, 5.0\)"),
        ({"noise": 0.0}, "noise must be positive and finite, got 0.0"),
        ({"bandwidth": -1.0}, "bandwidth must be positive and finite, got -1.0"),
        ({"outputscale": np.nan}, "outputscale must be positive and finite, got nan"),
    ],
)
def test_errors_name_the_argument(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sb.HierarchicalDiagonalSampling(box(3), **options)


def test_nothing_told_is_lost_when_a_tell_is_refused() -> None:
    hds = sb.HierarchicalDiagonalSampling(box(3))
    first = hds.ask()
    hds.tell(first, 1.0)
    hds.ask()
    before = hds.trials
    for trial, value, message in (
        (first, 2.0, "trial 0 was already told"),
        (7, 2.0, "an asked trial or its number; got 7, and 2 trials were asked for"),
        (-1, 2.0, "an asked trial"),
        ([0.1, 0.2, 0.3], 2.0, "an asked trial"),
        (1, "bad", "value must be one number, got 'bad'"),
    ):
        with pytest.raises(ValueError, match=message):
            hds.tell(trial, value)  # type: ignore[arg-type]
        assert hds.trials == before
    assert hds.tell(np.int64(1), 3.0).value == 3.0


def test_coordinatewise_sampling_finds_the_largest_at_a_linear_cost() -> None:
    for num_dims in (32, 100):
        right = 0
        for seed in range(6):
            active, objective = gp_sample(num_dims, 2, seed, 0.01)
            cws = sb.CoordinatewiseSampling(box(num_dims), 2, num_differences=6, seed=seed)
            cws.run(objective)
            assert len(cws.trials) == 12 * num_dims and cws.is_decided
            right += set(cws.active) == active
        assert right >= 5


def test_differences_of_coordinates_can_have_a_fixed_distance() -> None:
    cws = sb.CoordinatewiseSampling(box(3), 1, spacing=0.3, seed=1)
    cws.run(lambda x: float(x[1]))
    x = np.array([trial.params for trial in cws.trials])
    gaps = x[1::2] - x[::2]
    np.testing.assert_allclose(gaps, 0.3 * np.tile(np.eye(3), (5, 1)), atol=1e-12)
    starts = x[::2][np.arange(15), np.arange(15) % 3]
    assert 0.3 < np.ptp(starts) <= 0.7
    with pytest.raises(ValueError, match="spacing must be a number between 0 and 1"):
        sb.CoordinatewiseSampling(box(3), 1, spacing=1.0)


def test_variances_of_coordinates_against_their_formula() -> None:
    cws = sb.CoordinatewiseSampling(box(3), 1, num_differences=2, seed=1)
    while not cws.is_done:
        trial = cws.ask()
        changed = np.flatnonzero(trial.params != cws.background)
        assert changed.tolist() == [trial.number // 2 % 3]
        cws.tell(trial, None if trial.number == 3 else trial.number**2)
    # Differences are between trials (0, 1), (6, 7); (8, 9); (4, 5), (10, 11).
    expected = [(1 + 13**2) / 4, 17**2 / 2, (9**2 + 21**2) / 4]
    np.testing.assert_allclose(cws.variances, expected)
    assert cws.active == ("x1",)
    assert cws.active_probabilities().tolist() == [0.05, 0.95, 0.05]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_active": 4}, "num_active must be between 0 and 3"),
        (
            {"num_active": 1, "num_differences": 0},
            "num_differences must be an integer of at least 1, got 0",
        ),
        ({"num_active": 1, "budget": 0}, "budget must be an integer"),
    ],
)
def test_errors_of_coordinatewise_sampling(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sb.CoordinatewiseSampling(box(3), **arguments)


def test_an_optimizer_goes_on_with_every_evaluation() -> None:
    _, objective = gp_sample(12, 2, 1, 1e-3)
    hds = sb.HierarchicalDiagonalSampling(box(12), seed=1)
    hds.tell(hds.ask(), np.nan)
    hds.run(objective)
    optimizer = sb.Optimizer(box(12), "maximize", screening=hds)
    told = [(trial.state, trial.value) for trial in optimizer.trials]
    assert told == [(trial.state, trial.value) for trial in hds.trials]
    np.testing.assert_allclose(optimizer.trials[9].params, hds.trials[9].params)
    assert optimizer.best.value == max(t.value for t in hds.trials if t.value is not None)


@pytest.mark.nightly
def test_the_first_stage_of_an_optimizer_is_what_it_would_be_alone() -> None:
    """This includes a run with other points; its evidence then becomes the model's prior."""
    alone = sb.HierarchicalDiagonalSampling(box(12), seed=1)
    truth, objective = gp_sample(12, 2, 1, 1e-3)
    alone.run(objective)
    first = sb.HierarchicalDiagonalSampling(box(12), seed=1)
    optimizer = sb.Optimizer(box(12), "maximize", screening=first)
    optimizer.tell(np.full(12, 0.5), 0.0)
    _, objective = gp_sample(12, 2, 1, 1e-3)
    while not first.is_done:
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.params))
    assert [t.value for t in optimizer.trials[1:]] == [t.value for t in alone.trials]
    assert set(first.active) == truth
    optimizer.ask()
    with numpyro.handlers.seed(rng_seed=0), numpyro.handlers.trace() as trace:
        optimizer.method.model.structure(12)
    np.testing.assert_allclose(trace["active"]["fn"].probs, alone.active_probabilities())


def test_a_first_stage_of_another_space_is_refused() -> None:
    hds = sb.HierarchicalDiagonalSampling({"a": (0.0, 1.0)})
    with pytest.raises(ValueError, match="the space of screening must have the names"):
        sb.Optimizer(box(12), screening=hds)
