"""Stubs for parts that other tests cover and that take long to compile.

Random points replace maxima of an acquisition, and prior draws replace Hamiltonian trajectories;
chains over finite sets run.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from numpyro.infer.gibbs import latent_sample_sites
from recipe_runs import Call

from structbo.data import NO_WARPING, Data, Warping
from structbo.draws import BestDraw, Chain, Fitted, chain
from structbo.models import FiniteUniform


class Unconditioned(NamedTuple):
    """The parts of posteriors."""

    model: Any
    draws: Any
    data: Data
    num_inducing: None = None


def unwarped(state: jax.Array, data: Data) -> tuple[Data, Warping]:
    return data, NO_WARPING


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """The calls of a stub search, which returns random points given prior draws."""
    noted: list[Call] = []
    compiled = chain.compiled_sampler

    def search(situation, num_points, key, criterion, strategy, maximizer):
        model, draws, data, _ = situation.posteriors
        noted.append(Call(model, draws, data, criterion, strategy))
        seeds = jax.random.split(key, num_points)
        return [np.asarray(jax.random.uniform(k, (4, data.x.shape[1]))) for k in seeds], None

    def sampler(model, *rest):
        is_finite = isinstance(model.lengthscale, FiniteUniform)
        if is_finite:
            return compiled(model, *rest)
        return chain.CompiledSampler(first_key, sweep(model), unwarped)

    def first_key(keys, data):
        """The first of the keys; an accelerator has one per chain."""
        return keys.ravel()[0]

    def sweep(model):
        def draw(key, data):
            trace = handlers.trace(handlers.seed(model, key)).get_trace(data.x[:1], data.y[:1])
            return {name: trace[name]["value"] for name in latent_sample_sites(trace)}

        def sweep(key, data, num_draws, spacing, num_adapting):
            key, *keys = jax.random.split(key, num_draws + 1)
            draws = [draw(one, data) for one in keys]
            return key, jax.tree.map(lambda *values: jnp.stack(values), *draws)

        return sweep

    monkeypatch.setattr(chain, "compiled_sampler", sampler)
    monkeypatch.setattr("structbo.optimizer.engine.programs", lambda *_, **__: iter(()))
    monkeypatch.setattr("structbo.optimizer.engine.Posteriors.of", Unconditioned)
    monkeypatch.setattr("structbo.optimizer.engine.propose", search)
    return noted


@pytest.fixture
def unlearned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disables sampling and fitting, for tests of the arguments and values of an optimizer."""
    for source in (BestDraw, Chain, Fitted):
        monkeypatch.setattr(source, "advance", lambda self, data: {})
