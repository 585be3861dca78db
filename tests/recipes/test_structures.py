"""The structures of recipes: graphs, active parameters, directions and partitions."""

from itertools import product
from typing import Any

import jax
import numpy as np
import pytest
from numpyro import handlers
from recipe_runs import SPACE, STAR, Call, made, objective, run
from scipy.stats import multivariate_normal, qmc

from structbo import Optimizer, Real, Space, recipes
from structbo.acquisition import UCB, ActiveVariables, LogEI
from structbo.draws import latent_sites, log_likelihoods, partition_search
from structbo.maximizers import Components, DrawByDraw, MultiStart, Search
from structbo.models import outer_box_ratio
from structbo.models.foundation.precision import double_precision
from structbo.recipes import projection_pursuit
from structbo.recipes.refitting import most_likely, partition_model
from structbo.recipes.variable_selection import OnSlice
from structbo.space import Levels


@pytest.mark.usefixtures("unlearned")
@pytest.mark.parametrize(
    "graph, drawn",
    [("overlap", {"Z"}), ("no overlap", {"labels"}), (STAR, set())],
    ids=["overlap", "no overlap", "oracle"],
)
def test_what_is_drawn_of_the_graph(graph: Any, drawn: set[str], calls: list[Call]) -> None:
    run(made("g_add_gp_ucb", graph=graph), 4)
    assert {*latent_sites(calls[0].model, 3)} == {"lengthscale", "outputscale", "noise"} | drawn


@pytest.mark.parametrize(
    "graph, site",
    [("overlap", "Z"), ("no overlap", "labels"), (STAR, None)],
    ids=["overlap", "no overlap", "oracle"],
)
def test_what_is_known_of_the_graph(graph: Any, site: str | None, calls: list[Call]) -> None:
    """Values are in double precision for any value of the flag."""
    optimizer = made("g_add_gp_ucb", graph=graph)
    with jax.enable_x64(False):
        run(optimizer, 4)
    draws = calls[0].draws
    assert optimizer.draws is draws
    assert draws.keys() == {"lengthscale", "outputscale", "noise", site} - {None}
    assert {len(value) for value in draws.values()} == {1}
    np.testing.assert_array_equal(draws["lengthscale"], [[0.3, 0.3, 0.3]])
    np.testing.assert_array_equal(draws["outputscale"], [1.0])
    assert float(draws["noise"][0]) in (1e-2, 1e-3)
    if site is None:
        assert calls[0].components == {(0, 1), (0, 2)}


def test_groups_without_overlap_keep_their_bounds(calls: list[Call]) -> None:
    """There are at most two groups of two, although all three parameters interact."""
    optimizer = made("g_add_gp_ucb", graph="no overlap", max_groups=2, max_group_size=2, cycle=1)
    run(optimizer, 12)
    sizes = [sorted(map(len, call.components)) for call in calls]
    assert sizes == [[1, 2]] * 9


def test_the_oracle_is_the_process_in_the_units_of_the_objective(calls: list[Call]) -> None:
    """With a mean of 0 and a variance of 1, and the noise given."""
    optimizer = made(
        "g_add_gp_ucb", graph=STAR, lengthscales=[0.2], noises=[0.05], standardize=False
    )
    points = run(optimizer, 5)
    call = calls[-1]
    values = [-objective(trial.params) for trial in optimizer.trials[:4]]
    np.testing.assert_allclose(np.asarray(call.data.y)[:4], values)
    distances = ((points[:4, None] - points[:4]) / 0.2) ** 2
    edges = [np.exp(-0.5 * distances[..., pair].sum(2)) for pair in ([0, 1], [0, 2])]
    expected = multivariate_normal(cov=0.5 * sum(edges) + 0.05 * np.eye(4)).logpdf(values)
    with double_precision():
        found = log_likelihoods(call.model, call.draws, call.data)
    np.testing.assert_allclose(found, [expected])


