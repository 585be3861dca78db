"""Message passing on the graphs of Rolland et al. 2018: time, and gap to the best value known.

    python examples/bench_message_passing.py

The functions are sums of Gaussian-process samples of lengthscale 0.2 (random Fourier features), one
per edge. The gap, the largest of three functions, is in percent of the range: the best value known
minus the mean over random points. The best value known is the better of the answer and that of a
finer exact grid, or of other starts where there is none, after a local search by L-BFGS-B.
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
    loss = jax.jit(jax.value_and_grad(lambda x: -function(x[None])[0]))
    box = [(0.0, 1.0)] * len(x)
    return -minimize(lambda x: tuple(map(np.asarray, loss(x))), x, jac=True, bounds=box).fun


def seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """The least time of a few calls, after one that compiles."""
    times = []
    for _ in range(1 + repeats):
        begin = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - begin)
    return min(times[1:])


def measure(name: str, graph: nx.Graph) -> None:
    """Prints one row of the table."""
    num_dims, levels = len(graph), [None] * len(graph)
    functions = [EdgeFunctions.sample(graph, seed) for seed in range(3)]
    scopes = functions[0].scopes
    tree = triangulate(dependency_graph(scopes, num_dims))

    def finest(grids: tuple[int, ...], budget: int) -> int | None:
        size = partial(table_bytes, scopes, num_dims, width=tree.treewidth)
        return next((points for points in grids if size(num_grid=points) <= budget), None)

    begin = time.perf_counter()
    answers = [maximize_additive(function, levels=levels) for function in functions]
    first = time.perf_counter() - begin
    again = seconds(lambda: maximize_additive(functions[0], levels=levels).value, repeats=1)

    once = f"{'-':>13}"
    if points := finest((51, 41, 25, 17, 13, 9), 2**26):
        tables = functions[0].tables(jnp.tile(jnp.linspace(0.0, 1.0, points), (num_dims, 1)))
        layout = make_layout(tree, scopes, num_grid=points)
        once = f"{seconds(lambda: max_sum(tables, layout)):8.4f} ({points:2})"

    gaps = []
    for function, answer in zip(functions, answers, strict=True):
        random = np.random.default_rng(0).uniform(size=(4096, num_dims))
        finer = {"num_grid": finest((151, 51, 25, 17, 13), 2**28), "memory_budget": 2**28}
        other = finer if finer["num_grid"] else {"start": random[:8]}
        rivals = [answer.x, maximize_additive(function, levels=levels, **other).x]
        known = max(polish(function, x) for x in rivals)
        mean = float(function(jnp.asarray(random)).mean())
        gaps.append(100 * (known - answer.value) / (known - mean))
    print(f"{name:20}{answers[0].treewidth:6}  {answers[0].exact!s:5} {once} {first:8.2f} "
          f"{again:8.3f}    {max(gaps):6.3f}", flush=True)  # fmt: skip


def main() -> None:
    """Prints the table."""
    jax.config.update("jax_enable_x64", True)
    print("                      tree-        max_sum (G) maximize_additive       gap")
    print("graph                 width exact            s  first 3 s  again s  max, %")
    for n in (10, 20, 50):
        measure(f"tree {n}", nx.random_labeled_tree(n, seed=0))
        measure(f"star {n}", nx.star_graph(n - 1))
        measure(f"path {n}", nx.path_graph(n))
    for a, b in ((2, 5), (3, 3), (4, 4), (4, 5), (5, 5), (5, 10)):
        measure(f"{a}x{b}", nx.convert_node_labels_to_integers(nx.grid_2d_graph(a, b)))
    for edges in (75, 100):
        measure(f"random 50, {edges} edges", nx.gnm_random_graph(50, edges, seed=0))


if __name__ == "__main__":
    main()
