"""Stubs for parts that other tests cover and that take long to compile.

Random points replace maxima of an acquisition, and prior draws replace Markov chains.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from numpyro.infer.gibbs import latent_sample_sites
from recipe_runs import Call

from structbo.data import NO_WARPING, Data
from structbo.draws import Chain, Fitted, GibbsSearch, chain
from structbo.draws.driver import Driver
from structbo.samplers import ChainState, Stage


class Unconditioned(NamedTuple):
    """The parts of posteriors."""

    model: Any
    draws: Any
    data: Data
    num_inducing: None = None


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """The calls of a stub search, which returns random points given prior draws."""
    noted: list[Call] = []

    def search(situation, num_points, key, criterion, strategy, maximizer):
        model, draws, data, _ = situation.posteriors
        noted.append(Call(model, draws, data, criterion, strategy))
        seeds = jax.random.split(key, num_points)
        return [np.asarray(jax.random.uniform(k, (4, data.x.shape[1]))) for k in seeds], None

    def driver(model, *rest, **options):
        return Driver(start, run(model))

    def start(keys, arguments):
        """The first of the keys; an accelerator has one per chain."""
        return ChainState({}, (), Stage.of(0), {}, keys.ravel()[0])

    def run(model):
        def draw(key, arguments):
            x, y = arguments.args
            trace = handlers.trace(handlers.seed(model, key)).get_trace(x[:1], y[:1])
            return {name: trace[name]["value"] for name in latent_sample_sites(trace)}

        def run(state, arguments, num_draws, spacing):
            key, *keys = jax.random.split(state.rng_key, num_draws + 1)
            draws = [draw(one, arguments) for one in keys]
            stacked = jax.tree.map(lambda *values: jnp.stack(values), *draws)
            return state._replace(z=draws[-1], rng_key=key), stacked, {}

        return run

    monkeypatch.setattr(Driver, "of", driver)
    monkeypatch.setattr(chain, "_warp", lambda model, draw, data: (data, NO_WARPING))
    monkeypatch.setattr("structbo.optimizer.engine.programs", lambda *_, **__: iter(()))
    monkeypatch.setattr("structbo.optimizer.engine.Posteriors.of", Unconditioned)
    monkeypatch.setattr("structbo.optimizer.engine.propose", search)
    return noted


@pytest.fixture
def unlearned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disables sampling and fitting, for tests of the arguments and values of an optimizer."""
    for source in (Chain, Fitted, GibbsSearch):
        monkeypatch.setattr(source, "advance", lambda self, data: {})