@pytest.mark.parametrize("maximizer", ["multi_start", "message_passing"])
def test_the_oracle_maximizes_the_sum_of_its_bounds(maximizer: str) -> None:
    """Over all 125 points of a grid, by brute force from the components' posteriors."""
    space = Space({name: Real(0.0, 1.0, step=0.25) for name in "abc"})
    grid = np.array(list(product(np.linspace(0.0, 1.0, 5), repeat=3)))
    rng = np.random.default_rng(5)
    known, values = grid[rng.permutation(125)[:6]], rng.normal(size=6)
    optimizer = recipes.g_add_gp_ucb(
        space,
        "maximize",
        graph=STAR,
        num_initial=6,
        lengthscales=[0.4],
        noises=[0.05],
        standardize=False,
        maximizer=maximizer,
    )
    for x, value in zip(known, values, strict=True):
        optimizer.tell(dict(zip("abc", map(float, x), strict=True)), value)
    asked = np.array([*optimizer.ask().params.values()])

    def correlation(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * ((x[:, None] - z) / 0.4) ** 2)

    factors = [correlation(grid[:, d], known[:, d]) for d in range(3)]
    between = [correlation(known[:, d], known[:, d]) for d in range(3)]
    gram = 0.5 * between[0] * (between[1] + between[2]) + 0.05 * np.eye(6)
    bound = np.zeros(125)
    for d in (1, 2):
        cross = 0.5 * factors[0] * factors[d]
        variance = 0.5 - (cross * np.linalg.solve(gram, cross.T).T).sum(1)
        # The first iteration: beta = log(2) / 2.
        bound += cross @ np.linalg.solve(gram, values) + np.sqrt(0.5 * np.log(2.0) * variance)
    is_new = (grid[:, None] != known).any(2).all(1)
    best = grid[is_new][bound[is_new].argmax()]
    np.testing.assert_allclose(asked, best)
    scores, _ = optimizer.score([dict(zip("abc", map(float, x), strict=True)) for x in grid])
    np.testing.assert_allclose(scores, bound, atol=1e-5)


def test_the_screening_comes_first_and_its_evidence_is_the_prior(calls: list[Call]) -> None:
    optimizer = made("hds_gp_ucb", budget=6, beta=ActiveVariables(2))
    points = run(optimizer, 6)
    assert not calls
    np.testing.assert_array_equal(points, points[[0] * 6])  # the noise, at the background point
    run(optimizer, 1)
    assert calls[0].num_observed == 6 and calls[0].criterion == UCB(ActiveVariables(2))
    assert "active" in calls[0].draws


def screened(as_printed: bool) -> Optimizer:
    """After a screening that ends at the 40th evaluation, and finds the second parameter."""
    optimizer = made(
        "hds_gp_ucb", budget=40, as_printed=as_printed, noise=0.01, outputscale=2.0, bandwidth=0.1
    )
    while len(optimizer.trials) < 40:
        trial = optimizer.ask()
        optimizer.tell(trial, 2.0 * np.sin(9.0 * SPACE.to_unit([trial.params])[0, 1]))
    return optimizer


def test_the_printed_search_knows_its_process(calls: list[Call]) -> None:
    """The kernel along the active parameter equals the screening's kernel along its diagonal."""
    optimizer = screened(as_printed=True)
    points = run(optimizer, 1)
    call = calls[-1]
    np.testing.assert_array_equal(call.draws["active"], [[0, 1, 0]])
    np.testing.assert_array_equal(
        np.asarray(call.data.y)[:40], [-t.value for t in optimizer.trials[:40]]
    )
    values = {name: np.asarray(value)[0] for name, value in call.draws.items()}
    model = handlers.seed(handlers.substitute(call.model, values), 0)
    x = np.random.default_rng(0).random((5, 3))
    with jax.enable_x64(True):
        likelihood = handlers.trace(model).get_trace(x)["y"]["fn"]
        gram = likelihood.gram
    gaps = np.square(x[:, 1, None] - x[None, :, 1])
    expected = 2.0 * np.exp(-gaps / 0.1**2) + 0.01 * np.eye(5)
    np.testing.assert_allclose(gram, expected, rtol=1e-9)
    assert len(points) == 41

    default = screened(as_printed=False)
    run(default, 1)
    assert calls[-1].draws["active"].shape[0] > 1 and default.method.standardize


