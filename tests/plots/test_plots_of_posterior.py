"""Pictures of a posterior show its numbers."""

import sys
from dataclasses import replace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection

from structbo import Categorical, Integer, LinearConstraint, Optimizer, Result, Space, plots
from structbo.data import Transform
from structbo.models import AdditiveGP, edges, main_effects, pairs
from structbo.plots.effects import _draw_curve, draw_curves
from structbo.plots.slices import slices_of
from structbo.posterior import (
    Effect,
    Posterior,
    Probabilities,
    Units,
    distance_to_mode,
    indicator_rhat,
)
from structbo.space import Scale

matplotlib.use("Agg")

NAMES = ("a", "b", "c")
CHAINS, DRAWS = 2, 30


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    """Chains that agree on (a, b), disagree on (b, c), and never saw (a, c)."""
    rng = np.random.default_rng(0)
    X = rng.random((25, 3))
    Z = np.zeros((CHAINS, DRAWS, 3, 3), int)
    Z[..., 0, 1] = Z[..., 1, 0] = rng.random((CHAINS, DRAWS)) < 0.9
    Z[1, ..., 1, 2] = Z[1, ..., 2, 1] = rng.random(DRAWS) < 0.8
    Z[0, 0, 1, 2] = Z[0, 0, 2, 1] = 1
    draws = {
        "Z": Z,
        "lengthscale": rng.uniform(0.4, 0.6, (CHAINS, DRAWS, 3)),
        "noise": rng.uniform(1e-3, 2e-3, (CHAINS, DRAWS)),
        "outputscale": rng.uniform(1.0, 2.0, (CHAINS, DRAWS)),
    }
    y = 2 * np.sin(6 * X[:, 1]) + 0.5 * X[:, 0]
    return Posterior(AdditiveGP(edges(0.25, pairs)), X, y, draws, names=NAMES)


def test_trace_shows_every_chain(posterior: Posterior):
    density, distance = plots.plot_trace(posterior)
    expected = distance_to_mode(posterior.structures)
    for chain in range(CHAINS):
        np.testing.assert_array_equal(
            density.lines[chain].get_ydata(), posterior.log_density[chain]
        )
        np.testing.assert_array_equal(distance.lines[chain].get_ydata(), expected[chain])


def test_distance_to_mode_counts_pairs(posterior: Posterior):
    """The most frequent structure is the edge (a, b) alone, by the first chain."""
    Z = posterior.draws["Z"]
    expected = (Z[..., 0, 1] != 1).astype(int) + (Z[..., 1, 2] != 0)
    np.testing.assert_array_equal(distance_to_mode(posterior.structures), expected)


def test_agreement_names_the_pair_that_did_not_mix(posterior: Posterior):
    ax = plots.plot_agreement(posterior)
    assert ax.get_title().endswith("b,c")
    points = np.column_stack(ax.containers[0].lines[0].get_data())
    by_chain = posterior.draws["Z"].mean(1)[:, [0, 0, 1], [1, 2, 2]]
    np.testing.assert_allclose(points, by_chain.T)
    alone = {name: value[:1] for name, value in posterior.draws.items()}
    with pytest.raises(ValueError, match=r"at least two chains .* got 1 chains"):
        plots.plot_agreement(Posterior(posterior.model, posterior.X, posterior.y, alone))


def test_pairs_that_look_the_same_are_drawn_once():
    """All but two of 45 pairs have equal probabilities, so the plot stays small."""
    num_dims, rng = 10, np.random.default_rng(0)
    Z = np.zeros((CHAINS, DRAWS, num_dims, num_dims), int)
    Z[..., 0, 1] = Z[..., 1, 0] = 1
    Z[0, :10, 2, 3] = Z[0, :10, 3, 2] = 1
    draws = {
        "Z": Z,
        "lengthscale": np.full((CHAINS, DRAWS, num_dims), 0.5),
        "noise": np.full((CHAINS, DRAWS), 1e-3),
        "outputscale": np.ones((CHAINS, DRAWS)),
    }
    model = AdditiveGP(edges(0.1, pairs))
    ax = plots.plot_agreement(Posterior(model, rng.random((5, 10)), rng.random(5), draws))
    points = np.column_stack(ax.containers[0].lines[0].get_data())
    np.testing.assert_allclose(points, [[1.0, 1.0], [0.0, 0.0], [1.0 / 3.0, 0.0]])


