"""Posteriors with the components that exist are those with tables of all that may be."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.infer import Predictive

from structbo.data import Data
from structbo.draws import condition
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
from structbo.proposal.union import ROWS_PER_DIM, UnionGraph, structure_of

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


def situation(model, num_dims: int, **values) -> tuple[dict, Data, UnionGraph]:
    """Draws from the prior, some sites having given values; some data; the union of components."""
    rng = np.random.default_rng(0)
    data = Data.padded(rng.random((20, num_dims)), rng.standard_normal(20))
    draws = Predictive(model, num_samples=NUM_DRAWS)(jax.random.key(0), data.x)
    draws = {name: value for name, value in draws.items() if name != "y"} | values
    return draws, data, structure_of(model, draws, data)


@pytest.mark.parametrize("name", MODELS)
def test_posteriors_of_the_components_that_exist_are_the_same(name: str) -> None:
    num_dims, model = 20, MODELS[name]
    draws, data, union = situation(model, num_dims)
    x = np.random.default_rng(1).random((NUM_DRAWS, 4, num_dims))
    x[:, :, 1:] = x[:, :1, 1:]

    def predictions(rows: np.ndarray | None) -> tuple:
        posteriors = condition(model, draws, data, rows)
        return jax.lax.map(lambda gp: (gp.predict(x[0]), gp.predict_on_lines(x, 0)), posteriors)

    few, all_ = predictions(union.rows), predictions(None)
    for one, other in zip(jax.tree.leaves(few), jax.tree.leaves(all_), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_rows_hold_every_component_once(name: str) -> None:
    model = MODELS[name]
    draws, data, union = situation(model, 20)
    dense = condition(model, draws, data).covariance.decomposition
    few = condition(model, draws, data, union.rows).covariance.decomposition
    for draw in range(NUM_DRAWS):
        tables = []
        for table in (dense, few):
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
    _, _, union = situation(MODELS["pairs"], num_dims, Z=jnp.asarray(Z))
    room = 512 if num_edges == 300 else ROWS_PER_DIM * num_dims
    assert union.rows.shape == (NUM_DRAWS, room)
    assert (union.rows >= 0).sum(1).tolist() == [num_dims + num_edges, num_dims, num_dims]


def test_components_point_into_the_table_of_each_draw() -> None:
    model = MODELS["pairs"]
    draws, data, union = situation(model, 20)
    members = np.asarray(condition(model, draws, data, union.rows).covariance.decomposition.members)
    for group, rows in zip(union.components.groups, union.components.rows, strict=True):
        for draw, index in zip(*np.nonzero(np.asarray(rows) >= 0), strict=True):
            found = np.flatnonzero(members[draw, rows[draw, index]])
            assert found.tolist() == sorted(np.asarray(group)[index].tolist())
