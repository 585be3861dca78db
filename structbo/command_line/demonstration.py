"""A small search that shows what the library learns."""

import math
from pathlib import Path
from typing import Any

from structbo.report import write_report
from structbo.runs import minimize
from structbo.space import Integer

SPACE = {
    "lr": (1e-5, 1e-1, "log"),
    "momentum": (0.0, 0.99),
    "width": Integer(16, 512, log=True),
    "depth": Integer(1, 8),
    "dropout": (0.0, 0.6),
}


def loss(point: dict[str, Any]) -> float:
    """A made-up validation loss: momentum moves the best learning rate, depth the best width."""
    rate = 0.5 * (math.log10(point["lr"]) + 3.0) + 2.0 * (point["momentum"] - 0.5)
    size = 0.4 * (math.log2(point["width"]) - 6.5) + 0.3 * (point["depth"] - 4.5)
    return 0.3 + 0.2 * rate**2 + 0.1 * size**2 + (point["dropout"] - 0.2) ** 2


def demonstrate(num_trials: int, seed: int, report: Path | None = None) -> None:
    """Minimizes `loss`, and prints the best point, importances and interactions.

    Args:
        num_trials: how many evaluations, 2 or more.
        seed: for the search.
        report: where to write a report, if anywhere.
    """
    print(f"Minimizing a made-up validation loss of {len(SPACE)} parameters: lr and momentum")
    print("interact, and so do width and depth. The least possible loss is 0.3.\n", flush=True)
    result = minimize(loss, SPACE, num_trials, seed=seed)
    print(f"\nBest loss {result.best_value:.4f} after {num_trials} evaluations, at")
    for name, value in result.best_params.items():
        print(f"  {name:<10} {value:.4g}")
    posterior = result.posterior
    graph = posterior.to_networkx()
    pairs = sorted(graph.edges(data=True), key=lambda edge: -edge[2]["probability"])
    print("\nWhich parameters interact, with posterior probabilities and Monte Carlo errors:")
    for a, b, edge in pairs[:5]:
        print(f"  {a + ' - ' + b:<22} {edge['probability']:.2f} +- {edge['mcse']:.2f}")
    found = posterior.importances()
    print("\nHow much of the variance they have to do with, with 90 % intervals:")
    for d in (-found.total.mean).argsort():
        mean, lower, upper, _ = (100.0 * share[d] for share in found.total)
        print(f"  {found.names[d]:<10} {mean:3.0f} %  ({lower:.0f} to {upper:.0f})")
    if report is not None:
        print(f"\nwrote {write_report(result, report, title='structbo demo')}")
