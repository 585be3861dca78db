"""The plots show their data."""

import inspect
import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from structbo import Optimizer, Result, plots
from structbo.plots.figure import BLUE, ORANGE, shortened
from structbo.plots.interactions import FULL_WIDTH
from structbo.posterior import Calibration, Importances, Shares

matplotlib.use("Agg")

NAMES = ["a", "b", "c", "d"]
PROBABILITIES = np.array(
    [[0.0, 0.9, 0.2, 0.0], [0.9, 0.0, 0.0, 0.0], [0.2, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
)
TRUTH = PROBABILITIES > 0.5


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", plots.__all__)
def test_what_is_shown_comes_first_and_options_are_keywords(name: str):
    parameters = list(inspect.signature(getattr(plots, name)).parameters.values())
    shown = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    options = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    first = (
        ["posterior"],
        ["calibration"],
        ["importances"],
        ["values"],
        ["probabilities"],
        ["prior", "posterior"],
    )
    assert [part for part in shown if part not in ("name", "names")] in first
    assert shown[-1] == "names" or "names" not in shown
    assert all(option.default is not option.empty for option in options)
    assert options[-1].name == "ax"


def edges_of(ax: Axes) -> LineCollection:
    (lines,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    return lines


def test_widths_are_probabilities():
    (ax,) = plots.plot_interactions(PROBABILITIES, NAMES)
    lines = edges_of(ax)
    np.testing.assert_allclose(lines.get_linewidths(), FULL_WIDTH * np.array([0.2, 0.9]))
    ends = [[(0, 1), (0, -1)], [(0, 1), (1, 0)]]  # c is at the bottom, b on the right
    np.testing.assert_allclose(lines.get_segments(), ends, atol=1e-6)
    assert [text.get_text() for text in ax.texts] == NAMES
    legend = ax.get_legend()
    assert legend is not None
    for line, text in zip(legend.get_lines(), legend.get_texts(), strict=True):
        assert line.get_linewidth() == FULL_WIDTH * float(text.get_text())


def test_truth_is_beside():
    learned, true = plots.plot_interactions(PROBABILITIES, NAMES, truth=TRUTH)
    assert [to_hex(color).upper() for color in edges_of(learned).get_colors()] == [ORANGE, BLUE]
    assert len(edges_of(true).get_segments()) == 1
    assert len(true.texts) == len(NAMES)


def many() -> tuple[np.ndarray, list[str]]:
    """A hundred parameters with long names, of which the pairs (2 k, 2 k + 1) interact, k < 20."""
    probabilities = np.zeros((100, 100))
    for k in range(20):
        probabilities[2 * k, 2 * k + 1] = probabilities[2 * k + 1, 2 * k] = 0.3 + 0.03 * k
    return probabilities, [f"detector_stage_threshold_{d:03d}" for d in range(100)]


def test_of_many_parameters_the_strongest_are_shown():
    probabilities, names = many()
    (graph,) = plots.plot_interactions(probabilities, names, max_names=30)
    assert [text.get_text() for text in graph.texts] == [f"…{d:03d}" for d in range(10, 40)]
    assert "70 of 100 parameters" in graph.get_title()
    widths = edges_of(graph).get_linewidths()
    np.testing.assert_allclose(widths, FULL_WIDTH * (0.3 + 0.03 * np.arange(5, 20)))
    truth = np.zeros((100, 100))
    truth[97, 98] = truth[98, 97] = 1.0
    learned, true = plots.plot_interactions(probabilities, names, truth=truth, max_names=4)
    assert [text.get_text() for text in true.texts] == ["…038", "…039", "…097", "…098"]
    assert len(learned.texts) == 4
    matrix = plots.plot_together(probabilities, names, max_names=2)
    assert [label.get_text() for label in matrix.get_yticklabels()] == ["…038", "…039"]
    assert "98 of 100 parameters" in matrix.get_title()
    with pytest.raises(ValueError, match="max_names must be an integer of at least 1, got 0"):
        plots.plot_together(probabilities, names, max_names=0)


def test_long_names_overlap_neither_title_nor_legend():
    names = [f"{letter}_very_long_name_of_{letter}_indeed" for letter in "abcdefghijklmnopqrstuv"]
    (ax,) = plots.plot_interactions(np.zeros((22, 22)), names)
    ax.figure.canvas.draw()
    legend = ax.get_legend()
    assert legend is not None and all(text.get_rotation() for text in ax.texts[1:5])
    others = [legend.get_window_extent(), ax.title.get_window_extent()]
    assert all(text.get_window_extent().count_overlaps(others) == 0 for text in ax.texts)
    corners = ax.transData.transform([[-1.0, 0.0], [1.0, 0.0]])
    assert np.ptp(corners[:, 0]) > 0.35 * ax.figure.bbox.width, "the graph has room"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (["a" * 30], ["aaaa…aaaa"]),
        (["layer_1_width", "layer_10_width"], ["…1…", "…10…"]),
        (["layer_width_1", "layer_width_10"], ["…1", "…10"]),
        (["one_" + "x" * 20, "two"], ["one_…xxxx", "two"]),
        (["x" * 20 + "1" + "x" * 20, "x" * 20 + "2" + "x" * 20], None),
    ],
)
def test_short_names_stay_different(names: list[str], expected: list[str] | None):
    assert shortened(names, 10) == (expected or names)


def shares(mean: np.ndarray) -> Shares:
    return Shares(*(np.asarray(factor * mean) for factor in (1.0, 0.5, 1.5, 0.1, 1.0)))


def importances(names: list[str], pairs: np.ndarray) -> Importances:
    alone = np.linspace(0.0, 0.2, len(names))
    total = alone + pairs.sum(1)
    return Importances(tuple(names), *map(shares, (alone, total, pairs, np.array(0.01))))


def test_widths_are_importances():
    """A certain but unimportant edge is thin, an uncertain but important one wide."""
    pairs = np.where(PROBABILITIES == 0.9, 0.01, np.where(PROBABILITIES == 0.2, 0.04, 0.0))
    found = importances(NAMES, pairs)
    (ax,) = plots.plot_interactions(PROBABILITIES, NAMES, importances=found)
    lines = edges_of(ax)
    np.testing.assert_allclose(lines.get_linewidths(), FULL_WIDTH * np.array([0.25, 1.0]))
    np.testing.assert_allclose(lines.get_segments()[1], [(0, 1), (0, -1)], atol=1e-6)
    strong, weak = lines.get_alpha()
    assert strong > weak
    legend = ax.get_legend()
    assert legend is not None and "share of the variation" in legend.get_title().get_text()
    for line, text in zip(legend.get_lines(), legend.get_texts(), strict=True):
        share = float(text.get_text().removesuffix("%")) / 100
        assert line.get_linewidth() == pytest.approx(FULL_WIDTH * share / 0.04)
    message = "importances must be of the same parameters in the same order: 'a' stands where 'b'"
    with pytest.raises(ValueError, match=message):
        plots.plot_interactions(PROBABILITIES, ["b", "a", "c", "d"], importances=found)


def test_bars_are_importances():
    found = importances(NAMES, np.diag([0.01, 0.0, 0.5, 0.0]))
    ax = plots.plot_importances(found, max_rows=3)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["c", "d", "b"]
    total, alone = ([bar.get_width() for bar in bars] for bars in ax.containers)
    np.testing.assert_allclose(total, found.total.mean[[2, 3, 1]])
    np.testing.assert_allclose(alone, found.first_order.mean[[2, 3, 1]])
    intervals = [segment[:, 0] for lines in ax.collections for segment in lines.get_segments()]
    np.testing.assert_allclose(intervals[0], [found.total.lower[2], found.total.upper[2]])
    np.testing.assert_allclose(intervals[5][1], found.first_order.upper[1])
    assert "1 least important" in ax.get_title(loc="right")
    with pytest.raises(ValueError, match="max_rows must be an integer of at least 1, got 0"):
        plots.plot_importances(found, max_rows=0)


@pytest.mark.parametrize(("num_dims", "length"), [(5, 30), (22, 30), (100, 30)])
def test_long_names_fit(num_dims: int, length: int):
    names = [f"{d}".rjust(length, "n") for d in range(num_dims)]
    found = importances(names, np.zeros((num_dims, num_dims)))
    bars = plots.plot_importances(found)
    (graph,) = plots.plot_interactions(np.zeros((num_dims, num_dims)), names, importances=found)
    for ax, texts in ((bars, bars.get_yticklabels()), (graph, graph.texts)):
        ax.figure.canvas.draw()
        picture = ax.figure.bbox
        boxes = [text.get_window_extent() for text in texts]
        assert all(picture.x0 <= b.x0 and b.x1 <= picture.x1 for b in boxes)
        assert all(picture.y0 <= b.y0 and b.y1 <= picture.y1 for b in boxes)


@pytest.mark.parametrize(("num_dims", "length"), [(1, 3), (6, 10), (22, 2), (22, 14)])
def test_labels_do_not_overlap_and_fit(num_dims: int, length: int):
    names = [f"{d}".rjust(length, "n") for d in range(num_dims)]
    (ax,) = plots.plot_interactions(np.zeros((num_dims, num_dims)), names)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    picture = ax.get_window_extent()
    assert all(picture.x0 - 2 <= b.x0 and b.x1 <= picture.x1 + 2 for b in boxes)
    turned = any(text.get_rotation() for text in ax.texts)
    assert turned == (num_dims == 22 and length == 14)
    if not turned:
        assert all(b.count_overlaps(boxes) == 1 for b in boxes)


def test_given_axes_are_used():
    _, axes = plt.subplots(1, 2)
    assert plots.plot_interactions(PROBABILITIES, NAMES, truth=TRUTH, ax=axes) == tuple(axes)
    assert plots.plot_interactions(PROBABILITIES, NAMES, ax=axes[0]) == (axes[0],)
    assert plots.plot_convergence([1.0], ax=axes[1]) is axes[1]
    with pytest.raises(ValueError, match="ax must be 2 Axes, got 1"):
        plots.plot_interactions(PROBABILITIES, NAMES, truth=TRUTH, ax=axes[0])


@pytest.mark.parametrize(
    ("direction", "best"), [("minimize", [3.0, 3.0, 1.0, 1.0]), ("maximize", [3.0, 3.0, 3.0, 5.0])]
)
def test_best_so_far(direction, best):
    ax = plots.plot_convergence([3.0, np.nan, 1.0, 5.0], direction=direction)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), best)
    assert direction in ax.get_ylabel()


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_infinite_values_are_failures_as_in_a_search(infinite):
    ax = plots.plot_convergence([3.0, infinite, 1.0])
    best, crosses = (line.get_ydata() for line in ax.lines)
    np.testing.assert_array_equal(best, [3.0, 3.0, 1.0])
    assert len(crosses) == 1


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_best_so_far_of_an_optimizer(direction):
    optimizer = Optimizer({"x": (0.0, 1.0)}, direction)
    for value in (3.0, None, 1.0, 5.0):
        optimizer.tell(optimizer.ask(), value)
    optimizer.ask()
    expected = plots.plot_convergence([3.0, np.nan, 1.0, 5.0], direction=direction)
    for source in (optimizer, Result(optimizer)):
        ax = plots.plot_convergence(source)
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), expected.lines[0].get_ydata())
        assert ax.get_ylabel() == expected.get_ylabel()


