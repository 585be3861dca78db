"""Learn from 150 of 1,728 reactions what interacts, and compare with the complete table.

    pip install -e ".[plots]" && python examples/reaction.py

All combinations of five conditions were run, so the share of every interaction is known exactly.
The table and its source are in `examples/data`.
"""

import argparse
from itertools import combinations
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import structbo as sb

TABLE = Path(__file__).parent / "data" / "arylation.csv"
YIELD = "yield"
NUMBERS = ["concentration", "temperature"]


def true_shares(table: pd.DataFrame, names: list[str]) -> np.ndarray:
    """The shares of the variance of pairs, beyond their main effects, shape (D, D)."""
    values = table[YIELD] - table[YIELD].mean()
    main = {name: values.groupby(table[name]).transform("mean") for name in names}
    shares = np.zeros((len(names), len(names)))
    for (i, a), (j, b) in combinations(enumerate(names), 2):
        joint = values.groupby([table[a], table[b]]).transform("mean")
        interaction = joint - main[a] - main[b]
        shares[i, j] = shares[j, i] = interaction.var() / values.var()
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-runs", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", type=Path, default=Path("reaction.png"))
    arguments = parser.parse_args()

    table = pd.read_csv(TABLE)
    names = [name for name in table.columns if name != YIELD]
    space = {
        name: (sb.Ordinal if name in NUMBERS else sb.Categorical)(sorted(table[name].unique()))
        for name in names
    }
    runs = table.sample(arguments.n_runs, random_state=arguments.seed)
    optimizer = sb.Optimizer(space, "maximize", seed=arguments.seed)
    optimizer.tell_frame(runs.rename(columns={YIELD: "value"}))
    learned, true = optimizer.posterior.importances().pairs, true_shares(table, names)

    pairs = sorted(combinations(range(len(names)), 2), key=lambda pair: -true[pair])
    for a, b in pairs:
        interval = f"{learned.lower[a, b]:.1%} to {learned.upper[a, b]:.1%}"
        print(f"{names[a] + ', ' + names[b]:28}{interval:>18}; all runs: {true[a, b]:.1%}")
    _, axes = plt.subplots(figsize=(6.5, 3.4))
    rows = np.arange(len(pairs))
    chosen = tuple(np.transpose(pairs))
    axes.hlines(rows, learned.lower[chosen], learned.upper[chosen], linewidth=3, alpha=0.5)
    axes.plot(learned.mean[chosen], rows, "o", label=f"learned from {len(runs)} runs")
    axes.plot(true[chosen], rows, "k|", markersize=14, label=f"known from all {len(table):,}")
    axes.set_yticks(rows, [f"{names[a]}, {names[b]}" for a, b in pairs])
    axes.invert_yaxis()
    axes.set_xlabel("share of the variation of the yield")
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.legend(loc="lower right", frameon=False)
    plt.gcf().savefig(arguments.picture, dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()