def test_rhat_of_events_that_do_not_move():
    happened = np.zeros((2, 40, 3), bool)
    happened[1, :, 1] = True
    happened[:, ::2, 2] = True
    rhat = indicator_rhat(happened)
    assert rhat[0] == 1.0 and np.isinf(rhat[1]) and rhat[2] < 1.05


def test_rows_are_those_that_changed_most():
    prior = Probabilities(np.full(4, 0.5), np.zeros(4))
    posterior = Probabilities(np.array([0.9, 0.5, 0.2, 0.6]), np.full(4, 0.01))
    ax = plots.plot_prior_posterior(prior, posterior, "abcd", max_rows=3)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["c", "d", "a"]
    before, after = (container.lines[0].get_xdata() for container in ax.containers)
    np.testing.assert_array_equal(before, [0.5, 0.5, 0.5])
    np.testing.assert_array_equal(after, [0.2, 0.6, 0.9])


def test_rows_of_pairs(posterior: Posterior):
    prior = Probabilities(0.25 * (1 - np.eye(3)), np.zeros((3, 3)))
    ax = plots.plot_prior_posterior(prior, posterior.edge_probabilities(), NAMES)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a,c", "b,c", "a,b"]
    with pytest.raises(ValueError, match=r"must both have shape \(2,\) or \(2, 2\)"):
        plots.plot_prior_posterior(prior, prior, NAMES[:2])
    with pytest.raises(ValueError, match="max_rows must be at least 1"):
        plots.plot_prior_posterior(prior, prior, NAMES, max_rows=0)


def test_effects_are_drawn_by_influence(posterior: Posterior):
    axes = plots.plot_effects(posterior, num_effects=2, max_draws=4)
    assert [ax.get_xlabel() for ax in axes] == ["b", "a"]
    expected = posterior.main_effects(max_draws=4)
    for ax, effect in zip(axes, (expected[1], expected[0]), strict=True):
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), effect.mean)
    assert axes[0].get_ylim() == axes[1].get_ylim()
    with pytest.raises(ValueError, match="num_effects must be at least 1"):
        plots.plot_effects(posterior, num_effects=0)


def test_bars_of_choices_reach_from_quantile_to_quantile():
    """The interval of a skewed objective is not symmetric around the mean."""
    labels = np.array(["a", "b"], object)
    mean, lower, upper = np.array([1.0, 2.0]), np.array([0.8, 1.9]), np.array([3.0, 5.0])
    effect = Effect(("c",), (labels,), ("labels",), mean, np.ones(2), lower, upper)
    ax = plt.figure().add_subplot()
    _draw_curve(ax, effect)
    (bars,) = ax.containers[0].lines[2]
    np.testing.assert_allclose(
        [segment[:, 1] for segment in bars.get_segments()], np.column_stack([lower, upper])
    )


def test_surface_has_the_first_name_below(posterior: Posterior):
    axes = plots.plot_surface(posterior, ("b", "a"), max_draws=4)
    assert axes[0].get_xlabel() == "b" and axes[0].get_ylabel() == "a"
    shown = np.asarray(axes[0].collections[0].get_array()).reshape(33, 33)
    np.testing.assert_allclose(shown, posterior.effect(("b", "a"), max_draws=4).mean.T)
    dots = np.asarray(axes[0].collections[1].get_offsets())
    np.testing.assert_array_equal(dots, posterior.X[:, [1, 0]])
    with pytest.raises(ValueError, match="names must be two parameters"):
        plots.plot_surface(posterior, "ab")


@pytest.mark.parametrize("scale", ["linear", "labels"])
def test_curves_of_huge_values_can_be_drawn(
    posterior: Posterior, scale: Scale, monkeypatch: pytest.MonkeyPatch
):
    grid, mean = np.linspace(0.0, 1.0, 3), sys.float_info.max * np.array([0.0, 1.0, -1.0])
    effect = Effect(("a",), (grid,), (scale,), mean, np.full(3, np.inf), -abs(mean), abs(mean))
    monkeypatch.setattr(Posterior, "predict", lambda *_: (mean[1:2], np.full(1, np.inf)))
    _, ax = plt.subplots()
    at = dict.fromkeys(NAMES, 0.5)
    draw_curves(posterior, [effect], [ax], at=at, value_name="loss")
    ax.figure.canvas.draw()
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.0, 1e300, -1e300])


