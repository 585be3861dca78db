"""Recipes: what they are made of, and when they learn.

Maximizing an acquisition and Hamiltonian trajectories are tested elsewhere and take long to
compile. Stubs stand for them: random points, and draws from the prior; chains over finite sets run.
Nightly, every recipe runs as a whole.
"""

import inspect
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from numpyro.infer.gibbs import latent_sample_sites

from structbo import (
    Categorical,
    Optimizer,
    Space,
    batches,
    minimize,
    recipes,
)
from structbo.acquisition import EST, UCB, ActiveVariables, AdditiveUCB, LogEI
from structbo.data import NO_WARPING, Data, Warping
from structbo.draws import BestDraw, Chain, Fitted, chain, log_likelihoods, partition_search
from structbo.models import Decomposition, FiniteUniform, outer_box_ratio

SPACE = Space({"a": (-1.0, 1.0), "b": (1e-3, 1.0, "log"), "c": (0.0, 5.0)})
STAR = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
CHEAP: dict[str, dict[str, Any]] = {
    "add_gp_ucb": {"num_initial": 3, "group_size": 2},
    "bag_of_models": {"num_initial": 3, "num_models": 3},
    "batch": {"num_initial": 3},
    "cws_gp_ucb": {"num_active": 1, "num_differences": 1},
    "g_add_gp_ucb": {
        "num_initial": 3,
        "num_gibbs": 12,
        "cycle": 2,
        "lengthscales": [0.3],
        "noises": [1e-2, 1e-3],
    },
    "gp_ucb": {"num_initial": 3},
    "hds_gp_ucb": {"budget": 4},
    "known_partition": {"num_initial": 3, "labels": ["x", "y", "x"]},
    "model_mcmc": {"num_initial": 3, "num_models": 3},
    "pp_gp_ucb": {"num_initial": 3, "group_size": 2},
    "random": {},
    "random_trees": {"num_initial": 3},
    "rembo": {"num_initial": 3, "num_directions": 2},
    "rpp_gp_ucb": {"num_initial": 3, "group_size": 2, "num_alphas": 3},
    "saas": {"num_initial": 3, "num_draws": 2},
    "vanilla": {"num_initial": 3},
}
SCREENED = {"cws_gp_ucb", "hds_gp_ucb"}


class Call(NamedTuple):
    """What the search for a maximum was given."""

    model: Any
    draws: dict[str, jax.Array]
    data: Data
    criterion: Any
    batch: Any

    @property
    def num_observed(self) -> int:
        return int(np.sum(self.data.mask))

    @property
    def decomposition(self) -> Decomposition:
        """That of the first draw."""
        values = {name: jnp.asarray(value)[0] for name, value in self.draws.items()}
        model = handlers.seed(handlers.substitute(self.model, data=values), 0)
        site = handlers.trace(model).get_trace(self.data.x, self.data.y, self.data.mask)["y"]
        return site["fn"].covariance.decomposition

    @property
    def components(self) -> set[tuple[int, ...]]:
        rows = np.asarray(self.decomposition.members)
        return {tuple(np.flatnonzero(row).tolist()) for row in rows if row.any()}


def unwarped(state: jax.Array, data: Data) -> tuple[Data, Warping]:
    return data, NO_WARPING


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """The calls of a search that gives random points, for draws from the prior."""
    noted: list[Call] = []
    compiled = chain.compiled_sampler

    def search(situation, num_points, key, criterion, strategy, maximizer):
        model, draws, data = situation.model, situation.draws, situation.data
        noted.append(Call(model, draws, data, criterion, strategy))
        seeds = jax.random.split(key, num_points)
        return [np.asarray(jax.random.uniform(k, (4, data.x.shape[1]))) for k in seeds], None

    def sampler(model, *rest):
        is_finite = isinstance(model.lengthscale, FiniteUniform)
        if is_finite:
            return compiled(model, *rest)
        return chain.CompiledSampler(lambda key, data: key, sweep(model), unwarped)

    def sweep(model):
        def draw(key, data):
            trace = handlers.trace(handlers.seed(model, key)).get_trace(data.x[:1], data.y[:1])
            return {name: trace[name]["value"] for name in latent_sample_sites(trace)}

        def sweep(key, data, num_draws, spacing, num_adapting):
            key, *keys = jax.random.split(key, num_draws + 1)
            draws = [draw(one, data) for one in keys]
            return key, jax.tree.map(lambda *values: jnp.stack(values), *draws)

        return sweep

    monkeypatch.setattr(chain, "compiled_sampler", sampler)
    monkeypatch.setattr("structbo.optimizer.engine.propose", search)
    return noted