def test_the_printed_search_keeps_other_parameters_at_the_background(calls: list[Call]) -> None:
    optimizer = screened(as_printed=True)
    run(optimizer, 1)
    background = SPACE.snap(np.random.default_rng(0).random(3))
    maximizer = optimizer.method.maximizer
    assert maximizer == OnSlice((background[0], None, background[2]))
    candidates = jax.numpy.asarray(np.random.default_rng(1).random((64, 3)))
    search = Search(
        levels=Levels.of([None, None, np.array([background[2], 1.0])]),
        candidates=candidates,
        best=candidates[0],
        num_observed=8.0,
        components=Components.of(np.ones((1, 1, 3), bool)),
        layouts=None,
        key=jax.random.key(0),
    )

    @jax.tree_util.Partial
    def bowl(x: jax.Array) -> jax.Array:
        return -jax.numpy.square(x - 0.25).sum(1)

    search = search._replace(starts=jax.jit(maximizer.starts)(bowl, search))
    points = maximizer(bowl, search)
    np.testing.assert_array_equal(points[:, [0, 2]], background[[[0, 2]] * len(points)])
    assert points[0, 1] == pytest.approx(0.25, abs=1e-3)


@pytest.mark.nightly
def test_the_printed_search_as_a_whole() -> None:
    optimizer = screened(as_printed=True)
    points = run(optimizer, 4)[40:]
    assert len(np.unique(points, axis=0)) == 4
    assert np.ptp(points[:, [0, 2]], axis=0).max() == pytest.approx(0.0, abs=1e-12)


def test_gp_ucb_with_known_hyper_parameters(calls: list[Call]) -> None:
    """Values are then in the units of the objective."""
    known = {"lengthscale": 0.3, "outputscale": 2.0, "noise": 0.1}
    optimizer = made("gp_ucb", known=known)
    run(optimizer, 4)
    np.testing.assert_array_equal(calls[-1].draws["lengthscale"], [[0.3] * 3])
    np.testing.assert_array_equal(calls[-1].draws["outputscale"], [2.0])
    np.testing.assert_array_equal(calls[-1].draws["noise"], [0.1])
    told = [-trial.value for trial in optimizer.trials[:3]]
    np.testing.assert_allclose(np.asarray(calls[-1].data.y)[:3], told)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name, settings, least, most",
    [
        ("rpp_gp_ucb", {"delta": 0.1}, 1.0 + 1e-9, 1.1 * (1.0 + 1e-9)),
        ("rpp_gp_ucb", {"delta": 0.0}, 1.0, 1.0),
        ("pp_gp_ucb", {}, 1.1 * (1.0 + 2e-9), np.inf),
    ],
)
def test_directions_meet_the_constraint_or_none(
    name: str, settings: dict[str, float], least: float, most: float, calls: list[Call]
) -> None:
    run(made(name, num_initial=12, **settings), 13)
    assert least <= float(jax.jit(outer_box_ratio)(calls[-1].draws["W"][0])) <= most
    assert sorted(np.bincount(calls[-1].draws["labels"][0]).tolist()) == [1, 2]