def test_runs_have_the_numbers_of_their_trials():
    """Pending and failed runs keep their numbers, too."""
    optimizer = Optimizer({"x": (0.0, 1.0)}, "maximize")
    trials = optimizer.ask(5)
    for number, value in ((4, 1.0), (0, 3.0), (3, None)):
        optimizer.tell(trials[number], value)
    ax = plots.plot_convergence(optimizer, value_name="yield $")
    runs = np.asarray(ax.collections[0].get_offsets())
    np.testing.assert_array_equal(runs[~np.isnan(runs[:, 1])], [[0.0, 3.0], [4.0, 1.0]])
    crosses = {line.get_label(): line.get_xdata() for line in ax.lines}["failed"]
    np.testing.assert_array_equal(crosses, [3])
    assert ax.get_xlabel() == "number of the run" and ax.get_ylabel() == r"yield \$ (maximized)"


def test_huge_values_are_drawn_at_the_end_of_the_axis():
    ax = plots.plot_convergence([3.0, sys.float_info.max, -sys.float_info.max])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [3.0, 3.0, -1e300])
    offsets = np.asarray(ax.collections[0].get_offsets())
    np.testing.assert_array_equal(offsets[:, 1], [3.0, 1e300, -1e300])
    ax.figure.canvas.draw()


