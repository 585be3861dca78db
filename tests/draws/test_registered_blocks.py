"""Blocks registered after the compilation of a chain take part in the next chain."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from structbo import fit
from structbo.data import Data
from structbo.draws import Chain
from structbo.draws import chain as chain_module
from structbo.models import AdditiveGP, edges
from structbo.models.supports import Adjacency
from structbo.samplers import BLOCKS, StructureBlock

X = np.random.default_rng(0).random((6, 3))
Y = np.sin(6.0 * X[:, 0]) + X[:, 1]


class Complete(StructureBlock):
    """Sets every edge, independently of the data."""

    support = Adjacency

    def update(self, key, conditional, value):
        return jnp.ones_like(value) - jnp.eye(len(value), dtype=value.dtype), jnp.array(1.0)


def fitted(model: AdditiveGP) -> np.ndarray:
    steps = {"num_warmup": 2, "num_samples": 4, "num_chains": 1, "show_progress_bar": False}
    return np.asarray(fit(model, X, Y, **steps).draws["Z"])


def searched(model: AdditiveGP) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(Chain(model, 4, seed=0).advance(Data.padded(X, Y))["Z"])


@pytest.mark.filterwarnings("ignore::structbo.posterior.ConvergenceWarning")
@pytest.mark.parametrize("draws", [fitted, searched])
def test_a_block_registered_after_a_chain_was_compiled(draws, monkeypatch):
    monkeypatch.setattr(chain_module, "RUN_IN_SWEEPS", 2)
    model = AdditiveGP(edges(0.1), noise=dist.LogNormal(-2.0, 1.0))
    num_edges = draws(model).sum((-2, -1))
    assert num_edges.max() < 6
    with monkeypatch.context() as registry:
        registry.setitem(BLOCKS, Adjacency, Complete)
        assert (draws(model).sum((-2, -1)) == 6).all()
    np.testing.assert_array_equal(draws(model).sum((-2, -1)), num_edges)