def test_a_surface_of_huge_values_can_be_drawn(
    posterior: Posterior, monkeypatch: pytest.MonkeyPatch
):
    mean = sys.float_info.max * np.array([[0.0, 1.0], [-1.0, 0.5]])
    grid, unknown = np.array([0.0, 1.0]), np.full((2, 2), np.inf)
    effect = Effect(("a", "b"), (grid, grid), ("linear",) * 2, mean, unknown, -unknown, unknown)
    monkeypatch.setattr(Posterior, "effect", lambda *_, **options: effect)
    for ax in plots.plot_surface(posterior, ("a", "b")):
        ax.figure.canvas.draw()


SPACE = Space({"rate": (1e-4, 1.0, "log"), "act": Categorical(["relu", None]), "k": Integer(1, 5)})


@pytest.fixture(scope="module")
def of_a_search() -> Posterior:
    """A search with values above 100 to be minimized, with the minimum at rate 0.01."""
    X = SPACE.snap(np.random.default_rng(0).random((30, 3)))
    y = -8.0 * (X[:, 0] - 0.5) ** 2 + X[:, 1]
    draws = {"noise": np.full((1, 2), 1e-3), "outputscale": np.ones((1, 2))}
    draws["lengthscale"] = np.full((1, 2, 3), 0.6)
    model = AdditiveGP(main_effects(), categorical=(1,))
    units = Units(SPACE, Transform(-1.0, -100.0, 10.0))
    return Posterior(model, X, y, draws, names=SPACE.names, units=units)


def test_curves_have_the_units_of_the_space(of_a_search: Posterior):
    axes = plots.plot_effects(of_a_search)
    panels = {ax.get_xlabel(): ax for ax in axes}
    curve = panels["rate"].lines[0]
    assert panels["rate"].get_xscale() == "log"
    x, y = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
    np.testing.assert_allclose(x, np.geomspace(1e-4, 1.0, 33))
    np.testing.assert_allclose(x[np.argmin(y)], 0.01)
    np.testing.assert_allclose(np.ptp(y), 20.0, atol=2.0)
    assert [t.get_text() for t in panels["act"].get_xticklabels()] == ["relu", "None"]
    points = np.asarray(panels["k"].lines[0].get_xdata())
    np.testing.assert_array_equal(points, [1, 2, 3, 4, 5])
    assert axes[0].get_ylabel() == "average objective"


def test_curves_through_a_point_are_predictions_with_one_parameter_changed(
    of_a_search: Posterior,
):
    at = {"rate": 0.02, "act": None, "k": 4}
    axes = plots.plot_effects(of_a_search, at=at, value_name="loss")
    panels = {ax.get_xlabel(): ax for ax in axes}
    curve, mark = panels["rate"].lines
    rates = np.asarray(curve.get_xdata())
    mean, _ = of_a_search.predict([{**at, "rate": rate} for rate in rates])
    np.testing.assert_allclose(curve.get_ydata(), mean)
    np.testing.assert_allclose(mark.get_xdata(), [0.02])
    np.testing.assert_allclose(mark.get_ydata(), of_a_search.predict(at)[0])
    np.testing.assert_array_equal(panels["act"].lines[-1].get_xdata(), [1.0])
    assert axes[0].get_ylabel() == "loss"
    surface = plots.plot_surface(of_a_search, ("act", "rate"), at=at, value_name="loss")
    shown = np.asarray(surface[0].collections[0].get_array()).reshape(33, 2)
    np.testing.assert_allclose(shown[:, 1], mean)
    assert surface[0].get_title() == "loss"
    with pytest.raises(ValueError, match=r"at\['rate'\]: value must be in"):
        plots.plot_effects(of_a_search, at={**at, "rate": 2.0})


