"""Gibbs sampling on finite sets against the enumerated posterior."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers

from structbo.models import AdditiveGP, FiniteUniform, edges
from structbo.samplers import GridGibbs

VALUES = [0.1, 0.4, 1.5]


def lengthscale_model() -> AdditiveGP:
    """Rolland et al. 2018, section 4: every lengthscale is uniform over a set."""
    model = AdditiveGP(edges(0.5), lengthscale=FiniteUniform(VALUES))
    fixed = {"Z": jnp.array([[0, 1], [1, 0]]), "outputscale": 1.0, "noise": 0.2}
    return handlers.condition(model, data={name: jnp.asarray(v) for name, v in fixed.items()})


def switch_model(x, y=None):
    """Discrete sites of another kind, and a likelihood of another kind."""
    switches = dist.Categorical(jnp.array([0.5, 0.3, 0.2])).expand([2]).to_event(1)
    choice = numpyro.sample("lengthscale", switches)
    numpyro.sample("y", dist.Normal(x @ choice, 1.0).to_event(1), obs=y)


@pytest.mark.parametrize(
    ("model", "levels"),
    [(lengthscale_model(), VALUES), (switch_model, [0, 1, 2])],
    ids=["lengthscales", "other likelihood"],
)
def test_frequencies(model, levels, effort, data, posterior_over, run_block, check_frequencies):
    args = data(6, 2)
    grid = jnp.array(list(product(levels, repeat=2)))
    posterior = posterior_over(model, args, "lengthscale", grid)
    assert 0.15 < posterior.max() < 0.9
    starts = jnp.tile(grid[:1], (20, 1))
    num_steps = 20 + int(2000 * effort)
    draws = run_block(GridGibbs(model), args, "lengthscale", starts, num_steps)[:, 20:]
    assert np.isin(draws, grid).all()
    check_frequencies(draws, grid, posterior)


def test_diagnostics_are_the_share_of_elements_that_moved(data):
    model = lengthscale_model()
    block, args = GridGibbs(model), data(6, 2)
    state = block.init(jax.random.key(0), 0, {"lengthscale": jnp.array([0.1, 0.1])}, args, {})
    sample = jax.jit(lambda state: block.sample(state, args, {}))
    for _ in range(3):
        new = sample(state)
        moved = (new.z["lengthscale"] != state.z["lengthscale"]).mean()
        assert new.info["acceptance_rate_GridGibbs"] == moved
        state = new
    assert "GridGibbs" in block.get_diagnostics_str(state)
