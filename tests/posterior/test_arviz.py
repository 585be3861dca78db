"""Everything that ArviZ needs, in both lines of ArviZ; leave-one-out densities against refits."""

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
    "sample_stats",
    "log_likelihood",
    "posterior_predictive",
    "prior",
    "prior_predictive",
    "observed_data",
}


def test_arviz_has_every_group_with_named_dimensions(inference_data: Any):
    is_tree = hasattr(inference_data, "children")  # ArviZ 1
    assert set(inference_data.children if is_tree else inference_data.groups()) == GROUPS
    values = inference_data["posterior"]
    assert values["Z"].dims == ("chain", "draw", "dim", "dim_other")
    assert values["lengthscale"].dims == ("chain", "draw", "dim")
    assert tuple(values["dim"].values) == tuple(values["dim_other"].values) == NAMES
    for group, shape in {
        "log_likelihood": (NUM_CHAINS, NUM_DRAWS, 15),
        "posterior_predictive": (NUM_CHAINS, NUM_DRAWS, 15),
        "prior_predictive": (1, 40, 15),
        "observed_data": (15,),
    }.items():
        assert inference_data[group]["y"].dims[-1] == "observation"
        assert inference_data[group]["y"].shape == shape
        assert np.isfinite(inference_data[group]["y"].values).all()
    assert inference_data["prior"]["Z"].shape == (1, 40, 3, 3)


# ArviZ 0.23 calls Matplotlib in a way that 3.11 deprecates.
@pytest.mark.filterwarnings("ignore:Passing a dict or None as alias_mapping")
def test_arviz_functions_run(inference_data: Any):
    assert "r_hat" in az.summary(inference_data, var_names=["lengthscale", "noise"]).columns
    plot_trace = getattr(az, "plot_trace_dist", None) or az.plot_trace
    plot_trace(inference_data, var_names=["lengthscale", "noise"])
    plt.close("all")


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
    variables = inference_data["posterior"]
    together = variables["structure_together"]
    assert together.dims == ("chain", "draw", "pair")
    assert together["pair"].values.tolist() == ["a,b", "a,c", "b,c"]
    rows, columns = np.triu_indices(3, 1)
    np.testing.assert_array_equal(together.values, posterior.draws["Z"][..., rows, columns] == 1)
    num_edges = posterior.draws["Z"].sum((-1, -2)) // 2
    np.testing.assert_array_equal(variables["structure_treewidth"].values, num_edges > 0)
    prior = inference_data["prior"]
    structure = {name for name in variables.data_vars if name.startswith("structure_")}
    assert {"structure_treewidth", "structure_active", "structure_num_components"} < structure
    assert structure == {name for name in prior.data_vars if name.startswith("structure_")}
    np.testing.assert_array_equal(
        prior["structure_together"].values, prior["Z"].values[..., rows, columns] == 1
    )
    same_draws = posterior.prior(num_draws=40).draws
    assert set(same_draws) == set(posterior.draws)
    np.testing.assert_array_equal(prior["Z"].values, same_draws["Z"])
