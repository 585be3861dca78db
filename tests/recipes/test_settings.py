"""Settings of recipes: the papers' settings, criteria and batches, and invalid ones."""

import inspect
from functools import partial
from typing import Any

import numpy as np
import pytest
from recipe_runs import SPACE, STAR, Call, made, run

from structbo import Categorical, batches, recipes
from structbo.acquisition import EST, UCB, AdditiveUCB, LogEI

KNOWN = ("lengthscale", "outputscale", "noise")
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
    "g_add_gp_ucb": (AdditiveUCB, 0.5 * np.log(2.0 * 48)),
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
    """The example has three parameters, groups of two, and 50 observations.

    G-Add-GP-UCB counts iterations, the first after three initial points.
    """
    run(made(name), 4)
    criterion, beta = SCHEDULES[name]
    assert type(calls[0].criterion) is criterion
    if beta is not None:
        np.testing.assert_allclose(calls[0].criterion.beta(50, 3), beta)
        calls.clear()
        run(made(name, beta=7.0), 4)
        assert calls[0].criterion == criterion(7.0)


@pytest.mark.parametrize(
    "method, strategy",
    [
        ("bucb", batches.Hallucination()),
        ("b_est", batches.Hallucination()),
        ("two_stage_bucb", batches.TwoStage(7)),
        ("two_stage_b_est", batches.TwoStage(7)),
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
    """Hallucinations have no lie: values are posterior means. There are three initial points."""
    optimizer = made("batch", method=method, batch_size=4, num_uncertain=7)
    run(optimizer, 3)
    assert len(optimizer.ask(4)) == 4
    assert calls[0].batch == strategy
    if "est" in method:
        assert calls[0].criterion == EST("published")
    else:
        # The 48th point after the initial ones belongs to the twelfth batch.
        t = 48 if "bucb" in method else 12
        beta = 2.0 * np.log(480 * t**2 * np.pi**2 / 6 / 0.1)
        np.testing.assert_allclose(calls[0].criterion.beta(50, 3), beta)
    assert calls[0].components == {(0, 1, 2)}


@pytest.mark.parametrize(
    "call, message",
    [
        (partial(recipes.g_add_gp_ucb, graph="edges"), "graph must be .*got 'edges'"),
        (partial(recipes.g_add_gp_ucb, graph=STAR[:2, :2]), r"of shape \(3, 3\)"),
        (partial(recipes.g_add_gp_ucb, graph=np.ones((3, 3), int)), "with a zero diagonal"),
        (partial(recipes.batch, method="dpp"), "method must be one of .*'lp_ucb', got 'dpp'"),
        (partial(recipes.known_partition, labels=[0, 1]), r"shape \(3,\), got \(2,\)"),
        (partial(recipes.rpp_gp_ucb, delta=-1.0), "delta must be at least 0"),
        (partial(recipes.add_gp_ucb, group_size=0), "group_size must be"),
        (partial(recipes.hds_gp_ucb, test="FD"), "test must be"),
        (partial(recipes.vanilla, direction="min"), "direction must be"),
        (partial(recipes.g_add_gp_ucb, cycle=0), "cycle must be"),
        (partial(recipes.model_mcmc, num_models=0), "num_models must be"),
        (partial(recipes.model_mcmc, hyperparameters="own"), "hyperparameters must be .*'own'"),
        (partial(recipes.rembo, num_directions=0), "num_directions must be"),
        (partial(recipes.batch, method=["bucb"]), "method must be one of"),
        (partial(recipes.add_gp_ucb, num_groupings=0), "num_groupings must be"),
        (partial(recipes.pp_gp_ucb, directions="both"), "directions must be .*got 'both'"),
        (partial(recipes.rpp_gp_ucb, num_alphas=0), "num_alphas must be"),
        (partial(recipes.g_add_gp_ucb, edge_probability=2), "edge_probability must be"),
        (partial(recipes.g_add_gp_ucb, lengthscales=(-1.0, 1.0)), "lengthscales must be positive"),
        (partial(recipes.g_add_gp_ucb, noises=(0.0,)), "noises must be positive"),
        (partial(recipes.g_add_gp_ucb, lengthscales="variance"), "lengthscales must be one of"),
        (partial(recipes.g_add_gp_ucb, max_groups=2), "bound disjoint groups"),
        (
            partial(recipes.g_add_gp_ucb, graph="no overlap", max_groups=3, max_group_size=1),
            "room for more than the 3 parameters",
        ),
        (partial(recipes.random_trees, num_trees=0), "num_trees must be"),
        (partial(recipes.saas, num_draws=0), "num_draws must be"),
        (partial(recipes.saas, scale=-1.0), "scale must be positive"),
        (partial(recipes.cws_gp_ucb, num_active=1.5), "num_active must be"),
        (partial(recipes.cws_gp_ucb, num_active=1, spacing=2.0), "spacing must be"),
        (partial(recipes.hds_gp_ucb, bandwidth=0.0), "bandwidth must be positive"),
        (partial(recipes.gp_ucb, known={"noise": 1.0}), "known must have the keys .*'noise'"),
        (partial(recipes.gp_ucb, known=dict.fromkeys(KNOWN, -1.0)), "must be positive"),
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
