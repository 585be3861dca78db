"""Additive functions to maximize, with reference tables and values."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
from jax.tree_util import register_dataclass

from structbo.maximizers import dependency_graph, make_layout, triangulate


@partial(register_dataclass, data_fields=["scopes", "omega", "phase", "weight"], meta_fields=[])
@dataclass(frozen=True)
class Waves:
    """An additive function: a Gaussian-process sample per factor, by random Fourier features."""

    scopes: tuple
    omega: tuple
    phase: tuple
    weight: tuple
    num_features: ClassVar[int] = 32

    @classmethod
    def sample(cls, scopes, seed, lengthscale=0.2):
        rng = np.random.default_rng(seed)
        shapes = [(len(group), cls.num_features) for group in scopes]
        return cls(
            tuple(scopes),
            tuple(
                rng.normal(size=(*s, g.shape[1])) / lengthscale
                for s, g in zip(shapes, scopes, strict=True)
            ),
            tuple(rng.uniform(0.0, 2.0 * np.pi, s) for s in shapes),
            tuple(rng.normal(size=s) * np.sqrt(2.0 / cls.num_features) for s in shapes),
        )

    def tables(self, grids):
        def table(scope, omega, phase, weight):
            size, num_grid = len(scope), grids.shape[1]
            points = jnp.stack(jnp.meshgrid(*jnp.asarray(grids)[scope], indexing="ij"), -1)
            waves = jnp.cos(points.reshape(-1, size) @ omega.T + phase)
            return (waves @ weight).reshape((num_grid,) * size)

        groups = zip(self.scopes, self.omega, self.phase, self.weight, strict=True)
        return tuple(jax.vmap(table)(*group) for group in groups)

    def __call__(self, x):
        total = jnp.zeros(len(x))
        for scopes, omega, phase, weight in zip(
            self.scopes, self.omega, self.phase, self.weight, strict=True
        ):
            angle = jnp.einsum("fma,nfa->nfm", omega, x[:, scopes]) + phase
            total += jnp.einsum("fm,nfm->n", weight, jnp.cos(angle))
        return total


@jax.jit
def tabulated(function, grids):
    return function.tables(grids)


def value_of(function, x):
    """Values of `Waves` at points, without JAX."""
    total = np.zeros(len(x))
    for scopes, omega, phase, weight in zip(
        function.scopes, function.omega, function.phase, function.weight, strict=True
    ):
        angle = np.einsum("fma,nfa->nfm", omega, np.asarray(x)[:, scopes]) + phase
        total += np.einsum("fm,nfm->n", weight, np.cos(angle))
    return total


@partial(register_dataclass, data_fields=["target"], meta_fields=["formula"])
@dataclass(frozen=True)
class Formula:
    """One factor over variables 0 and 1, given by a formula of both and of a target."""

    target: float
    formula: Callable
    scopes: ClassVar[tuple] = (np.array([[0, 1]]),)

    def tables(self, grids):
        return (self.formula(grids[0][:, None], grids[1], self.target)[None],)

    def __call__(self, x):
        return self.formula(x[:, 0], x[:, 1], self.target)


def edge_function(graph, seed=0):
    graph = nx.convert_node_labels_to_integers(graph)
    return Waves.sample((np.array(graph.edges),), seed), [None] * len(graph)


def layout_for(scopes, num_dims, num_grid, width=None):
    tree = triangulate(dependency_graph(scopes, num_dims))
    return make_layout(tree, scopes, num_grid=num_grid, width=width)


def total_table(tables, scopes, num_dims, num_grid):
    """The sum over the whole grid, shape (G,) * D."""
    total = np.zeros((num_grid,) * num_dims)
    for group, group_tables in zip(scopes, tables, strict=True):
        for scope, table in zip(group, group_tables, strict=True):
            if scope[0] >= 0:
                order = np.argsort(scope)
                shape = [num_grid if v in scope else 1 for v in range(num_dims)]
                total += np.transpose(np.asarray(table), order).reshape(shape)
    return total