def test_predictions_of_huge_values_can_be_drawn():
    observed = np.array([0.0, 1.0, sys.float_info.max])
    unknown = np.full(3, np.inf)
    for mean, deviation in ((observed, observed), (unknown, unknown), (-unknown, unknown * np.nan)):
        calibration = Calibration(observed, mean, deviation, np.full(3, 0.5), np.ones(3))
        ax, _ = plots.plot_calibration(calibration)
        ax.figure.canvas.draw()


def test_failures_first():
    ax = plots.plot_convergence([np.nan, 2.0])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [np.nan, 2.0])


def test_errors():
    with pytest.raises(ValueError, match=r"probabilities must have shape \(3, 3\)"):
        plots.plot_interactions(PROBABILITIES, NAMES[:3])
    with pytest.raises(ValueError, match="names must be given"):
        plots.plot_interactions(PROBABILITIES)
    with pytest.raises(TypeError, match="must be a Posterior, an Optimizer or a Result: 3"):
        plots.plot_trace(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"probabilities must be in \[0, 1\]"):
        plots.plot_interactions(2.0 * PROBABILITIES, NAMES)
    with pytest.raises(ValueError, match="truth must be symmetric"):
        plots.plot_interactions(PROBABILITIES, NAMES, truth=np.triu(TRUTH))
    with pytest.raises(ValueError, match="direction must be"):
        plots.plot_convergence([1.0], direction="up")
    with pytest.raises(ValueError, match="values must be a list"):
        plots.plot_convergence([])


