"""Additive upper confidence bounds over dependency graphs (Rolland et al. 2018)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, get_args

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from structbo.acquisition import AdditiveUCB, HalfLog, Iterations, Schedule
from structbo.data import Direction
from structbo.draws import Cycle, GibbsSearch
from structbo.maximizers import Maximizer
from structbo.models import (
    AdditiveGP,
    DirichletMultinomialPartition,
    FiniteUniform,
    Model,
    adjacency,
    cliques,
    edges,
    partitions,
)
from structbo.models.decomposition import Decomposition, Structure
from structbo.models.foundation.arguments import (
    check_fraction,
    check_positive,
    checked_choice,
    checked_count,
)
from structbo.models.foundation.precision import double_precision
from structbo.optimizer import Optimizer
from structbo.space import Space, SpaceLike

Known = Literal["overlap", "no overlap"]
"""Prior knowledge of a graph: any graph, or disjoint cliques only."""
Reading = Literal["length", "precision"]
"""Readings of the kernel matrix L = .2 I of the paper's experiments."""
LENGTHSCALES: dict[str, float] = {"length": 0.2, "precision": 0.2**-0.5}
"""The lengthscale of the paper's functions: .2, or 2.24 if ``L^-1`` has its square."""
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Possible lengthscales, relative to the lengthscale of a reading."""
NOISES = (1e-4, 1e-3, 1e-2, 1e-1)


def g_add_gp_ucb(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    graph: Known | ArrayLike = "overlap",
    max_groups: int | None = None,
    max_group_size: int | None = None,
    num_initial: int = 10,
    cycle: int = 30,
    num_gibbs: int = 200,
    beta: Schedule | float | None = None,
    edge_probability: float = 0.5,
    lengthscales: Reading | Sequence[float] = "length",
    noises: Sequence[float] = NOISES,
    standardize: bool = True,
    maximizer: str | Maximizer = "multi_start",
) -> Optimizer:
    """G-Add-GP-UCB: the most likely of some sampled dependency graphs, and additive bounds.

    Components are the maximal cliques of a graph, with variances in proportion to their sizes.
    `GibbsSearch` draws edges and lengthscales in turn, and the most likely draw is kept until the
    next cycle.

    The paper prints neither its sets of lengthscales nor its noise. Here a set has five values
    around the lengthscale of the paper's functions, and the noise is one more number on a finite
    set. The paper draws functions with the "lengthscale matrix" ``L = .2 I`` where
    ``L^-1 = diag(l)^2``: l is .2 if L holds lengthscales ("length"), and 2.24 by the formula
    ("precision"), which makes the functions nearly quadratic.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        seed: for all random choices.
        graph: "overlap" learns any graph; "no overlap" learns a partition, with the prior of Wang
            et al. 2017; an edge matrix (D, D) fixes the graph.
        max_groups: maximum number of groups without overlap (M), by default D.
        max_group_size: maximum size of a group without overlap; None for any.
        num_initial: size of the initial design.
        cycle: number of observations between updates of graph and hyper-parameters.
        num_gibbs: number of likelihoods per update.
        beta: exploration parameter of every component, by default half the logarithm of 2 t after
            t - 1 proposals of the model.
        edge_probability: prior probability of an edge.
        lengthscales: possible values of each lengthscale, in units of the ranges, or the reading
            of the paper's lengthscale that they surround. A single value is known.
        noises: possible noise variances, on the scale of the modeled values. A single value is
            known.
        standardize: whether values are standardized. The prior of the paper has mean 0 and
            variance 1 in the units of the objective; `False` keeps these.
        maximizer: maximizer of the bound, such as ``Direct(max_evaluations=1000)``, see `Settings`.

    Returns:
        The optimizer.

    Raises:
        ValueError: if the graph is neither a known name nor an edge matrix of the right shape,
            groups are bounded with overlap or cannot hold all dimensions, or a number is out of
            range.

    References:
        Rolland et al. 2018, algorithms 1 and 3, sections 4 and 5, tables 1 and 2.

    Example:
        >>> space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
        >>> graph, noise = [[0, 1], [1, 0]], 0.01
        >>> oracle = g_add_gp_ucb(
        ...     space, graph=graph, lengthscales=[0.2], noises=[noise], standardize=False
        ... )
    """
    space, cycle = Space(space), checked_count("cycle", cycle)
    check_fraction("edge_probability", edge_probability)
    known = _checked(graph, space.num_dims)
    bounds = _checked_bounds(known, space.num_dims, max_groups, max_group_size)
    model = AdditiveGP(
        _structure(known, edge_probability, *bounds),
        lengthscale=_finite("lengthscales", _lengthscales(lengthscales)),
        outputscale=_finite("outputscale", [1.0]),
        noise=_finite("noises", noises),
        categorical=space.categorical,
    )
    num_likelihoods = checked_count("num_gibbs", num_gibbs)
    labels = np.arange(space.num_dims, dtype=np.int32) % bounds[0]
    start = {"labels": labels} if known == "no overlap" else {}
    return Optimizer(
        space,
        direction,
        seed=seed,
        model=model,
        num_initial=num_initial,
        criterion=AdditiveUCB(Iterations(HalfLog(), num_initial) if beta is None else beta),
        maximizer=maximizer,
        inference=partial(_gibbs_search, num_likelihoods=num_likelihoods, start=start, cycle=cycle),
        standardize=standardize,
    )


def _checked(graph: str | ArrayLike, num_dims: int) -> str | tuple[tuple[int, ...], ...]:
    if isinstance(graph, str) and graph in get_args(Known):
        return graph
    matrix = np.asarray(graph)
    if matrix.shape != (num_dims, num_dims) or not bool(adjacency(matrix)):
        raise ValueError(
            'graph must be "overlap", "no overlap", or a symmetric 0/1 matrix of shape '
            f"({num_dims}, {num_dims}) with a zero diagonal, got {graph!r}."
        )
    return tuple(tuple(map(int, row)) for row in matrix)


def _checked_bounds(
    graph: str | tuple[tuple[int, ...], ...],
    num_dims: int,
    max_groups: int | None,
    max_group_size: int | None,
) -> tuple[int, int | None]:
    """The bounds of the number of groups and of their sizes."""
    if graph != "no overlap" and not max_groups is max_group_size is None:
        raise ValueError(
            'max_groups and max_group_size bound disjoint groups: give graph="no overlap" too.'
        )
    groups = num_dims if max_groups is None else checked_count("max_groups", max_groups)
    groups = min(groups, num_dims)
    if max_group_size is not None:
        size = checked_count("max_group_size", max_group_size)
        if groups * size <= num_dims:
            raise ValueError(
                f"max_groups={max_groups} groups of max_group_size={size} dimensions must have "
                f"room for more than the {num_dims} parameters, so that one can change its group: "
                "raise one of them."
            )
    return groups, max_group_size


def _lengthscales(given: Reading | Sequence[float]) -> Sequence[float]:
    if not isinstance(given, str):
        return given
    length = checked_choice("lengthscales", given, LENGTHSCALES, False, "[0.1, 0.2]")
    return [factor * length for factor in FACTORS]


def _finite(name: str, values: Sequence[float]) -> FiniteUniform:
    check_positive(name, np.asarray(values))
    with double_precision():
        return FiniteUniform(np.array(values, float))


def _structure(
    graph: str | tuple[tuple[int, ...], ...],
    edge_probability: float,
    max_groups: int,
    max_group_size: int | None,
) -> Structure:
    if isinstance(graph, tuple):
        return partial(_known_graph, edges=graph)
    if graph == "overlap":
        return edges(edge_probability, cliques)
    prior = partial(DirichletMultinomialPartition, num_groups=max_groups)
    return partitions(prior, max_group_size)


def _known_graph(num_dims: int, edges: tuple[tuple[int, ...], ...]) -> Decomposition:
    return cliques(jnp.array(edges))


def _gibbs_search(
    model: Model, seed: int, *, num_likelihoods: int, start: Mapping[str, np.ndarray], cycle: int
) -> Cycle:
    return Cycle(GibbsSearch(model, seed, num_likelihoods, start), cycle)
