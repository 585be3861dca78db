"""Probabilities of edges, pairs and dimensions, with errors, against the draws."""

import numpy as np
from given_draws import NUM_CHAINS, NUM_DRAWS, edge_draws, with_edges, with_structure

from structbo.models import active_sets, partitions
from structbo.posterior import Posterior, Probabilities


def test_edge_probabilities_are_means_of_draws(posterior: Posterior):
    mean, mcse = posterior.edge_probabilities()
    np.testing.assert_allclose(mean, posterior.draws["Z"].mean((0, 1)))
    assert mean[0, 2] == 0.0  # impossible in the prior
    assert (mcse[np.triu_indices(3, 1)] > 0.0).all()
    assert (np.diag(mcse) == 0.0).all()
    assert (mcse == mcse.T).all()


def test_errors_of_independent_edges_are_binomial():
    mean, mcse = with_edges(edge_draws(0.3)).edge_probabilities()
    upper = np.triu_indices(3, 1)
    binomial = np.sqrt(mean * (1.0 - mean) / (NUM_CHAINS * NUM_DRAWS))
    np.testing.assert_allclose(mcse[upper], binomial[upper], rtol=0.35)


def test_chains_that_disagree_have_large_errors():
    Z = edge_draws(0.5)
    Z[0, :, 0, 1] = Z[0, :, 1, 0] = 0
    Z[1, :, 0, 1] = Z[1, :, 1, 0] = 1
    posterior = with_edges(Z)
    assert posterior.edge_probabilities().mcse[0, 1] > 0.3
    assert np.isinf(posterior.summary().loc["Z[x0,x1]", "r_hat"])


def test_errors_of_constant_edges():
    never = with_edges(edge_draws(0.0)).edge_probabilities()
    p, size = 0.5 / (NUM_CHAINS * NUM_DRAWS + 1), NUM_CHAINS * NUM_DRAWS
    upper = np.triu_indices(3, 1)
    np.testing.assert_allclose(never.mcse[upper], np.sqrt(p * (1 - p) / size))
    always = with_edges(edge_draws(1.0)).edge_probabilities()
    np.testing.assert_allclose(always.mcse, never.mcse)
    Z = edge_draws(0.0)
    sticky = np.arange(NUM_DRAWS) % 30 < 15
    Z[:, :, 0, 1] = Z[:, :, 1, 0] = sticky
    assert with_edges(Z).edge_probabilities().mcse[1, 2] > 2.0 * never.mcse[1, 2]


def test_together_is_what_the_components_say():
    """The reference compares labels of a partition one by one."""
    labels = np.random.default_rng(0).choice(
        [[0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 2, 3]], (NUM_CHAINS, NUM_DRAWS)
    )
    posterior = with_structure(partitions(), "labels", labels)
    same = (labels[..., :, None] == labels[..., None, :]) & ~np.eye(4, dtype=bool)
    mean, mcse = posterior.together_probabilities()
    np.testing.assert_allclose(mean, same.mean((0, 1)))
    assert (mcse[np.triu_indices(4, 1)] > 0).all() and (mcse == mcse.T).all()
    np.testing.assert_array_equal(posterior.structures.num_components, labels.max(-1) + 1)
    shares = np.array([[np.bincount(row, minlength=4) / 4 for row in chain] for chain in labels])
    effective = 1 / (shares**2).sum(-1)
    np.testing.assert_allclose(posterior.structures.effective_components, effective)
    np.testing.assert_allclose(posterior.active_probabilities().mean, 1.0)


def test_edges_are_together():
    posterior = with_edges(edge_draws(0.3))
    for got, want in zip(
        posterior.together_probabilities(), posterior.edge_probabilities(), strict=True
    ):
        np.testing.assert_allclose(got, want)


def test_active_is_what_the_set_says():
    active = np.random.default_rng(0).integers(0, 2, (NUM_CHAINS, NUM_DRAWS, 3))
    active[..., 0] = 1
    posterior = with_structure(active_sets(), "active", active)
    mean, mcse = posterior.active_probabilities()
    np.testing.assert_allclose(mean, active.mean((0, 1)))
    assert (mcse > 0).all()


TREEWIDTH = {"": 0, "01": 1, "01 12 23": 1, "01 12 02": 2, "01 12 23 03": 2, "01 02 03 12 13 23": 3}


def test_treewidth_of_known_graphs():
    Z = np.zeros((1, len(TREEWIDTH), 4, 4), int)
    for draw, label in enumerate(TREEWIDTH):
        for a, b in label.split():
            Z[0, draw, int(a), int(b)] = Z[0, draw, int(b), int(a)] = 1
    assert with_edges(Z).structures.treewidth.tolist() == [list(TREEWIDTH.values())]


def test_probabilities_are_tables_with_names():
    posterior = with_edges(edge_draws(0.5))
    found = posterior.edge_probabilities()
    table = found.to_frame()
    assert sorted(table.index) == ["x0,x1", "x0,x2", "x1,x2"]
    assert table["mean"].is_monotonic_decreasing
    for pair, row in table.iterrows():
        a, b = (posterior.names.index(name) for name in str(pair).split(","))
        assert (row["mean"], row["mcse"]) == (found.mean[a, b], found.mcse[a, b])
    first = [table.index[0], *(f"{value:.3f}" for value in table.iloc[0])]
    assert repr(found).splitlines()[1].split() == first
    mean, mcse = found
    assert mean is found.mean and mcse is found.mcse
    active = posterior.active_probabilities()
    assert active.to_frame().index.tolist() == ["x0", "x1", "x2"]
    assert len(repr(Probabilities(np.zeros((100, 100)), np.zeros((100, 100)))).splitlines()) < 30
    assert Probabilities(np.ones(2), np.zeros(2)).to_frame().index.tolist() == ["0", "1"]