def test_slices_end_where_constraints_do():
    """At a = 0.7, b may be 0.3 at most."""
    sum_of_both = LinearConstraint({"a": 1.0, "b": 1.0}, high=1.0)
    space = Space({"a": (0.0, 1.0), "b": (0.0, 1.0)}, constraints=[sum_of_both])
    draws = {"noise": 1e-3, "outputscale": 1.0, "lengthscale": np.full(2, 0.6)}
    found = Posterior.at(AdditiveGP(main_effects()), [[0.1, 0.2], [0.5, 0.5]], [0.3, -0.3], draws)
    posterior = replace(found, names=space.names, units=Units(space))
    (effect,) = slices_of(posterior, [("b",)], {"a": 0.7, "b": 0.1})
    (grid,) = effect.grid
    np.testing.assert_array_equal(np.isnan(effect.mean), grid > 0.3 + 1e-9)
    assert (effect.lower <= effect.mean)[grid < 0.3].all()
    plots.plot_effects(posterior, at={"a": 0.7, "b": 0.1})


def test_surface_has_the_units_of_the_space(of_a_search: Posterior):
    axes = plots.plot_surface(of_a_search, ("act", "rate"))
    assert axes[0].get_yscale() == "log"
    assert [t.get_text() for t in axes[0].get_xticklabels()] == ["relu", "None"]
    dots = np.asarray(axes[0].collections[1].get_offsets())
    np.testing.assert_array_equal(dots[:, 0], of_a_search.X[:, 1])
    np.testing.assert_allclose(dots[:, 1], 10.0 ** (4.0 * of_a_search.X[:, 0] - 4.0))
    corners = np.asarray(axes[0].collections[0].get_coordinates())
    assert (corners[..., 1] > 0.0).all() and corners[:, 0, 1].min() < 1e-4
    np.testing.assert_array_equal(corners[0, :, 0], [-0.5, 0.5, 1.5])


def test_a_result_and_an_optimizer_stand_for_their_posterior(
    posterior: Posterior, monkeypatch: pytest.MonkeyPatch
):
    optimizer = Optimizer({name: (0.0, 1.0) for name in NAMES})
    monkeypatch.setattr(Optimizer, "posterior", property(lambda self: posterior))
    together, shares = posterior.together_probabilities(), posterior.importances().pairs
    for source in (posterior, optimizer, Result(optimizer)):
        image = plots.plot_together(source).get_images()[0].get_array()
        np.testing.assert_allclose(np.triu(image, 1), np.triu(together.mean, 1))
        (graph,) = plots.plot_interactions(source)
        assert [text.get_text() for text in graph.texts] == list(NAMES)
        (lines,) = (c for c in graph.collections if isinstance(c, LineCollection))
        widths = np.sort(shares.mean[np.triu_indices(3, 1)])
        expected = 6.0 * widths[widths > 0.0] / widths[-1]
        np.testing.assert_allclose(lines.get_linewidths(), expected, rtol=1e-6)
        assert plots.plot_agreement(source).get_title().endswith("b,c")
        assert len(plots.plot_trace(source)[0].lines) == CHAINS
        (effect,) = plots.plot_effects(source, num_effects=1, max_draws=4)
        assert effect.get_xlabel() == "b"
        assert "1 of 3 parameters" in effect.figure.get_suptitle()
        surface = plots.plot_surface(source, ("b", "a"), max_draws=4)
        assert surface[0].get_xlabel() == "b"
    prior = Probabilities(0.25 * (1 - np.eye(3)), np.zeros((3, 3)))
    ax = plots.plot_prior_posterior(prior, together, max_rows=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a,c", "a,b"]
    legend = ax.get_legend()
    assert legend is not None and legend.get_title().get_text().startswith("the 2 of 3")


def test_calibration_shows_predictions_and_coverage(posterior: Posterior):
    found = posterior.calibration()
    predictions, coverage = plots.plot_calibration(posterior)
    points = np.concatenate([line.get_xydata() for line in predictions.lines[:2]])
    expected = np.column_stack([found.mean, found.observed])
    np.testing.assert_allclose(
        points[np.argsort(points[:, 1])], expected[np.argsort(found.observed)]
    )
    inside = np.abs(found.observed - found.mean) <= 1.645 * found.deviation
    assert len(predictions.lines[0].get_xydata()) == inside.sum()
    share = coverage.lines[-1].get_ydata()
    assert share[-1] == 1.0 and share[50] == found.num_inside(0.5) / 25