@pytest.fixture
def unlearned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drawn or fitted, where a test is about what an optimizer is given or told."""
    for source in (BestDraw, Chain, Fitted):
        monkeypatch.setattr(source, "advance", lambda self, data: {})


def made(name: str, **settings: Any) -> Optimizer:
    return getattr(recipes, name)(SPACE, **CHEAP[name] | {"seed": 0} | settings)


def objective(params: dict[str, float]) -> float:
    return (params["a"] - 0.3) ** 2 + np.log(params["b"]) * params["a"] + 0.1 * params["c"]


def run(optimizer: Optimizer, num_trials: int) -> np.ndarray:
    for _ in range(num_trials):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.params))
    return SPACE.to_unit([trial.params for trial in optimizer.trials])


def test_every_recipe_is_tested() -> None:
    assert sorted(CHEAP) == sorted(recipes.__all__)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(CHEAP))
def test_a_recipe_goes_on_from_its_initial_design_as_its_seed_says(
    name: str, calls: list[Call]
) -> None:
    num_trials = 8 if name in SCREENED else 5
    points = run(made(name), num_trials)
    assert points.shape == (num_trials, 3) and points.min() >= 0.0 and points.max() <= 1.0
    assert name in SCREENED or len(np.unique(points, axis=0)) == num_trials
    first = list(calls)
    assert [call.num_observed for call in first] == list(
        range(num_trials)[-2:] if name != "random" else []
    )
    for call in first:
        assert all(np.isfinite(value).all() for value in call.draws.values())
        likelihoods = log_likelihoods(call.model, call.draws, call.data)
        assert np.isfinite(likelihoods).all()
    np.testing.assert_array_equal(run(made(name), num_trials), points)
    for one, other in zip(first, calls[len(first) :], strict=True):
        jax.tree.map(np.testing.assert_array_equal, one.draws, other.draws)
    if name not in SCREENED:
        assert not np.array_equal(run(made(name, seed=1), 1), points[:1])


@pytest.mark.usefixtures("unlearned")
@pytest.mark.parametrize("name", sorted({*CHEAP} - SCREENED - {"random"}))
def test_small_and_large_values_change_sides(name: str, calls: list[Call]) -> None:
    """What the model sees of a minimum is its negative."""
    high, low = made(name, direction="maximize"), made(name)
    for optimizer in (high, low):
        for x in ([0.1, 0.2, 0.3], [0.5, 0.5, 0.5], [0.9, 0.4, 0.1]):
            params = SPACE.from_unit([x])[0]
            optimizer.tell(params, objective(params))
        optimizer.ask()
    np.testing.assert_allclose(calls[0].data.y, -np.asarray(calls[1].data.y), atol=1e-12)


PAPERS = {
    "g_add_gp_ucb": {"num_initial": 10, "cycle": 30, "num_gibbs": 200, "edge_probability": 0.5},
    "batch": {"method": "ucb_dpp_sample", "num_initial": 1},
    "hds_gp_ucb": {"test": "GPT", "thresholds": (-10.0, 10.0)},
    "gp_ucb": {"num_initial": 10, "cycle": 25},
    "add_gp_ucb": {"num_initial": 10, "cycle": 25, "group_size": 5},
    "pp_gp_ucb": {"num_initial": 10, "cycle": 25, "group_size": 5},
    "rpp_gp_ucb": {"num_initial": 10, "cycle": 25, "group_size": 5, "delta": 0.1},
    "rembo": {"num_initial": 10, "cycle": 25},
    "model_mcmc": {"num_models": 50, "cycle": 1},
    "bag_of_models": {"num_models": 50, "cycle": 1},
    "known_partition": {"cycle": 1},
    "vanilla": {"cycle": 1},
    "saas": {"scale": 0.1},
}


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_settings_are_those_of_the_papers(name: str) -> None:
    parameters = inspect.signature(getattr(recipes, name)).parameters
    assert {key: parameters[key].default for key in PAPERS[name]} == PAPERS[name]


SCHEDULES = {
    "g_add_gp_ucb": (AdditiveUCB, 0.5 * np.log(100.0)),
    "random_trees": (AdditiveUCB, 0.5 * np.log(100.0)),
    "add_gp_ucb": (AdditiveUCB, 0.2 * 2 * np.log(100.0)),
    "rpp_gp_ucb": (AdditiveUCB, 0.2 * 2 * np.log(100.0)),
    "pp_gp_ucb": (AdditiveUCB, 0.2 * 2 * np.log(100.0)),
    "gp_ucb": (UCB, 0.2 * 3 * np.log(100.0)),
    "rembo": (UCB, 0.2 * 2 * np.log(100.0)),
    "model_mcmc": (LogEI, None),
    "bag_of_models": (LogEI, None),
    "known_partition": (LogEI, None),
    "vanilla": (LogEI, None),
    "saas": (LogEI, None),
}


@pytest.mark.usefixtures("unlearned")
@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_criteria_and_their_schedules(name: str, calls: list[Call]) -> None:
    """Of three parameters, in groups of two, after 50 observations."""
    run(made(name), 4)
    criterion, beta = SCHEDULES[name]
    assert type(calls[0].criterion) is criterion
    if beta is not None:
        np.testing.assert_allclose(calls[0].criterion.beta(50, 3), beta)
        calls.clear()
        run(made(name, beta=7.0), 4)
        assert calls[0].criterion == criterion(7.0)


@pytest.mark.usefixtures("unlearned")
@pytest.mark.parametrize("name", ["g_add_gp_ucb", "add_gp_ucb", "rpp_gp_ucb", "rembo"])
def test_nothing_is_learned_within_a_cycle(name: str, calls: list[Call]) -> None:
    run(made(name, cycle=2), 8)
    assert [call.num_observed for call in calls] == [3, 4, 5, 6, 7]
    draws = [id(call.draws) for call in calls]
    assert draws[0] == draws[1] != draws[2] == draws[3] != draws[4]


def sites(model: Any) -> set[str]:
    """What a model of three parameters draws; nothing is computed."""

    def traced() -> dict[str, Any]:
        trace = handlers.trace(handlers.seed(model, 0)).get_trace(np.ones((1, 3)), np.ones(1))
        return {name: trace[name]["value"] for name in latent_sample_sites(trace)}

    return set(jax.eval_shape(traced))


@pytest.mark.usefixtures("unlearned")
@pytest.mark.parametrize(
    "graph, drawn",
    [("overlap", {"Z"}), ("no overlap", {"labels"}), (STAR, set())],
    ids=["overlap", "no overlap", "oracle"],
)
def test_what_is_drawn_of_the_graph(graph: Any, drawn: set[str], calls: list[Call]) -> None:
    run(made("g_add_gp_ucb", graph=graph), 4)
    assert sites(calls[0].model) == {"lengthscale", "outputscale", "noise"} | drawn


@pytest.mark.parametrize(
    "graph, site, num_sites",
    [
        pytest.param("overlap", "Z", 4, marks=pytest.mark.nightly, id="overlap"),
        pytest.param("no overlap", "labels", 4, marks=pytest.mark.nightly, id="no overlap"),
        pytest.param(STAR, None, 3, id="oracle"),
    ],
)
def test_what_is_known_of_the_graph(
    graph: Any, site: str | None, num_sites: int, calls: list[Call]
) -> None:
    """And values are in double precision, whatever the flag."""
    with jax.enable_x64(False):
        run(made("g_add_gp_ucb", graph=graph), 4)
    draws = calls[0].draws
    assert len(draws) == num_sites and (site is None or site in draws)
    assert {len(value) for value in draws.values()} == {1}
    np.testing.assert_array_equal(draws["lengthscale"], [[0.3, 0.3, 0.3]])
    np.testing.assert_array_equal(draws["outputscale"], [1.0])
    assert float(draws["noise"][0]) in (1e-2, 1e-3)
    if site is None:
        assert calls[0].components == {(0, 1), (0, 2)}


def test_the_screening_comes_first_and_its_evidence_is_the_prior(calls: list[Call]) -> None:
    optimizer = made("hds_gp_ucb", budget=6, beta=ActiveVariables(2))
    points = run(optimizer, 6)
    assert not calls
    np.testing.assert_array_equal(points, points[[0] * 6])  # the noise, at the background point
    run(optimizer, 1)
    assert calls[0].num_observed == 6 and calls[0].criterion == UCB(ActiveVariables(2))
    assert "active" in calls[0].draws


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
    """All models of the chain count, the best of a bag; the chain goes on where it was."""
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


@pytest.mark.parametrize(
    "method, strategy",
    [
        ("bucb", batches.Hallucination()),
        ("b_est", batches.Hallucination()),
        ("ucb_pe", batches.PureExploration()),
        ("est_pe", batches.PureExploration()),
        ("ucb_dpp_max", batches.DPPMax()),
        ("est_dpp_max", batches.DPPMax()),
        ("ucb_dpp_sample", batches.DPPSample(0.01)),
        ("est_dpp_sample", batches.DPPSample(0.01)),
        ("lp_ucb", batches.LocalPenalization()),
    ],
)
def test_batch_methods(method: str, strategy: Any, calls: list[Call]) -> None:
    """Hallucinations have no lie: values are taken for their means."""
    optimizer = made("batch", method=method)
    run(optimizer, 3)
    assert len(optimizer.ask(4)) == 4
    assert calls[0].batch == strategy
    if "est" in method:
        assert calls[0].criterion == EST()
    else:
        beta = 2.0 * np.log(480 * 50**2 * np.pi**2 / 6 / 0.1)
        np.testing.assert_allclose(calls[0].criterion.beta(50, 3), beta)
    assert calls[0].components == {(0, 1, 2)}


def test_random_never_searches(calls: list[Call]) -> None:
    points = run(recipes.random(SPACE, seed=3), 64)
    assert not calls
    # A Sobol sequence fills the eight octants evenly.
    octants = (points > 0.5) @ [1, 2, 4]
    assert np.bincount(octants).tolist() == [8] * 8


def test_a_recipe_is_an_optimizer_for_minimize(calls: list[Call]) -> None:
    result = minimize(objective, n_trials=5, optimizer=made("gp_ucb"), show_progress_bar=False)
    assert len(result.trials) == 5 and len(calls) == 2


@pytest.mark.parametrize(
    "call, message",
    [
        (partial(recipes.g_add_gp_ucb, graph="edges"), "graph must be .*got 'edges'"),
        (partial(recipes.g_add_gp_ucb, graph=STAR[:2, :2]), r"of shape \(3, 3\)"),
        (partial(recipes.g_add_gp_ucb, graph=np.ones((3, 3), int)), "with an empty diagonal"),
        (partial(recipes.batch, method="dpp"), "method must be one of .*'lp_ucb', got 'dpp'"),
        (partial(recipes.known_partition, labels=[0, 1]), r"shape \(3,\), got \(2,\)"),
        (partial(recipes.rpp_gp_ucb, delta=-1.0), "delta must be at least 0"),
        (partial(recipes.add_gp_ucb, group_size=0), "group_size must be"),
        (partial(recipes.hds_gp_ucb, test="FD"), "test must be"),
        (partial(recipes.vanilla, direction="min"), "direction must be"),
        (partial(recipes.g_add_gp_ucb, cycle=0), "cycle must be"),
        (partial(recipes.model_mcmc, num_models=0), "num_models must be"),
        (partial(recipes.rembo, num_directions=0), "num_directions must be"),
        (partial(recipes.batch, method=["bucb"]), "method must be one of"),
        (partial(recipes.add_gp_ucb, num_groupings=0), "num_groupings must be"),
        (partial(recipes.rpp_gp_ucb, num_alphas=0), "num_alphas must be"),
        (partial(recipes.g_add_gp_ucb, edge_probability=2), "edge_probability must be"),
        (partial(recipes.g_add_gp_ucb, lengthscales=(-1.0, 1.0)), "lengthscales must be positive"),
        (partial(recipes.g_add_gp_ucb, noises=(0.0,)), "noises must be positive"),
        (partial(recipes.random_trees, num_trees=0), "num_trees must be"),
        (partial(recipes.saas, num_draws=0), "num_draws must be"),
        (partial(recipes.saas, scale=-1.0), "scale must be positive"),
        (partial(recipes.cws_gp_ucb, num_active=1.5), "num_active must be"),
    ],
)
def test_wrong_arguments_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(SPACE)


@pytest.mark.parametrize("name", ["rpp_gp_ucb", "pp_gp_ucb", "rembo"])
def test_categories_have_no_directions(name: str) -> None:
    space = {"x": (0.0, 1.0), "act": Categorical(["relu", "gelu"])}
    with pytest.raises(ValueError, match=r"categorical parameters.*got \['act'\]"):
        getattr(recipes, name)(space)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(CHEAP))
def test_a_recipe_as_a_whole(name: str) -> None:
    """The same points twice, inside of the space, and past the initial design."""
    num_trials = 9 if name in SCREENED else 6
    points = run(made(name), num_trials)
    assert points.min() >= 0.0 and points.max() <= 1.0
    assert name in SCREENED or len(np.unique(points, axis=0)) == num_trials
    np.testing.assert_array_equal(run(made(name), num_trials), points)
