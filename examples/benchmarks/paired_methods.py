"""The methods that `paired.py` compares on random functions."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from methods import BoTorch, Structbo
from numpyro.distributions import LogNormal
from posterior_model import MODEL, THREE_QUARTERS

import structbo as sb
from structbo.models import AdditiveGP, Decomposition, Residual, edges, matern52

LENGTHSCALE = 0.2
"""Lengthscale of the kernels of the functions on graphs."""
ROUGH = AdditiveGP(kernel=matern52, residual=Residual())
"""The default model with a kernel of rougher functions."""


def plain(problem: Any, seed: int, **settings: Any) -> Structbo:
    """structbo with plain log expected improvement, with which all models are compared."""
    return Structbo(problem.D, seed=seed, criterion="log_ei", **settings)


def with_known_graph(problem: Any, seed: int) -> Structbo:
    """The model of main effects and pairs with known edges."""
    graph = np.zeros((problem.D, problem.D))
    for i, j in problem.structure:
        graph[i, j] = graph[j, i] = 1.0
    return plain(problem, seed, model=AdditiveGP(edges(graph)))


def with_known_model(problem: Any, seed: int) -> Structbo:
    """The process that the function is drawn from, with unknown variance and noise."""
    members = np.zeros((len(problem.structure), problem.D), bool)
    for row, edge in zip(members, problem.structure, strict=True):
        row[list(edge)] = True
    model = AdditiveGP(
        partial(components, members),
        lengthscale=LogNormal(np.log(LENGTHSCALE), 0.02),
        outputscale=LogNormal(0.0, 0.3),
        noise=LogNormal(np.log(1e-3), 0.5),
    )
    return plain(problem, seed, model=model, warp=False)


def components(members: np.ndarray, num_dims: int) -> Any:
    """A fixed decomposition without main effects."""
    weights = np.full(len(members), 1.0 / len(members))
    return Decomposition(jnp.asarray(members), jnp.asarray(weights), jnp.array(True))


METHODS: dict[str, Callable[[Any, int], Structbo | BoTorch]] = {
    "structbo": lambda problem, seed: Structbo(problem.D, seed=seed),
    "log_ei": plain,
    "log_eqi": lambda problem, seed: Structbo(problem.D, seed=seed, criterion="log_eqi"),
    "anova_model": lambda problem, seed: plain(
        problem, seed, model=sb.anova_model([(0.0, 1.0)] * problem.D)
    ),
    "independent": partial(plain, model=MODEL),
    "three_quarters": partial(plain, model=THREE_QUARTERS),
    "known_graph": with_known_graph,
    "known_model": with_known_model,
    "matern52": partial(plain, model=ROUGH),
    "BoTorch": lambda problem, seed: BoTorch(problem.D, seed=seed),
}
