"""Expected improvement weighted by a prior of where the maximum is."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from acquisition_case import CATEGORICAL, Case, evaluate
from scipy.stats import beta

import structbo as sb
from structbo.acquisition import InteriorEI, LogEI
from structbo.models import AdditiveGP, main_effects
from structbo.space import Levels


@pytest.mark.parametrize("exponent", [0.25, 1.0])
def test_the_weight_is_a_product_of_beta_densities(
    case: Case, acquire: Any, exponent: float
) -> None:
    """Coordinates are the middles of forty intervals; categories have no weight."""
    points = case.points[::7]
    found = evaluate(acquire(InteriorEI(exponent=exponent)), points)
    ordered = np.delete(points, CATEGORICAL, axis=1)
    middles = (39.0 * ordered + 0.5) / 40.0
    prior = beta(1.0 + exponent, 1.0 + exponent)
    weight = prior.logpdf(middles).sum(1) - ordered.shape[1] * prior.logpdf(0.5)
    assert np.ptp(weight) > 1.0
    expected = evaluate(acquire(LogEI()), points) + weight
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_a_level_is_weighted_in_the_middle_of_its_interval() -> None:
    """Two levels weigh as much as the middle; three are as likely as 1/6, 1/2 and 5/6."""
    space = {
        "two": sb.Integer(0, 1),
        "three": sb.Integer(1, 3),
        "choice": sb.Categorical(["a", "b", "c"]),
    }
    optimizer = sb.Optimizer(sb.Space(space), "maximize", num_initial=3, seed=0)
    for value in (0.3, 0.1, 0.7):
        optimizer.tell(optimizer.ask(), value)
    optimizer.ask()
    acquisition = optimizer._engine._acquisition
    assert acquisition is not None
    corners = jnp.array([*product((0.0, 1.0), (0.0, 0.5, 1.0), (0.0, 1.0))])
    weight = InteriorEI().log_weight(corners, jnp.asarray(acquisition.contexts)[0, 1:])
    middles = np.where(np.asarray(corners)[:, 1] == 0.5, 0.5, 1.0 / 6.0)
    prior = beta(1.25, 1.25)
    expected = prior.logpdf(middles) - prior.logpdf(0.5)
    np.testing.assert_allclose(weight, expected, rtol=1e-6)


def edges_proposed(criterion: str) -> float:
    """The share of coordinates at an end of their range, where values say nothing."""
    settings: Any = {"model": AdditiveGP(main_effects()), "seed": 0}
    box = np.tile([0.0, 1.0], (8, 1))
    optimizer = sb.Optimizer(box, "maximize", num_initial=20, criterion=criterion, **settings)
    values = np.random.default_rng(0).standard_normal(32)
    for value in values:
        optimizer.tell(optimizer.ask(), value)
    proposed = np.array([trial.params for trial in optimizer.trials[20:]])
    return float(np.mean((proposed < 0.01) | (proposed > 0.99)))


def test_noise_does_not_send_the_search_to_the_corners() -> None:
    assert edges_proposed("interior_ei") < 0.5 * edges_proposed("log_ei")


def test_the_maximum_of_a_trend_is_at_a_corner() -> None:
    """A clear gain outweighs the prior."""
    slopes = np.array([1.0, -2.0, 0.5, 1.5])
    optimizer = sb.Optimizer(np.tile([0.0, 1.0], (4, 1)), "maximize", num_initial=8, seed=0)
    for _ in range(20):
        trial = optimizer.ask()
        optimizer.tell(trial, float(slopes @ trial.params))
    assert optimizer.best.value == pytest.approx(3.0, abs=1e-9)


def weight_of_a_corner(acquire: Any, num_dims: int, num_observed: float) -> float:
    """The log weight, in a search of continuous variables."""
    criterion = InteriorEI()
    levels = Levels.of([None] * num_dims)
    search = SimpleNamespace(levels=levels, num_observed=num_observed)
    context = criterion.contexts(acquire(LogEI()).draws, search)  # type: ignore[arg-type]
    return float(criterion.log_weight(jnp.ones(num_dims), context[0, 1:]))


def test_the_weight_of_a_corner_is_bounded_and_fades(acquire: Any) -> None:
    """Twice as many dimensions double it up to 20 and then halve it, and so do values from 60."""
    ten, twenty, forty = (weight_of_a_corner(acquire, d, 7.0) for d in (10, 20, 40))
    assert twenty == pytest.approx(2.0 * ten)
    assert forty == pytest.approx(0.5 * twenty)
    assert weight_of_a_corner(acquire, 10, 60.0) == pytest.approx(ten)
    assert weight_of_a_corner(acquire, 10, 120.0) == pytest.approx(0.5 * ten)


def test_the_weight_fades_early_among_many_dimensions(acquire: Any) -> None:
    """Above 50 dimensions it has a sixteenth after 40 observations, which is the whole up to 50."""
    first = weight_of_a_corner(acquire, 100, 20.0)
    assert weight_of_a_corner(acquire, 100, 7.0) == pytest.approx(first)
    assert weight_of_a_corner(acquire, 100, 40.0) == pytest.approx(first / 16.0)
    assert weight_of_a_corner(acquire, 100, 80.0) == pytest.approx(first / 256.0 * 0.75)
    assert weight_of_a_corner(acquire, 50, 40.0) == weight_of_a_corner(acquire, 50, 20.0)


@pytest.mark.parametrize("exponent", [0.0, -1.0, np.nan])
def test_the_exponent_is_positive(exponent: float) -> None:
    with pytest.raises(ValueError, match="exponent must be positive"):
        InteriorEI(exponent=exponent)
