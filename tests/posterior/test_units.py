"""Points and values are converted from and to the user's units."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from given_draws import edge_draws, with_edges

from structbo import Categorical, Fixed, Integer, Optimizer, Ordinal, Real, Space
from structbo.data import Transform, Warping
from structbo.models import AdditiveGP, main_effects
from structbo.posterior import Posterior, Units
from structbo.posterior.effects import quadrature_of

SPACE = Space(
    {
        "rate": (1e-4, 1.0, "log"),
        "layers": Integer(1, 4),
        "act": Categorical(["relu", "gelu", None]),
        "width": Ordinal([16, (8, 8), 32]),
    }
)
HEIGHTS = {"relu": 0.0, "gelu": -3.0, None: 4.0}


def loss(params: dict[str, Any]) -> float:
    """A loss with its minimum at rate 0.01, 4 layers and gelu."""
    bowl = (np.log10(params["rate"]) + 2.0) ** 2
    return float(500.0 + bowl - 0.5 * params["layers"] + HEIGHTS[params["act"]])


def given_draws(num_dims: int) -> dict[str, np.ndarray]:
    return {
        "lengthscale": np.full((1, 2, num_dims), 0.7),
        "outputscale": np.array([[3.0, 4.0]]),
        "noise": np.full((1, 2), 1e-4),
    }


def searched(direction: Any, sign: float, monkeypatch: pytest.MonkeyPatch) -> Posterior:
    """The posterior of a search with 40 points, one failure and given draws."""

    def given(model: Any, X: Any, y: Any, *, names: Any, **_: Any) -> Posterior:
        return Posterior(model, X, y, given_draws(X.shape[1]), names=names)

    monkeypatch.setattr("structbo.optimizer.optimizer.fit", given)
    model = AdditiveGP(main_effects(), categorical=SPACE.categorical)
    optimizer = Optimizer(SPACE, direction, model=model, num_initial=50)
    for trial in optimizer.ask(40):
        optimizer.tell(trial, sign * loss(trial.params))
    return optimizer.posterior


@pytest.fixture
def posterior(monkeypatch: pytest.MonkeyPatch) -> Posterior:
    return searched("minimize", 1.0, monkeypatch)


def test_predictions_of_a_search_are_losses(posterior: Posterior):
    points = [
        {"rate": rate, "layers": layers, "act": act, "width": 16}
        for rate in (1e-3, 0.01, 0.5)
        for layers, act in ((1, "relu"), (4, "gelu"), (2, None))
    ]
    mean, variance = posterior.predict(points)
    truth = np.array([loss(point) for point in points])
    np.testing.assert_allclose(mean, truth, atol=0.3)
    assert (np.abs(mean - truth) < 4.0 * np.sqrt(variance)).all()
    assert np.argmin(mean) == 4
    pd = pytest.importorskip("pandas")
    columns = ["act", "width", "rate", "layers"]
    np.testing.assert_array_equal(posterior.predict(pd.DataFrame(points)[columns])[0], mean)


@pytest.mark.parametrize(("direction", "sign"), [("minimize", 1.0), ("maximize", -1.0)])
def test_effects_of_a_search(direction: Any, sign: float, monkeypatch: pytest.MonkeyPatch):
    """The reference averages the function over all others, with equal weights of levels."""
    posterior = searched(direction, sign, monkeypatch)
    rate, layers, act, width = posterior.main_effects(num_points=9)
    bowl, depth, height = 4.0 / 3.0, -1.25, 1.0 / 3.0  # averages of the terms

    np.testing.assert_allclose(rate.grid[0], np.geomspace(1e-4, 1.0, 9))
    truth = 500.0 + (np.log10(rate.grid[0]) + 2.0) ** 2 + depth + height
    np.testing.assert_allclose(rate.mean, sign * truth, atol=0.2)
    np.testing.assert_array_equal(layers.grid[0], [1, 2, 3, 4])
    assert layers.grid[0].dtype.kind == "i"
    truth = 500.0 + bowl - 0.5 * layers.grid[0] + height
    np.testing.assert_allclose(layers.mean, sign * truth, atol=0.2)
    assert act.grid[0].tolist() == ["relu", "gelu", None]
    truth = np.array([500.0 + bowl + depth + HEIGHTS[label] for label in act.grid[0]])
    np.testing.assert_allclose(act.mean, sign * truth, atol=0.2)
    assert width.grid[0].tolist() == [16, (8, 8), 32]
    assert [e.scales for e in (rate, layers, act, width)] == [
        ("log",),
        ("linear",),
        ("labels",),
        ("labels",),
    ]
    assert all((e.deviation > 0.0).all() for e in (rate, layers, act, width))
    surface = posterior.effect(("act", "rate"), num_points=5)
    assert surface.mean.shape == (3, 5) and surface.scales == ("labels", "log")


def test_units_are_a_line_and_leave_the_model_alone(posterior: Posterior):
    model = replace(posterior, units=Units(SPACE))
    points = SPACE.from_unit(np.random.default_rng(0).random((5, 4)))
    (mean, variance), (before, before_variance) = posterior.predict(points), model.predict(points)
    transform = posterior.units.transform
    location, slope = transform.sign * transform.location, transform.sign * transform.scale
    assert slope < 0.0
    np.testing.assert_allclose(mean, location + slope * before)
    np.testing.assert_allclose(variance, slope**2 * before_variance)
    shown, inside = (p.main_effects(num_points=9)[0] for p in (posterior, model))
    np.testing.assert_allclose(shown.mean, location + slope * inside.mean)
    np.testing.assert_allclose(shown.deviation, abs(slope) * inside.deviation)
    np.testing.assert_array_equal(posterior.y, model.y)
    np.testing.assert_allclose([posterior.y.mean(), posterior.y.std()], [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(posterior.log_density, model.log_density)


def test_units_survive_pickling_and_the_prior_has_them(posterior: Posterior):
    restored = pickle.loads(pickle.dumps(posterior))
    assert restored.units == posterior.units
    prior = posterior.prior(num_draws=20)
    assert prior.units == posterior.units
    act = prior.effect("act")
    assert act.grid[0].tolist() == ["relu", "gelu", None]
    np.testing.assert_allclose(act.mean, posterior.units.values(np.zeros(3)))


def test_many_levels_are_thinned_and_averaged_as_an_integral():
    parameters = Integer(0, 1), Integer(1, 1000), Integer(1, 512, log=True), Real(0, 1, step=0.2)
    named = dict(zip(("few", "many", "log", "step"), parameters, strict=True))
    space = Space({"fixed": Fixed("a"), **named})
    X = space.snap(np.random.default_rng(0).random((30, 4)))
    model, units = AdditiveGP(main_effects()), Units(space)
    posterior = Posterior(model, X, X[:, 0], given_draws(4), names=space.names, units=units)
    few, many, log, step = posterior.main_effects(num_points=10)
    np.testing.assert_array_equal(few.grid[0], [0, 1])
    np.testing.assert_array_equal(step.grid[0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert step.scales == ("linear",)
    np.testing.assert_array_equal(many.grid[0], [1, 112, 223, 334, 445, 556, 667, 778, 889, 1000])
    np.testing.assert_array_equal(log.grid[0], [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
    np.testing.assert_allclose(many.mean, 0.5, atol=0.05)
    nodes, weights = quadrature_of(posterior)
    used = weights > 0.0
    assert used.sum(0).tolist() == [2, 64, 64, 6]
    np.testing.assert_array_equal(np.sort(nodes[used[:, 0], 0]), [0.0, 1.0])
    np.testing.assert_allclose(weights.sum(0), 1.0)


def test_intervals_of_the_objective_are_intervals_of_the_model(posterior: Posterior):
    """Mean and variance by the law of total variance, and 1.645 deviations to either side."""
    points = posterior.units.space.from_unit(posterior.X)
    of_model = replace(posterior, units=Units(posterior.units.space))
    mean, variance = of_model.predict(points)
    _, _, low, high = posterior.describe(points)
    assert (low < high).all()
    ends = np.sort([posterior.units.transform(low), posterior.units.transform(high)], axis=0)
    reach = 1.6449 * np.sqrt(variance)
    np.testing.assert_allclose(ends, [mean - reach, mean + reach], rtol=1e-6)


def test_without_a_space_the_model_is_shown():
    posterior = with_edges(edge_draws(0.5)[:, :4])
    assert posterior.units == Units.of_unit_cube(("x0", "x1", "x2"))
    x = np.random.default_rng(4).random((5, 3))
    by_name = [dict(zip(posterior.names, row, strict=True)) for row in x]
    np.testing.assert_array_equal(posterior.predict(by_name), posterior.predict(x))
    np.testing.assert_array_equal(posterior.effect("x1", num_points=3).grid[0], [0.0, 0.5, 1.0])
    assert posterior.predict(np.empty((0, 3)))[0].shape == (0,)


def test_errors(posterior: Posterior):
    with pytest.raises(ValueError, match=r"points must have exactly the names"):
        posterior.predict({"rate": 0.1})
    with pytest.raises(ValueError, match=r"points\['act'\]: value must be one of"):
        posterior.predict({"rate": 0.1, "layers": 1, "act": "tanh", "width": 16})
    with pytest.raises(ValueError, match=r"the space of units must have the names \['rate', "):
        replace(posterior, units=Units(Space.box([[0.0, 1.0]] * 4)))
    with pytest.raises(ValueError, match="levels of the categorical 'x1' are unknown"):
        Posterior(
            AdditiveGP(main_effects(), categorical=(1,)), np.empty((0, 2)), [], given_draws(2)
        ).effect("x0")


def test_moments_of_warped_values_are_those_of_their_simulation():
    """A mixture of three normals on the scale of the model, with unequal weights."""
    warping = Warping(2.4, 0.1, 0.8, worst=-2.0)
    units = Units(SPACE, Transform(-1.0, -5.0, 2.0, warping))
    mean, deviation = np.array([[0.5], [-1.0], [0.2]]), np.array([[0.3], [1.5], [0.8]])
    weights = np.array([[0.5], [0.2], [0.3]])
    rng = np.random.default_rng(0)
    which = rng.choice(3, 400_000, p=weights[:, 0])
    simulated = units.values(mean[which, 0] + deviation[which, 0] * rng.standard_normal(400_000))
    found_mean, found_deviation = units.moments(mean, deviation**2, weights)
    error = simulated.std() / np.sqrt(len(simulated))
    np.testing.assert_allclose(found_mean, simulated.mean(), atol=4.0 * error)
    np.testing.assert_allclose(found_deviation, simulated.std(), rtol=0.01)
    low, high = units.interval(mean[1], deviation[1])
    one = simulated[which == 1]
    np.testing.assert_allclose([(one < low).mean(), (one > high).mean()], 0.05, atol=0.003)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_deviations_are_known_where_variances_overflow_or_vanish(posterior: Posterior, size: float):
    transform = posterior.units.transform
    scaled = transform._replace(location=size * transform.location, scale=size * transform.scale)
    of_size = replace(posterior, units=Units(SPACE, scaled))
    points = SPACE.from_unit(posterior.X[:3])
    for one, other in zip(of_size.describe(points), posterior.describe(points), strict=True):
        np.testing.assert_allclose(one, size * other)
    np.testing.assert_allclose(of_size.predict(points)[0], size * posterior.predict(points)[0])
    one, other = of_size.calibration(), posterior.calibration()
    np.testing.assert_allclose(one.deviation, size * other.deviation)
