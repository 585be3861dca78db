"""Learned directions on the synthetic function of Li et al. 2016, section 5.1.

    python examples/benchmarks/projections.py

Two functions have D / 2 projections each, whose matrix is the identity plus uniform noise. The
table has held-out log densities and errors of the additive model (delta = 0), the restricted one
(delta = 0.1) and free projection pursuit (delta = infinity), all maximized as in the paper. It also
has draws from the posterior, each under the same constraint. The results for D = 50 are incomplete.
"""

import argparse
import csv
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import jax.numpy as jnp
import numpy as np
import numpyro
from matplotlib.figure import Figure

import structbo as sb
from structbo.draws import restricted_projection_pursuit
from structbo.models import AdditiveGP, NearIdentity, blocks, outer_box_ratio, projections

sys.path.insert(0, str(Path(__file__).parents[1]))  # the folder of the package `papers`

from papers.problems.functions import log_mixture

numpyro.enable_x64()

DELTA, NUM_HELD_OUT = 0.1, 300
NEAR_IDENTITY = partial(NearIdentity, delta=DELTA)
COLUMNS = "log density", "error", "largest ratio", "alpha"
LENGTH = dict[str, Any](num_warmup=60, num_samples=60, num_chains=1)
RESULTS = Path(__file__).parent / "results"


def function(num_dims: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """The paper does not specify the three modes: here they are uniform in the unit cube."""
    size = num_dims // 2
    A = np.eye(num_dims) + rng.uniform(-0.25, 0.25, (num_dims, num_dims))
    modes = rng.random((3, size))
    return lambda x: log_mixture((x @ A)[:, :size], modes) + log_mixture((x @ A)[:, size:], modes)


def held_out(posterior: sb.Posterior, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Mean log density and error of new observations, predicted as normals."""
    mean, variance = posterior.predict(x)
    variance = variance + posterior.draws["noise"].mean()
    log_density = -0.5 * (np.log(2 * np.pi * variance) + (y - mean) ** 2 / variance).mean()
    return float(log_density), float(np.sqrt(((y - mean) ** 2).mean()))


def study(num_dims: int, num_points: int, seed: int) -> Iterator[dict]:
    """One row per group size and method."""
    rng = np.random.default_rng(seed)
    f, learned = function(num_dims, rng), None
    x = rng.random((num_points + NUM_HELD_OUT, num_dims))
    y = f(x)
    y = (y - y[:num_points].mean()) / y[:num_points].std()
    (X, new_x), (Y, new_y) = (np.split(v, [num_points]) for v in (x, y))

    def row(method: str, group_size: int, posterior: sb.Posterior, alpha: float = np.nan) -> dict:
        ratio = max(float(outer_box_ratio(W)) for W in posterior.draws["W"][0])
        case = {"D": num_dims, "n": num_points, "seed": seed, "d": group_size, "method": method}
        values = (*held_out(posterior, new_x, new_y), ratio, alpha)
        return case | {k: round(v, 4) for k, v in zip(COLUMNS, values, strict=True)}

    for group_size in (num_dims // 10, num_dims // 5, num_dims // 2):
        for method, delta in (("additive", 0.0), ("projected", np.inf), ("restricted", DELTA)):
            found = restricted_projection_pursuit(
                X, Y, group_size=group_size, delta=delta, learned=learned, seed=seed
            )
            learned = found.learned if delta > 0.0 else learned
            best = sb.Posterior.at(found.model, X, Y, found.fit.values)
            yield row(method, group_size, best, alpha=found.alpha)
        labels = jnp.asarray(found.labels)
        groups: Any = lambda _, labels=labels: blocks(labels)  # noqa: E731
        model = AdditiveGP(projections(NEAR_IDENTITY, groups))
        posterior = sb.fit(model, X, Y, **LENGTH, show_progress_bar=False)
        yield row("restricted, sampled", group_size, posterior)


def draw(rows: list[dict], picture: Path) -> None:
    sizes = sorted({row["D"] for row in rows})
    figure = Figure(figsize=(9, 3.4 * len(sizes)), layout="tight")
    axes = figure.subplots(len(sizes), 2, squeeze=False)
    for axis, (num_dims, column) in zip(axes.flat, product(sizes, COLUMNS[:2]), strict=True):
        for method in dict.fromkeys(row["method"] for row in rows):
            ours = [row for row in rows if (row["D"], row["method"]) == (num_dims, method)]
            groups = sorted({row["d"] for row in ours})
            means = [np.mean([r[column] for r in ours if r["d"] == d]) for d in groups]
            axis.plot([str(d) for d in groups], means, "o-", label=method)
        axis.set(xlabel="group size", ylabel=f"held-out {column}", title=f"D = {num_dims}")
        axis.set_yscale("symlog" if column == "log density" else "linear")
    axes[0, 0].legend(fontsize=8)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--dims", type=int, nargs="+", default=[10, 50])
    options, rows = parser.parse_args(), []
    for num_dims, seed in product(options.dims, range(options.runs)):
        for row in study(num_dims, {10: 100, 50: 200}[num_dims], seed):
            rows.append(row)
            print(row, flush=True)
            with open(RESULTS / "projections.csv", "w", newline="") as file:
                table = csv.DictWriter(file, list(rows[0]))
                table.writeheader()
                table.writerows(rows)
            draw(rows, RESULTS / "projections.png")
