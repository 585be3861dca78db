"""All groups that ArviZ 0.23 and ArviZ 1 need; leave-one-out densities against refits."""

from typing import Any

import arviz as az
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from given_draws import NAMES, NUM_CHAINS, NUM_DRAWS, dense_covariance
from scipy.stats import norm

from structbo.posterior import Posterior

matplotlib.use("Agg")

GROUPS = {
    "posterior",
    "structure",
    "sample_stats",
    "log_likelihood",
    "posterior_predictive",
    "prior",
    "prior_structure",
    "prior_predictive",
    "observed_data",
}


def test_arviz_has_every_group_with_named_dimensions(inference_data: Any):
    is_tree = hasattr(inference_data, "children")  # ArviZ 1
    assert set(inference_data.children if is_tree else inference_data.groups()) == GROUPS
    values = inference_data["posterior"]
    assert set(values.data_vars) == {"edge", "lengthscale", "noise", "outputscale"}
    assert {values[name].dtype for name in values.data_vars} == {np.dtype(float)}
    assert values["edge"].dims == ("chain", "draw", "pair")
    assert values["pair"].values.tolist() == ["a,b", "a,c", "b,c"]
    assert values["lengthscale"].dims == ("chain", "draw", "dim")
    assert tuple(values["dim"].values) == NAMES
    for group, shape in {
        "log_likelihood": (NUM_CHAINS, NUM_DRAWS, 15),
        "posterior_predictive": (NUM_CHAINS, NUM_DRAWS, 15),
        "prior_predictive": (1, 40, 15),
        "observed_data": (15,),
    }.items():
        assert inference_data[group]["y"].dims[-1] == "observation"
        assert inference_data[group]["y"].shape == shape
        assert np.isfinite(inference_data[group]["y"].values).all()
    assert inference_data["prior"]["edge"].shape == (1, 40, 3)


# ArviZ 0.23 calls Matplotlib in a way that 3.11 deprecates.
@pytest.mark.filterwarnings("ignore:Passing a dict or None as alias_mapping")
@pytest.mark.filterwarnings("ignore:Your data appears to have a single value")
@pytest.mark.filterwarnings("ignore:invalid value encountered in scalar divide:RuntimeWarning")
@pytest.mark.parametrize("plot", ["plot_trace", "plot_forest", "plot_rank"])
def test_plots_of_arviz_need_no_arguments(inference_data: Any, plot: str):
    """This holds although the edge a,c never changes."""
    getattr(az, plot)(inference_data)
    assert 1 <= len(plt.gcf().axes) <= 40, "the most that ArviZ shows"
    plt.close("all")


@pytest.mark.filterwarnings("ignore:invalid value encountered in scalar divide:RuntimeWarning")
def test_tables_of_arviz_need_no_arguments(inference_data: Any, posterior: Posterior):
    table = az.summary(inference_data, round_to="none")
    edges = [f"edge[{pair}]" for pair in ("a,b", "a,c", "b,c")]
    assert set(edges) | {"lengthscale[a]", "noise"} < set(table.index)
    assert "r_hat" in table.columns
    expected = posterior.edge_probabilities().mean[np.triu_indices(3, 1)]
    np.testing.assert_allclose(table.loc[edges, "mean"].astype(float), expected)
    assert set(az.ess(inference_data).data_vars) == {"edge", "lengthscale", "noise", "outputscale"}


@pytest.mark.parametrize(("chain", "draw"), [(0, 0), (1, 59)])
def test_log_likelihood_is_leave_one_out(
    posterior: Posterior, inference_data: Any, chain: int, draw: int
):
    K, y = dense_covariance(posterior, chain, draw), posterior.y
    expected = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        weights = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, i])
        deviation = np.sqrt(K[i, i] - weights @ K[rest, i])
        expected.append(norm.logpdf(y[i], weights @ y[rest], deviation))
    found = inference_data["log_likelihood"]["y"].values[chain, draw]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_arviz_knows_the_structures(inference_data: Any, posterior: Posterior):
    variables, prior = inference_data["structure"], inference_data["prior_structure"]
    together = variables["together"]
    assert together.dims == ("chain", "draw", "pair")
    assert together["pair"].values.tolist() == ["a,b", "a,c", "b,c"]
    rows, columns = np.triu_indices(3, 1)
    edges = posterior.draws["Z"][..., rows, columns]
    np.testing.assert_array_equal(together.values, edges)
    np.testing.assert_array_equal(inference_data["posterior"]["edge"].values, edges)
    np.testing.assert_array_equal(variables["treewidth"].values, edges.any(-1))
    assert set(variables.data_vars) == {
        "together",
        "active",
        "num_components",
        "effective_components",
        "treewidth",
    }
    assert set(prior.data_vars) == set(variables.data_vars)
    same_draws = posterior.prior(num_draws=40).draws["Z"][..., rows, columns]
    np.testing.assert_array_equal(inference_data["prior"]["edge"].values, same_draws)
    np.testing.assert_array_equal(prior["together"].values, same_draws)
