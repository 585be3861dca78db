"""Additive upper confidence bounds over dependency graphs (Rolland et al. 2018)."""

from collections.abc import Sequence
from functools import partial
from typing import Literal, get_args

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from structbo.acquisition import AdditiveUCB, HalfLog, Schedule
from structbo.data import Direction
from structbo.draws import BestDraw, Chain, Cycle, sweeps_per_draw
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
from structbo.models.foundation.arguments import check_fraction, check_positive, checked_count
from structbo.models.foundation.precision import double_precision
from structbo.optimizer import Optimizer
from structbo.space import Space, SpaceLike

LENGTHSCALES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
NOISES = (1e-4, 1e-3, 1e-2, 1e-1)
Known = Literal["overlap", "no overlap"]
"""Prior knowledge of a graph: any graph, or disjoint cliques only."""


def g_add_gp_ucb(
    space: SpaceLike,
    direction: Direction = "minimize",
    *,
    seed: int = 0,
    graph: Known | ArrayLike = "overlap",
    num_initial: int = 10,
    cycle: int = 30,
    num_gibbs: int = 200,
    beta: Schedule | float = HalfLog(),
    edge_probability: float = 0.5,
    lengthscales: Sequence[float] = LENGTHSCALES,
    noises: Sequence[float] = NOISES,
) -> Optimizer:
    """G-Add-GP-UCB: the best of many sampled dependency graphs, and additive confidence bounds.

    Components are the maximal cliques of a graph, with variances in proportion to their sizes.
    Graph and hyper-parameters are drawn by Gibbs sampling, and the draw with the highest likelihood
    is kept until the next cycle.

    A Gibbs step here is a sweep over all sites; the paper counts likelihoods, and one sweep
    evaluates one per edge and per value of a hyper-parameter. The sampler continues from its last
    draw, the paper's from its best. The paper does not print its sets of lengthscales, and assumes
    that the noise is known: here the noise is one more parameter on a finite set.

    Args:
        space: the search space, or what `Space` accepts.
        direction: whether small or large values are good.
        seed: for all random choices.
        graph: "overlap" learns any graph; "no overlap" learns a partition, with the prior of Wang
            et al. 2017 and as many groups as dimensions; an edge matrix (D, D) fixes the graph, the
            paper's "Oracle" if it is the true one.
        num_initial: size of the initial design.
        cycle: number of observations between updates of graph and hyper-parameters.
        num_gibbs: sweeps of the sampler per update.
        beta: exploration parameter of every component.
        edge_probability: prior probability of an edge.
        lengthscales: possible values of each lengthscale, in units of the ranges.
        noises: possible noise variances, in units of the variance of the observations.

    Returns:
        The optimizer.

    Raises:
        ValueError: if the graph is neither a known name nor an edge matrix of the right shape.

    References:
        Rolland et al. 2018, sections 4 and 5, table 1 (beta, ``N_cyc``, ``N_Gibbs``).
    """
    space, cycle = Space(space), checked_count("cycle", cycle)
    check_fraction("edge_probability", edge_probability)
    check_positive("lengthscales", np.asarray(lengthscales))
    check_positive("noises", np.asarray(noises))
    spacing = sweeps_per_draw(space.num_dims)
    num_draws = -(-checked_count("num_gibbs", num_gibbs) // spacing)
    return Optimizer(
        space,
        direction,
        seed=seed,
        model=_model(
            _checked(graph, space.num_dims),
            edge_probability,
            tuple(lengthscales),
            tuple(noises),
            space.categorical,
        ),
        num_initial=num_initial,
        criterion=AdditiveUCB(beta),
        inference=partial(_best_draw, num_draws=num_draws, spacing=spacing, cycle=cycle),
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


def _model(
    graph: str | tuple[tuple[int, ...], ...],
    edge_probability: float,
    lengthscales: tuple[float, ...],
    noises: tuple[float, ...],
    categorical: tuple[int, ...],
) -> AdditiveGP:
    with double_precision():
        sets = (FiniteUniform(np.array(values)) for values in (lengthscales, [1.0], noises))
        lengthscale, outputscale, noise = sets
    return AdditiveGP(
        _structure(graph, edge_probability),
        lengthscale=lengthscale,
        outputscale=outputscale,
        noise=noise,
        categorical=categorical,
    )


def _structure(graph: str | tuple[tuple[int, ...], ...], edge_probability: float) -> Structure:
    if isinstance(graph, tuple):
        return partial(_known_graph, edges=graph)
    if graph == "overlap":
        return edges(edge_probability, cliques)
    return partitions(_as_many_groups_as_dimensions)


def _as_many_groups_as_dimensions(num_dims: int) -> DirichletMultinomialPartition:
    return DirichletMultinomialPartition(num_dims, num_dims)


def _known_graph(num_dims: int, edges: tuple[tuple[int, ...], ...]) -> Decomposition:
    return cliques(jnp.array(edges))


def _best_draw(model: Model, seed: int, *, num_draws: int, spacing: int, cycle: int) -> Cycle:
    return Cycle(BestDraw(model, Chain(model, num_draws, seed, spacing=spacing)), cycle)
