"""Common properties of all registered blocks."""

import inspect

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest
from block_registry import BLOCKS
from calibration import CASES

from structbo import samplers


def test_every_block_has_a_row_and_is_calibrated() -> None:
    exported = {
        name
        for name, value in vars(samplers).items()
        if inspect.isclass(value)
        and issubclass(value, samplers.StructureBlock)
        and not inspect.isabstract(value)
    }
    assert exported - {"PriorDraws"} == set(BLOCKS)
    assert set(BLOCKS) <= set(CASES)


def counts(row):
    """Counts whose mean is the sum of a value: no Gaussian process in sight."""

    def model(x, y=None):
        value = numpyro.sample("site", row.prior(len(x)))
        numpyro.sample("y", dist.Normal(value.sum() + x, 1.5).to_event(1), obs=y)

    return model


# Their moves are compared with other posteriors in tests of their own.
SLOW = {"EdgeGibbs", "InformedEdges", "ActiveGibbs", "PartitionGibbs", "SplitMerge"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.nightly if n in SLOW else []) for n in BLOCKS]
)
def test_other_likelihoods_fall_back_to_the_full_density(
    name, effort, posterior_over, run_block, check_frequencies
):
    row, num_dims = BLOCKS[name], 3
    model, values = counts(row), row.values(num_dims)
    args = (jnp.zeros(num_dims), jnp.array([1.5, 2.0, 1.4]))
    posterior = posterior_over(model, args, "site", values)
    assert 0.02 < posterior.max() < 0.9
    starts = jnp.tile(values[:1], (20, *[1] * (values.ndim - 1)))
    num_steps = 50 + int(2000 * effort)
    draws = run_block(row.block(model), args, "site", starts, num_steps)[:, 50:]
    check_frequencies(draws, values, posterior, 0.02)
