"""Posteriors with tables of existing components equal posteriors with complete tables."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.infer import Predictive

from structbo.data import Data
from structbo.draws import Posteriors, condition
from structbo.draws.posteriors import ROWS_PER_DIM
from structbo.models import (
    AdditiveGP,
    Residual,
    active_sets,
    cliques,
    edges,
    main_effects,
    partitions,
    projections,
)

NUM_DRAWS = 3


def three_directions(num_dims: int) -> dist.Distribution:
    return dist.Normal(jnp.zeros((num_dims, 3)), 1.0).to_event(2)


MODELS = {
    "pairs": AdditiveGP(edges(), residual=Residual()),
    "cliques": AdditiveGP(edges(components=cliques)),
    "partitions": AdditiveGP(partitions()),
    "active": AdditiveGP(active_sets(0.1)),
    "projections": AdditiveGP(projections(three_directions, main_effects())),
}


def given(model: Any, num_dims: int, **values: Any) -> Posteriors:
    """Posteriors of prior draws, with given values at some sites, and random data."""
    rng = np.random.default_rng(0)
    data = Data.padded(rng.random((20, num_dims)), rng.standard_normal(20))
    draws = Predictive(model, num_samples=NUM_DRAWS)(jax.random.key(0), data.x)
    draws = {name: value for name, value in draws.items() if name != "y"} | values
    return Posteriors.of(model, draws, data)


def dense(posteriors: Posteriors) -> Any:
    return condition(posteriors.model, posteriors.draws, posteriors.data)


@pytest.mark.parametrize("name", MODELS)
def test_posteriors_of_the_components_that_exist_are_the_same(name: str) -> None:
    num_dims = 20
    posteriors = given(MODELS[name], num_dims)
    x = jax.random.uniform(jax.random.key(1), (NUM_DRAWS, 4, num_dims))
    x = x.at[:, :, 1:].set(x[:, :1, 1:])

    def predictions(processes: Any) -> tuple:
        return jax.lax.map(
            lambda gp: (gp.predict(x[0]), gp.predict_on_lines(x, jnp.array(0))), processes
        )

    few, all_ = predictions(posteriors.processes), predictions(dense(posteriors))
    for one, other in zip(jax.tree.leaves(few), jax.tree.leaves(all_), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_other_data_change_the_processes_and_nothing_else() -> None:
    posteriors = given(MODELS["pairs"], 20)
    rng = np.random.default_rng(5)
    other = posteriors.given(Data.padded(rng.random((21, 20)), rng.standard_normal(21)))
    fresh = Posteriors.of(posteriors.model, posteriors.draws, other.data)
    for one, two in zip(
        jax.tree.leaves(other.processes), jax.tree.leaves(fresh.processes), strict=True
    ):
        np.testing.assert_array_equal(one, two)
    assert other.components is posteriors.components
    assert not np.array_equal(other.processes.alpha, posteriors.processes.alpha)


@pytest.mark.parametrize("name", MODELS)
def test_rows_hold_every_component_once(name: str) -> None:
    posteriors = given(MODELS[name], 20)
    full = dense(posteriors).covariance.decomposition
    few = posteriors.processes.covariance.decomposition
    for draw in range(NUM_DRAWS):
        tables = []
        for table in (full, few):
            members, weights = np.asarray(table.members[draw]), np.asarray(table.weights[draw])
            kept = members.any(1) if members.any() else np.arange(len(members)) == 0
            rows = zip(members[kept].tolist(), weights[kept].tolist(), strict=True)
            tables.append(sorted(rows))
        assert tables[0] == tables[1]
    assert few.flip_rule is None


@pytest.mark.parametrize("num_edges", [0, 50, 300])
def test_tables_have_few_sizes(num_edges: int) -> None:
    """Main effects and edges of 40 dimensions, of which 820 are possible."""
    num_dims = 40
    upper = np.stack(np.triu_indices(num_dims, 1))[:, :num_edges]
    Z = np.zeros((NUM_DRAWS, num_dims, num_dims), int)
    Z[0, upper[0], upper[1]] = Z[0, upper[1], upper[0]] = 1
    posteriors = given(MODELS["pairs"], num_dims, Z=jnp.asarray(Z))
    room = 512 if num_edges == 300 else ROWS_PER_DIM * num_dims
    members = np.asarray(posteriors.processes.covariance.decomposition.members)
    assert members.shape == (NUM_DRAWS, room, num_dims)
    assert members.any(2).sum(1).tolist() == [num_dims + num_edges, num_dims, num_dims]


def test_components_point_into_the_table_of_each_draw() -> None:
    posteriors = given(MODELS["pairs"], 20)
    members = np.asarray(posteriors.processes.covariance.decomposition.members)
    components = posteriors.components
    for group, rows in zip(components.groups, components.rows, strict=True):
        for draw, index in zip(*np.nonzero(np.asarray(rows) >= 0), strict=True):
            found = np.flatnonzero(members[draw, rows[draw, index]])
            assert found.tolist() == sorted(np.asarray(group)[index].tolist())
