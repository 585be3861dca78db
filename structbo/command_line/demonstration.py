"""A small search that demonstrates what the library learns."""

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
    """A synthetic validation loss: momentum shifts the best learning rate, depth the best width."""
    rate = 0.5 * (math.log10(point["lr"]) + 3.0) + 2.0 * (point["momentum"] - 0.5)
    size = 0.4 * (math.log2(point["width"]) - 6.5) + 0.3 * (point["depth"] - 4.5)
    return 0.3 + 0.2 * rate**2 + 0.1 * size**2 + (point["dropout"] - 0.2) ** 2


def demonstrate(num_trials: int, seed: int, report: Path | None = None) -> None:
    """Minimizes `loss`, and prints the best point, importances and interactions.

    Args:
        num_trials: number of evaluations, at least 2.
        seed: seed of the search.
        report: file for a report, or None.
    """
    print(f"Minimizing a synthetic validation loss of {len(SPACE)} parameters: lr and momentum")
    print("interact, and so do width and depth. The minimum is 0.3.\n", flush=True)
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
    print("\nShare of the variance that involves each parameter, with 90 % intervals:")
    total = found.total
    for d in (-total.mean).argsort():
        mean, lower, upper = (100.0 * share[d] for share in (total.mean, total.lower, total.upper))
        print(f"  {found.names[d]:<10} {mean:3.0f} %  ({lower:.0f} to {upper:.0f})")
    if report is not None:
        print(f"\nwrote {write_report(result, report, title='structbo demo')}")