@pytest.mark.parametrize("directions", ["together", "one by one"])
def test_directions_start_at_the_last_ones(
    directions: str, calls: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    starts, learned, pursued = [], [], []
    pursue = projection_pursuit.pursued_directions

    def noted_pursuit(*args: Any, start: Any) -> Any:
        pursued.append((start, pursue(*args, start=start)))
        return pursued[-1][1]

    monkeypatch.setattr(projection_pursuit, "pursued_directions", noted_pursuit)
    search = projection_pursuit.restricted_projection_pursuit

    def noted(*args: Any, start: Any, **kwargs: Any) -> Any:
        found = search(*args, start=start, **kwargs)
        starts.append(start)
        learned.append(found.learned)
        return found

    monkeypatch.setattr(projection_pursuit, "restricted_projection_pursuit", noted)
    run(made("rpp_gp_ucb", cycle=1, directions=directions), 6)
    assert starts[0] is None and len(starts) == 3
    for start, last in zip(starts[1:], learned, strict=False):
        np.testing.assert_array_equal(start["W"], last)
        assert {"lengthscale", "outputscale", "noise"} < set(start)
    assert len(pursued) == (3 if directions == "one by one" else 0)
    for k, (start, found) in enumerate(pursued):
        np.testing.assert_array_equal(found, learned[k])
        assert start is None if k == 0 else (start == learned[k - 1]).all()


def test_an_embedding_stays_that_of_its_seed(calls: list[Call]) -> None:
    with jax.enable_x64(False):
        run(made("rembo", cycle=1), 5)
        run(made("rembo", cycle=1, seed=1), 4)
    own, later, other = (np.asarray(call.draws["W"]) for call in calls)
    assert own.dtype == np.float64
    assert own.shape == (1, 3, 2)
    np.testing.assert_array_equal(own, later)
    assert not np.isclose(own, other).any()
    eight = {f"x{d}": (0.0, 1.0) for d in range(8)}
    optimizer = recipes.rembo(eight, num_initial=1)
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.ask()
    assert calls[-1].draws["W"].shape == (1, 8, 2)


def test_partitions_of_the_selection(calls: list[Call], monkeypatch: pytest.MonkeyPatch) -> None:
    """All models of the chain are used, and the best of a bag; the chain continues."""
    run(made("known_partition"), 4)
    assert calls[-1].components == {(0, 2), (1,)}
    run(made("known_partition", labels=None), 4)
    assert calls[-1].components == {(0, 1, 2)}
    run(made("bag_of_models"), 4)
    assert calls[-1].draws["labels"].shape == (1, 3)
    starts = []
    search = partition_search.model_mcmc

    def noted(*args: Any, start: Any, **kwargs: Any) -> Any:
        starts.append(start)
        return search(*args, start=start, **kwargs)

    monkeypatch.setattr(partition_search, "model_mcmc", noted)
    run(made("model_mcmc"), 6)
    labels = [np.asarray(call.draws["labels"]) for call in calls[-3:]]
    assert {value.shape for value in labels} == {(3, 3)}
    assert starts[0] is None
    np.testing.assert_array_equal(starts[1:], [value[-1] for value in labels[:-1]])


@pytest.mark.parametrize("name", ["model_mcmc", "bag_of_models", "known_partition"])
def test_partitions_as_printed(name: str, calls: list[Call]) -> None:
    """Hyper-parameters of blocks, the best observation, and maxima of single models."""
    run(made(name), 4)
    assert calls[-1].criterion == LogEI() and "variance" not in calls[-1].draws
    optimizer = made(name, as_printed=True)
    assert optimizer.method.maximizer == DrawByDraw()
    run(optimizer, 4)
    assert calls[-1].criterion == LogEI("value")
    assert calls[-1].draws["variance"].shape[1:] == (3,)
    optimizer = made(name, hyperparameters="shared")
    run(optimizer, 4)
    assert calls[-1].criterion == LogEI() and optimizer.method.maximizer == MultiStart()
    assert calls[-1].draws["variance"].shape[1:] == calls[-1].draws["lengthscale"].shape[1:] == ()


@pytest.mark.parametrize("seed", range(3))
def test_a_search_for_the_likeliest_does_not_end_at_noise(seed: int) -> None:
    """The data are 20 values of a sum over ten parameters.

    Explained as noise, they have lengthscales near zero, the joint optimum under a correlated
    prior.
    """
    X = qmc.Sobol(10, seed=seed).random_base2(5)[:20]
    y = np.cos(5.0 * X).sum(1)
    y = (y - y.mean()) / y.std()
    (values,) = most_likely(partition_model(()), X, y, seed, given={"labels": np.arange(10)})
    assert np.min(values["lengthscale"]) > 0.05
