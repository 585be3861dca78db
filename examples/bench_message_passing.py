"""Message passing on the graphs of Rolland et al. 2018: time, and gap to the best value known.

    python examples/bench_message_passing.py

The functions are sums of Gaussian-process samples of lengthscale 0.2 (random Fourier features), one
per edge. The gap is in percent of the range, the best value minus the mean over random points; the
best value known is the best of all answers here and of a finer exact grid, polished by L-BFGS-B.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass
from scipy.optimize import minimize

from structbo.maximizers import (
    dependency_graph,
    make_layout,
    max_sum,
    maximize_additive,
    table_bytes,
    triangulate,
)


@partial(register_dataclass, data_fields=["edges", "omega", "phase", "weight"], meta_fields=[])
@dataclass(frozen=True)
class EdgeFunctions:
    """A sum over edges of random Fourier features; an `AdditiveFunction`."""

    edges: np.ndarray
    omega: np.ndarray
    phase: np.ndarray
    weight: np.ndarray

    @classmethod
    def sample(cls, graph: nx.Graph, seed: int, num_features: int = 64) -> "EdgeFunctions":
        """Draws one Gaussian-process sample of lengthscale 0.2 per edge."""
        rng, edges = np.random.default_rng(seed), np.array(graph.edges)
        shape = (len(edges), num_features)
        return cls(
            edges,
            omega=rng.normal(size=(*shape, 2)) / 0.2,
            phase=rng.uniform(0.0, 2.0 * np.pi, shape),
            weight=rng.normal(size=shape) * np.sqrt(2.0 / num_features),
        )

    @property
    def scopes(self) -> tuple[np.ndarray, ...]:
        """One group: the edges."""
        return (self.edges,)

    def tables(self, grids: Array) -> tuple[Array, ...]:
        """One (G, G) table per edge."""
        first, second = jnp.moveaxis(grids[self.edges], 1, 0)
        wave_1 = jnp.exp(1j * (self.omega[..., :1] * first[:, None] + self.phase[..., None]))
        wave_2 = jnp.exp(1j * self.omega[..., 1:] * second[:, None])
        return (jnp.einsum("fm,fmi,fmj->fij", self.weight, wave_1, wave_2).real,)

    def __call__(self, x: Array) -> Array:
        """The sum at points (m, D)."""
        waves = jnp.cos(jnp.einsum("fma,nfa->nfm", self.omega, x[:, self.edges]) + self.phase)
        return jnp.einsum("fm,nfm->n", self.weight, waves)


def polish(function: EdgeFunctions, x: np.ndarray) -> float:
    """The local maximum that L-BFGS-B finds from a point."""
    value_and_grad = jax.jit(jax.value_and_grad(lambda x: -function(x[None])[0]))
    found = minimize(
        lambda x: tuple(map(np.asarray, value_and_grad(x))),
        x,
        jac=True,
        bounds=[(0.0, 1.0)] * len(x),
        options={"ftol": 1e-14},
    )
    return -float(found.fun)


def seconds(run: Callable[[], object]) -> tuple[float, float]:
    """Times of the first call, which compiles, and of the best of three more."""
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - begin)
    return times[0], min(times[1:])


def main() -> None:
    """Prints the table."""
    jax.config.update("jax_enable_x64", True)
    graphs = {
        **{f"tree {n}": nx.random_labeled_tree(n, seed=0) for n in (10, 20, 50)},
        **{f"star {n}": nx.star_graph(n - 1) for n in (10, 20, 50)},
        **{f"path {n}": nx.path_graph(n) for n in (10, 20, 50)},
        **{f"{a}x{b}": nx.grid_2d_graph(a, b) for a, b in ((2, 5), (3, 3), (4, 4), (4, 5), (5, 5))},
        "5x10": nx.grid_2d_graph(5, 10),
        "random 50, 75 edges": nx.gnm_random_graph(50, 75, seed=0),
        "random 50, 150 edges": nx.gnm_random_graph(50, 150, seed=0),
    }
    print("graph                 width exact   max_sum on G points   maximize_additive     gap")
    print("                                    (G) compile s   run s  compile s   run s  percent")
    for name, named in graphs.items():
        graph = nx.convert_node_labels_to_integers(named)
        function, num_dims = EdgeFunctions.sample(graph, seed=0), len(graph)
        tree = triangulate(dependency_graph(function.scopes, num_dims))

        def fits(points: int, budget: int, width: int = tree.treewidth) -> bool:
            size = table_bytes(function.scopes, num_dims, num_grid=points, width=width)
            return size <= budget

        line = f"{name:22}{tree.treewidth:3}"
        levels = [None] * num_dims
        maximize = partial(maximize_additive, function, levels=levels)
        first, again = seconds(lambda: maximize().value)
        answer = maximize()
        known = polish(function, answer.x)
        points = next((g for g in (51, 41, 25, 17, 13, 9) if fits(g, 2**26)), None)
        line += f"   {answer.exact!s:5}"
        if points is None:
            line += " " * 23 + "-"
        else:
            layout = make_layout(tree, function.scopes, num_grid=points)
            tables = function.tables(jnp.tile(jnp.linspace(0.0, 1.0, points), (num_dims, 1)))
            line += "   ({:2}) {:9.2f} {:7.4f}".format(
                points, *seconds(lambda: max_sum(tables, layout))
            )
        reference = next((g for g in (151, 65, 33, 25, 15, 13) if fits(g, 2**29)), None)
        if reference is not None:
            better = maximize(num_grid=reference, memory_budget=2**29)
            known = max(known, polish(function, better.x))
        random = np.random.default_rng(0).uniform(size=(4096, num_dims))
        gap = (known - answer.value) / (known - float(function(jnp.asarray(random)).mean()))
        print(f"{line} {first:10.2f} {again:7.3f}  {100 * gap:7.3f}", flush=True)


if __name__ == "__main__":
    main()