def test_missing_matplotlib(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "structbo\[plots\]"'):
        plots.plot_convergence([1.0])


def test_heat_map_shows_the_matrix_and_leaves_the_diagonal_out() -> None:
    ax = plots.plot_together(PROBABILITIES, NAMES)
    (image,) = ax.get_images()
    shown = np.ma.filled(image.get_array(), np.nan)
    off_diagonal = ~np.eye(len(NAMES), dtype=bool)
    np.testing.assert_allclose(shown[off_diagonal], np.asarray(PROBABILITIES)[off_diagonal])
    assert np.isnan(np.diag(shown)).all()
    assert [label.get_text() for label in ax.get_yticklabels()] == list(NAMES)
    with pytest.raises(ValueError, match="probabilities must have shape"):
        plots.plot_together(PROBABILITIES, NAMES[:3])


def test_names_are_no_formulas():
    names = ["a$_{$b", "x\ny", "c"]
    (graph,) = plots.plot_interactions(0.5 * (1 - np.eye(3)), names)
    bars = plots.plot_importances(importances(names, 0.1 * (1 - np.eye(3))))
    heat = plots.plot_together(0.5 * (1 - np.eye(3)), names)
    for ax in (graph, bars, heat):
        ax.figure.canvas.draw()
    shown = [r"a\$_{\$b", "x\N{REPLACEMENT CHARACTER}y", "c"]
    assert [text.get_text() for text in graph.texts] == shown
    assert {label.get_text() for label in bars.get_yticklabels()} == set(shown)
