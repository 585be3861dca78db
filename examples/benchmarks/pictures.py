"""Pictures of the tables of regret, of large problems and of recovery.

    python examples/benchmarks/pictures.py

The tables in results/ come from `regret.py`, `scale.py` and `recovery.py`.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import regret
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from recovery_picture import of_recovery
from runs import Runs

FOLDER = Path(__file__).parent / "results"
DEFAULT = "structbo"
SIZES = (250, 500, 1000, 2000, 5000)


def lines(axes: Axes, counts: Sequence[int], curves: Mapping[str, np.ndarray], title: str) -> None:
    """Median regret over evaluations, with the default in bold."""
    for name, values in curves.items():
        width = 2.5 if name == DEFAULT else 1.0
        axes.plot(counts, values, marker=".", linewidth=width, label=name)
    axes.set(yscale="log", title=title, xlabel="evaluations")


def of_regret(folder: Path) -> Figure:
    """Median regret on the shared functions, compared with peers."""
    runs = Runs(folder / "regret.csv", ("problem", "model", "seed"), [*map(str, regret.COUNTS)])
    figure = Figure(figsize=(13.0, 5.5), layout="constrained")
    for axes, problem in zip(figure.subplots(2, 4).flat, regret.PROBLEMS, strict=False):
        own = np.median(runs.of_seeds(problem, DEFAULT), axis=0)
        lines(axes, regret.COUNTS, {DEFAULT: own, **regret.peers(problem)}, problem)
    return finished(figure)


def of_scale(folder: Path) -> Figure:
    """Time and memory of suggestions over the number of observations, with exponents of time."""
    table = np.loadtxt(folder / "scale.csv", delimiter=",", skiprows=1)
    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    time, memory = figure.subplots(1, 2)
    for num_dims in np.unique(table[:, 0]):
        _, n, first, following, megabytes = table[table[:, 0] == num_dims].T
        label = f"D = {num_dims:.0f}"
        if len(n) > 1:
            label += f", n^{np.polyfit(np.log(n), np.log(following), 1)[0]:.1f}"
        (drawn,) = time.plot(n, following, marker=".", label=label)
        time.plot(n, first, linestyle=":", color=drawn.get_color())
        memory.plot(n, megabytes / 1000.0, marker=".")
    time.set(xscale="log", yscale="log", xlabel="observations", ylabel="seconds (dotted: first)")
    memory.set(xscale="log", xlabel="observations", ylabel="GB at most", ylim=(0.0, None))
    for axes in (time, memory):
        axes.set_xticks(SIZES, map(str, SIZES))
        axes.minorticks_off()
    time.legend(fontsize="small")
    return figure


def finished(figure: Figure) -> Figure:
    """Without empty panels, and with one legend."""
    for axes in figure.axes:
        axes.set_visible(axes.has_data())
    handles = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.axes[0].set_ylabel("median regret")
    figure.legend(handles.values(), handles.keys(), loc="outside right center")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path, default=FOLDER)
    parser.add_argument("--output", type=Path, default=FOLDER)
    options = parser.parse_args()
    figures = {
        "regret": of_regret(options.tables),
        "scale": of_scale(options.tables),
        "recovery": of_recovery(options.tables / "recovery.jsonl"),
    }
    for name, figure in figures.items():
        figure.savefig(options.output / f"{name}.png", dpi=100)


if __name__ == "__main__":
    main()
