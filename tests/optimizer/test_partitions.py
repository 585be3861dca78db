"""Optimization with partitions, whose blocks can exceed the tables of message passing."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from structbo import Optimizer
from structbo.acquisition import Components
from structbo.models import AdditiveGP, blocks, partitions, squared_exponential

NUM_DIMS, NUM_INITIAL, NUM_ASKED = 5, 10, 8


def bowl(x: np.ndarray) -> float:
    """A function in which four dimensions interact, and one does not."""
    return float(
        np.square(x[:4] - 0.3).sum() + 4 * np.square(x[:4].mean() - 0.3) + (x[4] - 0.6) ** 2
    )


@pytest.mark.nightly
@pytest.mark.parametrize(
    "structure",
    [
        pytest.param(partitions(), id="random", marks=pytest.mark.nightly),
        pytest.param(lambda num_dims: blocks(jnp.array([0, 0, 0, 0, 1])), id="a block of four"),
    ],
)
def test_optimizer(structure):
    model = AdditiveGP(structure, squared_exponential, lengthscale=dist.LogNormal(-0.5, 0.5))
    box = np.tile([0.0, 1.0], (NUM_DIMS, 1))
    optimizer = Optimizer(box, model=model, num_initial=NUM_INITIAL)
    for _ in range(NUM_INITIAL + NUM_ASKED):
        trial = optimizer.ask()
        optimizer.tell(trial, bowl(np.asarray(trial.params)))
    points = np.array([trial.params for trial in optimizer.trials])
    assert len(np.unique(points, axis=0)) == NUM_INITIAL + NUM_ASKED
    values = [bowl(x) for x in points]
    assert np.median(values[NUM_INITIAL:]) < 0.5 * np.median(values[:NUM_INITIAL])


def test_components_of_bounded_size():
    members = np.zeros((2, 3, NUM_DIMS), bool)
    members[0, 0, :4] = members[0, 1, 4] = True
    members[1, 0, :2] = members[1, 1, 2:4] = members[1, 2, 4] = True
    components = Components.of(members, max_size=2)
    scopes = [tuple(row) for group in components.groups for row in np.asarray(group).tolist()]
    assert {scope for scope in scopes if min(scope) >= 0} == {(4,), (0, 1), (2, 3)}
    (main,) = [group for group in components.groups if group.shape[1] == 1]
    row = main[:, 0].tolist().index(4)
    assert np.asarray(components.rows[0])[:, row].tolist() == [1, 2]
