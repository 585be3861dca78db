"""The problems of the searches by name; a seed draws the random ones."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from papers.problems import comparison_problems, embedded, functions, rducb_problems
from papers.problems.graph_functions import GRID, STAR, GraphGP, Pairs
from papers.problems.problem import Problem
from papers.problems.real_tasks import FOLDERS, cosmology_among, real_task

Maker = Callable[[int, Path | None], Problem]
"""Makes a problem from a seed and the folder of the data."""


def on_graph(pairs: Pairs, lengthscale: float, seed: int, data: Path | None) -> Problem:
    """A function on a graph (Rolland et al. 2018)."""
    num_dims = 1 + max(max(pair) for pair in pairs)
    drawn = GraphGP(num_dims, pairs, lengthscale, seed)
    truth = {"graph": drawn.edges, "lengthscales": (lengthscale,)}
    return Problem(
        lambda x: float(drawn(x)), [(0.0, 1.0)] * num_dims, maximum=drawn.maximum, truth=truth
    )


def styblinski_tang(seed: int, data: Path | None, num_dims: int = 10) -> Problem:
    """Every parameter is a part of the true partition (Gardner et al. 2017)."""
    return Problem(
        lambda x: -float(functions.styblinski_tang(x)),
        [(-4.0, 4.0)] * num_dims,
        maximum=39.16616570377142 * num_dims,
        truth={"labels": range(num_dims)},
    )


def transformed_styblinski_tang(seed: int, data: Path | None, num_dims: int = 10) -> Problem:
    """Each block of a random partition is rotated (Gardner et al. 2017).

    The minimum of the function of a block is inside the domain of some rotations only. The maximum
    here ignores the domain, so that all regrets of a seed may have the same excess.
    """
    rng = np.random.default_rng([seed, 4])
    labels = rng.integers(0, 4, num_dims)
    Q = np.zeros((num_dims, num_dims))
    for label in set(labels.tolist()):
        block = np.flatnonzero(labels == label)
        Q[np.ix_(block, block)] = np.linalg.qr(rng.normal(size=(len(block), len(block))))[0]
    return Problem(
        lambda x: -float(functions.styblinski_tang(Q @ x)),
        [(-4.0, 4.0)] * num_dims,
        maximum=39.16616570377142 * num_dims,
        truth={"labels": labels.tolist()},
    )


def michalewicz(seed: int, data: Path | None) -> Problem:
    """Ten parameters, each a part of the true partition (Gardner et al. 2017)."""
    return Problem(
        lambda x: -float(functions.michalewicz(x)),
        [(0.0, np.pi)] * 10,
        maximum=9.660151714785039,
        truth={"labels": range(10)},
    )


def projected_mixture(num_dims: int, spread: float, seed: int, data: Path | None) -> Problem:
    """Two log mixtures of D / 2 projections each (Li et al. 2016, section 5.1).

    The paper does not print its modes: here they are images of random points of the cube.
    """
    rng = np.random.default_rng([seed, num_dims, 3])
    A = np.eye(num_dims) + rng.uniform(-spread, spread, (num_dims, num_dims))
    places = rng.uniform(0.1, 0.9, (3, num_dims))
    modes = np.split(places @ A, 2, axis=1)

    def function(x: np.ndarray) -> float:
        groups = zip(np.split(x @ A, 2), modes, strict=True)
        return float(sum(functions.log_mixture(z, m) for z, m in groups))

    return Problem(function, [(0.0, 1.0)] * num_dims, maximum=function(places[2]))


def on_data(name: str, seed: int, data: Path | None) -> Problem:
    """A real task, which has no random part."""
    return real_task(name, data)


PROBLEMS: dict[str, Maker] = {
    "star": partial(on_graph, STAR, 0.2),
    "grid": partial(on_graph, GRID, 0.2),
    "star, lengthscale 2.24": partial(on_graph, STAR, 5**0.5),
    "grid, lengthscale 2.24": partial(on_graph, GRID, 5**0.5),
    "Styblinski-Tang": styblinski_tang,
    "transformed Styblinski-Tang": transformed_styblinski_tang,
    "Michalewicz": michalewicz,
    "mixture, D = 50": partial(projected_mixture, 50, 0.25),
    "mixture, D = 100": partial(projected_mixture, 100, 0.125),
    "cosmology among 40": partial(cosmology_among, 40),
    "GP": partial(embedded.few_active, embedded.gp_sample),
    "Quad": partial(embedded.few_active, embedded.QUAD),
    "QuadMix": partial(embedded.few_active, embedded.QUAD_MIX),
    "Branin": partial(embedded.few_active, embedded.BRANIN),
    "random graph": comparison_problems.random_graph,
    "additive": comparison_problems.additive,
    "Styblinski-Tang, scaled": comparison_problems.styblinski_tang,
    "Hartmann-6": comparison_problems.hartmann,
    "rotated": comparison_problems.rotated,
    "Hartmann-6 among 20": rducb_problems.hartmann,
    "Rosenbrock, D = 20": rducb_problems.rosenbrock,
    "Styblinski-Tang, D = 100": rducb_problems.styblinski_tang,
    **{name: partial(on_data, name) for name in FOLDERS},
}
