"""Message passing on the graphs of Rolland et al. 2018: CPU seconds, and gap to the best known.

    python examples/benchmarks/message_passing.py

The functions are sums of Gaussian-process samples of lengthscale 0.2 (random Fourier features), one
per edge. The gap, the largest of three functions, is in percent of the range: the best value known
minus the mean over random points. The best known value is the better one of the answer and a
reference, after a local search by L-BFGS-B. The reference is a finer exact grid, or other starts if
no exact grid fits.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass
from scipy.optimize import minimize

from structbo.maximizers import make_layout, max_sum, maximize_additive, table_bytes, triangulate

SIZES, RANDOM = (10, 20, 50), ((50, 75), (50, 100))
GRIDS = (2, 5), (3, 3), (4, 4), (4, 5), (5, 5), (5, 10)


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
        omega, phase = rng.normal(size=(*shape, 2)) / 0.2, rng.uniform(0.0, 2.0 * np.pi, shape)
        return cls(edges, omega, phase, rng.normal(size=shape) * np.sqrt(2.0 / num_features))

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
    loss = jax.jit(jax.value_and_grad(lambda x: -function(x[None])[0]))
    box = [(0.0, 1.0)] * len(x)
    return -minimize(lambda x: tuple(map(np.asarray, loss(x))), x, jac=True, bounds=box).fun


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """The result of a call, and its CPU time in all threads."""
    begin = time.process_time()
    return jax.block_until_ready(run()), time.process_time() - begin


def measure(name: str, graph: nx.Graph) -> None:
    """Prints one row of the table."""
    num_dims, levels, tree = len(graph), [None] * len(graph), triangulate(graph.adj)
    functions = [EdgeFunctions.sample(graph, seed) for seed in range(3)]
    size = partial(table_bytes, functions[0].scopes, num_dims, width=tree.treewidth)
    times, gaps, once = [], [], f"{'-':>13}"
    for function in functions:
        maximize = partial(maximize_additive, function, levels=levels)
        answer, seconds = timed(maximize)
        times.append(seconds)
        random = np.random.default_rng(1).uniform(size=(4096, num_dims))
        finer = next((g for g in (151, 51, 25, 17, 13) if size(num_grid=g) <= 2**27), None)
        other = {"num_grid": finer, "memory_budget": 2**27} if finer else {"start": random[:8]}
        known = max(polish(function, x) for x in (answer.x, maximize(**other).x))
        mean = float(function(jnp.asarray(random)).mean())
        gaps.append(100 * (known - answer.value) / (known - mean))
    points = next((g for g in (51, 41, 25, 17, 13, 9) if size(num_grid=g) <= 2**26), None)
    if points:
        tables = functions[0].tables(jnp.tile(jnp.linspace(0.0, 1.0, points), (num_dims, 1)))
        layout = make_layout(tree, functions[0].scopes, num_grid=points)
        run = partial(max_sum, tables, layout)
        once = f"{min(timed(run)[1] for _ in range(4)):8.4f} ({points:2})"
    print(f"{name:22}{tree.treewidth:5}  {answer.exact!s:5} {once} {times[0]:10.2f} "
          f"{min(times[1:]):9.3f} {max(gaps):9.3f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    print("                      tree-        max_sum (G)  maximize_additive  largest\n"
          "graph                 width exact            s   first s  best s    gap, %")  # fmt: skip
    for n in SIZES:
        measure(f"tree {n}", nx.random_labeled_tree(n, seed=0))
        measure(f"star {n}", nx.star_graph(n - 1))
        measure(f"path {n}", nx.path_graph(n))
    for a, b in GRIDS:
        measure(f"{a} x {b}", nx.convert_node_labels_to_integers(nx.grid_2d_graph(a, b)))
    for n, edges in RANDOM:
        measure(f"random {n}, {edges} edges", nx.gnm_random_graph(n, edges, seed=0))
