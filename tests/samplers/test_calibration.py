"""Simulation-based calibration (Talts et al. 2018), by the functions of the study."""

import jax.numpy as jnp
import pytest
from calibration import CASES, KNOWN, case
from ranks import ranks
from uniformity import p_values

from structbo.models import active_sets
from structbo.samplers import ActiveGibbs, conditional


def least_p_value(*arguments) -> float:
    """Over all quantities and both tests."""
    return min(min(p_values(found)) for found in ranks(*arguments).values())


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_ranks_are_uniform(name):
    """About 60 quantities with two tests each: by chance this fails once in a hundred times."""
    assert least_p_value(*CASES[name](), 200, 1) > 1e-4


@pytest.mark.nightly
@pytest.mark.parametrize("is_right", [True, False], ids=["right", "without the prior"])
def test_ranks_tell_right_from_wrong(is_right, monkeypatch):
    """A sampler whose moves ignore the prior of the active set is found in 40 replications."""
    if not is_right:
        monkeypatch.setattr(conditional, "trace_log_density", lambda trace: jnp.array(0.0))
    rare = case(active_sets(0.1), KNOWN, ActiveGibbs)
    assert (least_p_value(*rare, 40) > 0.01) == is_right
