"""Time of edge moves and of the evidence's gradient, in units of one Cholesky of the same size.

    python examples/bench_samplers.py

One thread; each figure is the best of several repeats, and ratios are taken inside one run.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro import handlers
from numpyro.infer.util import log_density

from structbo.models import AdditiveGP, Residual, cliques, edges, pairs
from structbo.samplers import EdgeGibbs
from structbo.samplers.conditional import Conditional
from structbo.samplers.informed_edges import first_order_gains

numpyro.enable_x64()
NUM_FLIPS = 200


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


def parameters(num_dims: int) -> dict[str, Any]:
    return {
        "lengthscale": jnp.full(num_dims, 0.5),
        "outputscale": jnp.array(1.0),
        "noise": jnp.array(0.01),
    }


def flips() -> None:
    print("Edge moves. flip: EdgeGibbs, time per edge visited; scores: first order, all flips")
    print(f"{'components':>10} {'D':>3} {'n':>4} {'flip ms':>8} {'/ chol':>7} {'scores ms':>10}")
    for components in (pairs, cliques):
        for num_dims in (10, 20, 50):
            for n in (128, 256, 512):
                x, y, graph = problem(num_dims, n)
                model = handlers.condition(
                    AdditiveGP(edges(None, components)), parameters(num_dims)
                )

                def sweep(
                    key: Any, z: Any, count: int, model: Any = model, xy: Any = (x, y)
                ) -> Any:
                    conditional = Conditional(model, "Z", z, xy, {})
                    return EdgeGibbs(model, count).update(key, conditional, z)

                def scores(z: Any, model: Any = model, xy: Any = (x, y)) -> Any:
                    conditional = Conditional(model, "Z", z, xy, {})
                    return first_order_gains(conditional, conditional.start(z))

                compiled = jax.jit(sweep, static_argnums=2)
                key = jax.random.key(0)
                few, many = (seconds(compiled, key, graph, k) for k in (10, NUM_FLIPS))
                flip = (many - few) / (NUM_FLIPS - 10)
                gains = seconds(jax.jit(scores), graph)
                print(
                    f"{components.__name__:>10} {num_dims:>3} {n:>4} {1e3 * flip:>8.3f} "
                    f"{flip / cholesky_seconds(n):>7.2f} {1e3 * gains:>10.2f}",
                    flush=True,
                )


def gradients() -> None:
    print("\nValue and gradient of the log density")
    print(f"{'components':>10} {'residual':>8} {'D':>3} {'n':>4} {'ms':>7} {'/ chol':>7}")
    for num_dims, n in ((10, 200), (20, 200), (50, 384)):
        x, y, graph = problem(num_dims, n)
        for residual in (None, Residual()):
            for components in (pairs, cliques):
                model = AdditiveGP(edges(None, components), residual=residual)
                sites = parameters(num_dims)
                if residual is not None:
                    sites |= {"rho": jnp.array(0.3), "kappa": jnp.array(2.0)}

                def density(sites: Any, z: Any, model: Any = model, xy: Any = (x, y)) -> Any:
                    return log_density(model, xy, {}, sites | {"Z": z})[0]

                time_both = seconds(jax.jit(jax.value_and_grad(density)), sites, graph)
                print(
                    f"{components.__name__:>10} {residual is not None!s:>8} {num_dims:>3} {n:>4} "
                    f"{1e3 * time_both:>7.2f} {time_both / cholesky_seconds(n):>7.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    flips()
    gradients()
