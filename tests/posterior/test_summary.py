"""The table of all sites: finite, without labels, and by families."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from given_draws import (
    NAMES,
    NUM_CHAINS,
    NUM_DRAWS,
    edge_draws,
    observations,
    with_edges,
    with_structure,
)

from structbo.models import AdditiveGP, cliques, edges, fully_dependent, mixture, partitions
from structbo.posterior import Posterior, Units


@pytest.mark.parametrize("probability", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_summary_is_finite(probability: float):
    table = with_edges(edge_draws(probability)).summary()
    assert np.isfinite(table.to_numpy()).all()
    assert [row for row in table.index if row.startswith("Z")] == [
        "Z[x0,x1]",
        "Z[x0,x2]",
        "Z[x1,x2]",
    ]


def test_all_columns_are_printed(posterior: Posterior):
    """This holds for the table and its slices, with long names and narrow pandas displays."""
    names = [f"a_name_that_is_long_{d}" for d in range(3)]
    table = replace(posterior, names=names, units=Units.of_unit_cube(names)).summary()
    with pd.option_context("display.width", 80, "display.max_columns", 0):
        for shown in (table, table.iloc[:2], table.round(1)):
            lines = repr(shown)
            assert all(column in lines for column in table.columns)
            assert "r_hat" in lines and "..." not in lines
    assert table.loc["noise", "mean"] == posterior.summary().loc["noise", "mean"]
    assert f"{table.loc['noise', 'mean']:#.3g}" in repr(table)


def test_summary_of_constant_edges(posterior: Posterior):
    table, mcse = posterior.summary(), posterior.edge_probabilities().mcse
    assert np.isfinite(table.to_numpy()).all()
    constant = table.loc["Z[a,c]"]
    assert constant["sd"] == 0.0
    assert constant["r_hat"] == 1.0
    assert constant["ess_bulk"] == table["ess_bulk"].min()
    assert constant["mcse_mean"] == mcse[0, 2]
    assert "lengthscale[b]" in table.index


def test_summary_of_a_model_without_edges():
    posterior = with_edges(edge_draws(0.5), AdditiveGP(lambda d: cliques(jnp.eye(d) > 1)))
    del posterior.draws["Z"]
    assert "noise" in posterior.summary().index
    with pytest.raises(ValueError, match="exactly one site of edge matrices"):
        posterior.edge_probabilities()


def test_summary_of_a_partition_lists_pairs_and_no_labels():
    labels = np.random.default_rng(0).choice(
        [[0, 0, 1], [0, 1, 1], [0, 0, 0]], (NUM_CHAINS, NUM_DRAWS)
    )
    posterior = with_structure(partitions(), "labels", labels)
    table = posterior.summary()
    assert np.isfinite(table.to_numpy()).all()
    rows = [row for row in table.index if "lengthscale" not in row]
    assert rows[:2] == ["noise", "outputscale"]
    assert set(rows[2:]) == {"together[x0,x1]", "together[x0,x2]", "together[x1,x2]"}
    same = (labels[..., 0] == labels[..., 1]).mean()
    np.testing.assert_allclose(table.loc["together[x0,x1]", "mean"], same)


FAMILY = np.random.default_rng(3).choice(3, (NUM_CHAINS, NUM_DRAWS), p=[0.5, 0.3, 0.2])


@pytest.fixture
def of_families() -> Posterior:
    X, y = observations()
    structure = mixture({"edges": edges(0.5), "partition": partitions(), "all": fully_dependent()})
    rng = np.random.default_rng(3)
    shape = (NUM_CHAINS, NUM_DRAWS)
    draws = {
        "family": FAMILY,
        "edges.Z": np.zeros((*shape, 3, 3), int),
        "partition.labels": np.broadcast_to([0, 1, 1], (*shape, 3)),
        "lengthscale": rng.uniform(0.3, 0.6, (*shape, 3)),
        "outputscale": rng.uniform(0.8, 1.2, shape),
        "noise": rng.uniform(0.01, 0.02, shape),
    }
    return Posterior(AdditiveGP(structure), X, y, draws, names=NAMES)


def test_mixture_is_summarized_by_its_families(of_families: Posterior):
    posterior, family = of_families, FAMILY
    found = posterior.family_probabilities()
    assert posterior.family_names == ("edges", "partition", "all")
    np.testing.assert_array_equal(found.mean, [(family == k).mean() for k in range(3)])
    assert ((found.mcse > 0.0) & (found.mcse < 0.15)).all()
    together = posterior.together_probabilities().mean
    np.testing.assert_allclose(together[0, 1], (family == 2).mean())
    np.testing.assert_allclose(together[1, 2], (family >= 1).mean())
    table = posterior.summary()
    np.testing.assert_allclose(table.loc["family[partition]", "mean"], (family == 1).mean())
    np.testing.assert_allclose(table.loc["together[b,c]", "mean"], (family >= 1).mean())
    assert not any(row.startswith(("edges.Z", "partition.labels")) for row in table.index)
    with pytest.raises(ValueError, match=r"one family of a mixture.*together_probabilities"):
        posterior.edge_probabilities()


@pytest.mark.nightly
def test_edges_of_a_family_keep_their_name(of_families: Posterior):
    exported = of_families.to_arviz(num_prior_draws=10)["posterior"]
    assert exported["edges.Z"].dims == ("chain", "draw", "pair")
    assert "edge" not in exported, "the edges of one family are not those of the function"
