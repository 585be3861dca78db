"""Common properties of recipes: seeds, signs, cycles. Nightly tests run each recipe as a whole."""

import jax
import numpy as np
import pytest
from recipe_runs import CHEAP, SCREENED, SPACE, Call, made, objective, run

from structbo import minimize, recipes
from structbo.draws import log_likelihoods


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
    """For minimization, the model sees the negative values."""
    high, low = made(name, direction="maximize"), made(name)
    for optimizer in (high, low):
        for x in ([0.1, 0.2, 0.3], [0.5, 0.5, 0.5], [0.9, 0.4, 0.1]):
            params = SPACE.from_unit([x])[0]
            optimizer.tell(params, objective(params))
        optimizer.ask()
    np.testing.assert_allclose(calls[0].data.y, -np.asarray(calls[1].data.y), atol=1e-12)


@pytest.mark.usefixtures("unlearned")
@pytest.mark.parametrize("name", ["g_add_gp_ucb", "add_gp_ucb", "rpp_gp_ucb", "rembo"])
def test_nothing_is_learned_within_a_cycle(name: str, calls: list[Call]) -> None:
    run(made(name, cycle=2), 8)
    assert [call.num_observed for call in calls] == [3, 4, 5, 6, 7]
    draws = [id(call.draws) for call in calls]
    assert draws[0] == draws[1] != draws[2] == draws[3] != draws[4]


def test_random_never_searches(calls: list[Call]) -> None:
    points = run(recipes.random(SPACE, seed=3), 64)
    assert not calls
    # A Sobol sequence fills the eight octants evenly.
    octants = (points > 0.5) @ [1, 2, 4]
    assert np.bincount(octants).tolist() == [8] * 8


def test_a_recipe_is_an_optimizer_for_minimize(calls: list[Call]) -> None:
    result = minimize(objective, n_trials=5, optimizer=made("gp_ucb"), show_progress_bar=False)
    assert len(result.trials) == 5 and len(calls) == 2


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(CHEAP))
def test_a_recipe_as_a_whole(name: str) -> None:
    """The same points twice, inside of the space, and past the initial design."""
    num_trials = 9 if name in SCREENED else 6
    points = run(made(name), num_trials)
    assert points.min() >= 0.0 and points.max() <= 1.0
    assert name in SCREENED or len(np.unique(points, axis=0)) == num_trials
    np.testing.assert_array_equal(run(made(name), num_trials), points)
