"""Regret of structbo and of BoTorch's default on random functions, seed by seed.

    python examples/benchmarks/paired.py --bench ../shared/bench --seeds 0 1 2 3 4 5 6 7 8 9

or of two others of METHODS. Settings such as the criterion are chosen on seeds from 100 up; those
below say what they are worth. With the true graph known there is no structure to learn.

Functions are draws from Gaussian processes that are sums over the edges of a graph, by
``GraphGP`` of the folder's ``problems.py``: a star, a grid, a random graph of 15 variables; and one
whose directions are no axes. With the model known, not only the graph but also the kernel and the
noise are those of the function. Both methods are told the same 20 Sobol points, with noise of 1 %
of the range. Every run is a row of results/paired.csv; what is printed are medians, and the
logarithm of the first method's regret over the second's of the same seed, with Wilcoxon's
signed-rank test. ``GraphGP`` notes the optima that it finds in the folder, which must be one that
can be written.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import jax.numpy as jnp
import numpy as np
from methods import BoTorch, Structbo
from posterior_data import MODEL
from random_functions import problem_of
from runs import Runs, parser
from scipy.stats import qmc, wilcoxon

BUDGETS = {"star10": 100, "grid9": 100, "graph15": 100, "rotated10": 200}
COUNTS = (50, 100, 200)
NUM_INITIAL = 20
LENGTHSCALE = 0.2
"""Of the kernels that graphs' functions are drawn with."""


def with_known_graph(problem: Any, seed: int) -> Structbo:
    """The model of main effects and pairs, whose edges are certain."""
    from structbo.models import AdditiveGP, edges

    graph = np.zeros((problem.D, problem.D))
    for i, j in problem.structure:
        graph[i, j] = graph[j, i] = 1.0
    return Structbo(problem.D, seed=seed, model=AdditiveGP(edges(graph)))


def with_known_model(problem: Any, seed: int) -> Structbo:
    """The process that the function is drawn from, but for its variance and the noise."""
    from numpyro.distributions import LogNormal

    from structbo.models import AdditiveGP

    members = np.zeros((len(problem.structure), problem.D), bool)
    for row, edge in zip(members, problem.structure, strict=True):
        row[list(edge)] = True
    model = AdditiveGP(
        partial(components, members),
        lengthscale=LogNormal(np.log(LENGTHSCALE), 0.02),
        outputscale=LogNormal(0.0, 0.3),
        noise=LogNormal(np.log(1e-3), 0.5),
    )
    return Structbo(problem.D, seed=seed, model=model, warp=False)


def components(members: np.ndarray, num_dims: int) -> Any:
    """A decomposition that is certain, without main effects."""
    from structbo.models import Decomposition

    weights = np.full(len(members), 1.0 / len(members))
    return Decomposition(jnp.asarray(members), jnp.asarray(weights), jnp.array(True))


def with_independent_lengthscales(problem: Any, seed: int) -> Structbo:
    """The default model with a prior under which no lengthscale tells anything of another."""
    return Structbo(problem.D, seed=seed, model=MODEL)


def with_matern(problem: Any, seed: int) -> Structbo:
    """The default model with a kernel of rougher functions."""
    from structbo.models import AdditiveGP, Residual, matern52

    model = AdditiveGP(kernel=matern52, residual=Residual())
    return Structbo(problem.D, seed=seed, model=model)


METHODS: dict[str, Callable[[Any, int], Structbo | BoTorch]] = {
    "structbo": lambda problem, seed: Structbo(problem.D, seed=seed),
    "log_eqi": lambda problem, seed: Structbo(problem.D, seed=seed, criterion="log_eqi"),
    "independent": with_independent_lengthscales,
    "known_graph": with_known_graph,
    "known_model": with_known_model,
    "matern52": with_matern,
    "BoTorch": lambda problem, seed: BoTorch(problem.D, seed=seed),
}


def regret(family: str, seed: int, method: str) -> np.ndarray:
    """Regret of the best point so far after each evaluation, shape (budget,)."""
    problem = problem_of(family, seed)
    noise = np.random.default_rng([seed, 987])
    median = np.median(problem(qmc.Sobol(problem.D, seed=12345).random_base2(12)))
    deviation = 0.01 * (problem.f_opt - median)
    running = METHODS[method](problem, seed)
    points = list(qmc.Sobol(problem.D, seed=seed).random_base2(5)[:NUM_INITIAL])
    for n in range(BUDGETS[family]):
        if n >= NUM_INITIAL:
            points += running.ask(1)
        value = problem(points[n][None])[0] + deviation * noise.standard_normal()
        running.tell(points[n], float(value))
    return np.asarray(problem.f_opt - np.maximum.accumulate(problem(np.array(points))))


def show(family: str, runs: Runs, methods: Sequence[str], seeds: Sequence[int]) -> None:
    print(f"\n{family:<20}", *(f"{n:>8}" for n in COUNTS), " seeds")
    found = [
        np.array([runs.rows[family, method, str(seed)] for seed in seeds]) for method in methods
    ]
    for method, values in zip(methods, found, strict=True):
        print(f"  {method:<18}", *(f"{v:>8.3g}" for v in np.median(values, axis=0)), len(values))
    ratios = np.log(found[0] / found[1])
    for n, ratio in zip(COUNTS, ratios.T, strict=True):
        if np.isfinite(ratio).all() and len(seeds) > 1:
            error = ratio.std(ddof=1) / np.sqrt(len(seeds))
            p = wilcoxon(ratio).pvalue
            print(f"  log ratio at {n}: {ratio.mean():.2f} +- {error:.2f}, p = {p:.2g}")


def main() -> None:
    options = parser(__doc__.splitlines()[0], "paired.csv", list(BUDGETS), BUDGETS)
    options.add_argument("--methods", nargs=2, choices=METHODS, default=["structbo", "BoTorch"])
    arguments = options.parse_args()
    sys.path.append(str(arguments.bench))
    runs = Runs(arguments.results, ("problem", "method", "seed"), tuple(map(str, COUNTS)))
    for seed, family, method in product(arguments.seeds, arguments.problems, arguments.methods):
        if (family, method, seed) in runs:
            continue
        curve = regret(family, seed, method)
        runs.add(
            (family, method, seed), [curve[n - 1] if n <= len(curve) else np.nan for n in COUNTS]
        )
    for family in arguments.problems:
        show(family, runs, arguments.methods, arguments.seeds)


if __name__ == "__main__":
    main()
