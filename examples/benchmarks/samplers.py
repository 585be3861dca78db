"""Time of edge moves and of the gradient of the evidence, relative to one Cholesky factorization.

    python examples/benchmarks/samplers.py

Times are of one thread, the best of several repeats; ratios are within one run.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro import handlers
from numpyro.infer.util import log_density

from structbo.models import AdditiveGP, Residual, cliques, edges, pairs, squared_exponential
from structbo.samplers import EdgeGibbs
from structbo.samplers.conditional import Conditional
from structbo.samplers.edge_gains import flip_gains

numpyro.enable_x64()
FLIPS = tuple(product((10, 20, 50), (128, 256, 512)))
GRADIENTS = ((10, 200), (20, 200), (50, 384))


def seconds(function: Callable[..., Any], *args: Any, repeats: int = 7) -> float:
    """The best time of a compiled call."""
    jax.block_until_ready(function(*args))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(function(*args))
        times.append(time.perf_counter() - start)
    return min(times)


def cholesky_seconds(n: int) -> float:
    """One Cholesky of an n x n matrix, inside a compiled loop."""
    points = jnp.linspace(0.0, 1.0, n)
    gram = jnp.exp(-jnp.abs(points[:, None] - points)) + jnp.eye(n)

    def chained(_: Any, shift: jax.Array) -> jax.Array:
        return 1e-9 * jnp.linalg.cholesky(gram + shift)[-1, -1]

    return seconds(jax.jit(lambda: jax.lax.fori_loop(0, 100, chained, 0.0))) / 100


def problem(num_dims: int, n: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Points, observations and a random graph with D / 2 edges."""
    rng = np.random.default_rng(0)
    x = rng.random((n, num_dims))
    y = np.sin(5 * x[:, 0] * x[:, 1]) + 0.1 * rng.standard_normal(n)
    upper = np.triu_indices(num_dims, 1)
    chosen = rng.choice(len(upper[0]), num_dims // 2, replace=False)
    graph = np.zeros((num_dims, num_dims), np.int32)
    graph[upper[0][chosen], upper[1][chosen]] = 1
    return jnp.asarray(x), jnp.asarray(y), jnp.asarray(graph + graph.T)


def flips(num_dims: int, n: int, components: Any) -> None:
    """Time per edge that EdgeGibbs visits, and of the gains of all flips."""
    x, y, graph = problem(num_dims, n)
    values = {"lengthscale": jnp.full(num_dims, 0.5), "outputscale": 1.0, "noise": 0.01}
    model = handlers.condition(AdditiveGP(edges(None, components)), values)

    @partial(jax.jit, static_argnums=1)
    def sweep(graph: Any, num_moves: int) -> Any:
        conditional = Conditional(model, "Z", graph, (x, y), {})
        return EdgeGibbs(model, num_moves).update(jax.random.key(0), conditional, graph)

    @jax.jit
    def gains(graph: Any) -> Any:
        conditional = Conditional(model, "Z", graph, (x, y), {})
        return flip_gains(conditional, conditional.start(graph, with_solution=True))

    flip = (seconds(sweep, graph, 200) - seconds(sweep, graph, 10)) / 190
    name, ratio = f"{components.__name__:>10} {num_dims:>3} {n:>4}", flip / cholesky_seconds(n)
    print(
        f"{name} {1e3 * flip:>8.3f} {ratio:>7.2f} {1e3 * seconds(gains, graph):>10.2f}", flush=True
    )


def gradients(num_dims: int, n: int, components: Any, residual: Residual | None) -> None:
    """Time of the log density with its gradient by the hyper-parameters."""
    x, y, graph = problem(num_dims, n)
    model = AdditiveGP(edges(None, components), squared_exponential, residual=residual)
    sites = {"lengthscale": jnp.full(num_dims, 0.5), "outputscale": 1.0, "noise": 0.01}
    if residual is not None:
        sites |= {"rho": 0.3, "kappa": 2.0}

    @jax.jit
    @jax.value_and_grad
    def density(sites: Any) -> Any:
        return log_density(model, (x, y), {}, sites | {"Z": graph})[0]

    both = seconds(density, sites)
    name = f"{components.__name__:>10} {residual is not None!s:>8} {num_dims:>3} {n:>4}"
    print(f"{name} {1e3 * both:>7.2f} {both / cholesky_seconds(n):>7.1f}", flush=True)


if __name__ == "__main__":
    print(f"{'components':>10} {'D':>3} {'n':>4} {'flip ms':>8} {'/ chol':>7} {'gains ms':>10}")
    for components, size in product((pairs, cliques), FLIPS):
        flips(*size, components)
    print(f"\n{'components':>10} {'residual':>8} {'D':>3} {'n':>4} {'v+g ms':>7} {'/ chol':>7}")
    for size, residual, components in product(GRADIENTS, (None, Residual()), (pairs, cliques)):
        gradients(*size, components, residual)
