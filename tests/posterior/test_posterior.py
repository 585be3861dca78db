"""The posterior's diagnostics agree with first principles and with both lines of ArviZ."""

from functools import partial
from typing import Any

import arviz as az
import jax
import jax.numpy as jnp
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import NUTS
from scipy.stats import lognorm, multivariate_normal, norm

from structbo.data import Data
from structbo.draws import condition
from structbo.models import (
    AdditiveGP,
    active_sets,
    cliques,
    edges,
    fully_dependent,
    mixture,
    partitions,
)
from structbo.posterior import Posterior, fit
from structbo.posterior.predictive import replicate
from structbo.samplers.statistics import statistics_of

matplotlib.use("Agg")

NUM_CHAINS, NUM_DRAWS, NAMES = 2, 60, ("a", "b", "c")
PROBS = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.0]])
GROUPS = {
    "posterior",
    "sample_stats",
    "log_likelihood",
    "posterior_predictive",
    "prior",
    "prior_predictive",
    "observed_data",
}


def observations(num_dims: int = 3, n: int = 15) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((n, num_dims))
    y = np.sin(6.0 * X[:, 0] * X[:, 1]) + X[:, 2] + 0.05 * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    X, y = observations()
    with jax.enable_x64(False):  # as in a program that has never heard of the flag
        return fit(AdditiveGP(edges(PROBS)), X, y, num_warmup=60, num_samples=60, names=NAMES)


@pytest.fixture(scope="module")
def inference_data(posterior: Posterior) -> Any:
    with jax.enable_x64(False):
        return posterior.to_arviz(num_prior_draws=40)


def with_edges(Z: np.ndarray, model: AdditiveGP | None = None) -> Posterior:
    """A posterior with these edges, (chains, draws, D, D), and random hyper-parameters."""
    rng = np.random.default_rng(1)
    X, y = observations(Z.shape[-1])
    draws = {
        "Z": Z,
        "lengthscale": rng.uniform(0.5, 2.0, Z.shape[:3]),
        "noise": rng.uniform(0.05, 0.1, Z.shape[:2]),
        "outputscale": rng.uniform(1.0, 2.0, Z.shape[:2]),
    }
    return Posterior(model or AdditiveGP(), X, y, draws)


def edge_draws(probability: float, num_dims: int = 3) -> np.ndarray:
    rng = np.random.default_rng(2)
    shape = (NUM_CHAINS, NUM_DRAWS, num_dims, num_dims)
    upper = np.triu(rng.random(shape) < probability, 1)
    return (upper | np.swapaxes(upper, -2, -1)).astype(np.int32)


def test_fit_keeps_draws_and_statistics_by_chain(posterior: Posterior):
    shape = (NUM_CHAINS, NUM_DRAWS)
    assert {k: v.shape for k, v in posterior.draws.items()} == {
        "Z": (*shape, 3, 3),
        "lengthscale": (*shape, 3),
        "noise": shape,
        "outputscale": shape,
    }
    assert posterior.draws["noise"].dtype == np.float64
    assert {"acceptance_rate_InformedEdges", "acceptance_rate", "diverging", "energy"} < set(
        posterior.sample_stats
    )
    assert all(v.shape == shape for v in posterior.sample_stats.values())
    assert np.std(posterior.sample_stats["energy"]) > 0.0


def test_a_kernel_that_is_not_gibbs_has_statistics():
    found = statistics_of(NUTS(AdditiveGP()))
    assert found["step_size"] == "adapt_state.step_size"


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


def dense_covariance(posterior: Posterior, chain: int, draw: int) -> np.ndarray:
    values = {name: value[chain, draw] for name, value in posterior.draws.items()}
    run = handlers.trace(handlers.substitute(handlers.seed(posterior.model, 0), data=values))
    return np.asarray(run.get_trace(posterior.X)["y"]["fn"].covariance_matrix)


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


def test_replicated_observations_have_the_right_moments(posterior: Posterior):
    draw = {name: value[:1, 0] for name, value in posterior.draws.items()}
    data = Data(posterior.X, posterior.y, np.ones(15, bool))
    gp = jax.tree.map(lambda v: v[0], condition(posterior.model, draw, data))
    keys = jax.random.split(jax.random.key(3), 20_000)
    found = np.asarray(jax.vmap(lambda key: replicate(gp, posterior.y, key))(keys))
    noisy, noise = dense_covariance(posterior, 0, 0), float(gp.noise)
    K = noisy - noise * np.eye(15)
    mean = K @ np.linalg.solve(noisy, posterior.y)
    covariance = K - K @ np.linalg.solve(noisy, K) + noise * np.eye(15)
    deviation = np.sqrt(np.diag(covariance))
    assert np.abs(found.mean(0) - mean).max() < 5.0 * deviation.max() / np.sqrt(len(keys))
    error = np.sqrt(2.0 / len(keys)) * np.outer(deviation, deviation)
    assert (np.abs(np.cov(found.T) - covariance) < 5.0 * error).all()


def test_prior_draws_respect_hard_bounds():
    structure = edges(0.6, partial(cliques, max_size=2))
    posterior = with_edges(edge_draws(0.0)[:, :2], AdditiveGP(structure))
    Z = posterior.to_arviz(num_prior_draws=60)["prior"]["Z"].values[0]
    triangles = np.trace(Z @ Z @ Z, axis1=1, axis2=2)
    assert 0 < len(Z) < 60
    assert (triangles == 0).all()


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


@pytest.mark.parametrize("probability", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_summary_is_finite(probability: float):
    table = with_edges(edge_draws(probability)).summary()
    assert np.isfinite(table.to_numpy()).all()
    assert [row for row in table.index if row.startswith("Z")] == [
        "Z[x0,x1]",
        "Z[x0,x2]",
        "Z[x1,x2]",
    ]


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


def with_structure(structure: Any, site: str, values: np.ndarray) -> Posterior:
    """A posterior with the given draws of one structure site, (chains, draws, D)."""
    rng = np.random.default_rng(1)
    X, y = observations(values.shape[-1])
    draws = {
        site: values,
        "lengthscale": rng.uniform(0.5, 2.0, values.shape),
        "noise": rng.uniform(0.05, 0.1, values.shape[:2]),
        "outputscale": rng.uniform(1.0, 2.0, values.shape[:2]),
    }
    return Posterior(AdditiveGP(structure), X, y, draws)


def test_together_is_what_the_components_say():
    """Blocks of a partition, against labels compared one by one."""
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


TREEWIDTH = {"": 0, "01": 1, "01 12 23": 1, "01 12 02": 2, "01 12 23 03": 2, "01 02 03 12 13 23": 3}


def test_treewidth_of_known_graphs():
    Z = np.zeros((1, len(TREEWIDTH), 4, 4), int)
    for draw, label in enumerate(TREEWIDTH):
        for a, b in label.split():
            Z[0, draw, int(a), int(b)] = Z[0, draw, int(b), int(a)] = 1
    assert with_edges(Z).structures.treewidth.tolist() == [list(TREEWIDTH.values())]


def test_log_density_is_that_of_all_sites():
    model = AdditiveGP(edges(0.3), lengthscale=dist.LogNormal(0.0, 0.7))
    posterior = with_edges(edge_draws(0.5)[:, :3], model)
    values = {name: value[1, 2] for name, value in posterior.draws.items()}
    num_edges = values["Z"].sum() // 2
    expected = num_edges * np.log(0.3) + (3 - num_edges) * np.log(0.7)
    expected += lognorm.logpdf(values["lengthscale"], 0.7).sum()
    expected += lognorm.logpdf(values["outputscale"], 1.0)
    expected += lognorm.logpdf(values["noise"], 1.5, scale=np.exp(-5.0))
    K = dense_covariance(posterior, 1, 2)
    expected += multivariate_normal.logpdf(posterior.y, np.zeros(15), K)
    assert posterior.log_density.shape == (NUM_CHAINS, 3)
    np.testing.assert_allclose(posterior.log_density[1, 2], expected, rtol=1e-8)


def test_prior_is_the_posterior_without_data():
    posterior = with_edges(edge_draws(1.0)[:, :2], AdditiveGP(edges(PROBS)))
    prior = posterior.prior(num_draws=400, seed=3)
    mean, mcse = prior.edge_probabilities()
    assert np.abs(mean - PROBS).max() < 4.0 * 0.5 / np.sqrt(400)
    assert (mcse[np.triu_indices(3, 1)] > 0).all()
    assert mean[0, 2] == 0.0
    np.testing.assert_array_equal(prior.together_probabilities().mean, mean)
    means, variances = prior.predict(np.full((2, 3), 0.4), max_draws=10_000)
    np.testing.assert_allclose(means, 0.0, atol=1e-12)
    np.testing.assert_allclose(variances, prior.draws["outputscale"].mean(), rtol=1e-12)


def test_prior_outside_of_all_bounds():
    model = AdditiveGP(edges(1.0, partial(cliques, max_size=2)))
    with pytest.raises(ValueError, match="all 5 prior draws are outside"):
        with_edges(edge_draws(0.0)[:, :2], model).prior(num_draws=5)


def test_predict_averages_over_draws():
    posterior = with_edges(edge_draws(0.5)[:, :4])
    x = np.random.default_rng(4).random((5, 3))
    flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in posterior.draws.items()}
    batch = condition(posterior.model, flat, Data.padded(posterior.X, posterior.y))
    means, variances = map(np.asarray, jax.vmap(lambda gp: gp.predict(x))(batch))
    mean, variance = posterior.predict(x)
    np.testing.assert_allclose(mean, means.mean(0))
    np.testing.assert_allclose(variance, (variances + means**2).mean(0) - means.mean(0) ** 2)
    thinned, _ = posterior.predict(x, max_draws=2)
    np.testing.assert_allclose(thinned, means[[0, 7]].mean(0))


BAD_DATA = {
    "X must have shape": (np.zeros(3), np.zeros(3)),
    r"X\[1, 0\] = nan": ([[0.5], [np.nan]], [0.0, 1.0]),
    "unit cube": ([[0.5], [2.0]], [0.0, 1.0]),
    "one value per row": ([[0.5], [1.0]], [0.0]),
    "at least one value": (np.zeros((0, 2)), []),
    r"y\[1\] = inf": ([[0.5], [1.0]], [0.0, np.inf]),
}


@pytest.mark.parametrize("message", BAD_DATA)
def test_bad_data(message: str):
    with pytest.raises(ValueError, match=message):
        fit(AdditiveGP(), *BAD_DATA[message])


def test_bad_posterior():
    X, y = observations()
    draws = {"noise": np.ones((2, 3))}
    with pytest.raises(ValueError, match="3 different names"):
        Posterior(AdditiveGP(), X, y, draws, names=("a", "b", "a"))
    with pytest.raises(ValueError, match=r"shape \(chains, draws, \.\.\.\)"):
        Posterior(AdditiveGP(), X, y, {**draws, "outputscale": np.ones((2, 4))})
    with pytest.raises(ValueError, match="x must have 3 columns"):
        Posterior(AdditiveGP(), X, y, draws).predict(np.zeros((2, 2)))


def test_scalar_prior_probability_is_a_site():
    posterior = with_edges(edge_draws(0.5)[:, :4], AdditiveGP(edges(dist.Beta(1.0, 4.0))))
    posterior.draws["edge_probability"] = np.full((NUM_CHAINS, 4), 0.3)
    assert np.isfinite(posterior.predict(np.full((1, 3), 0.5))).all()


def test_mixture_is_summarized_by_its_families():
    X, y = observations()
    structure = mixture({"edges": edges(0.5), "partition": partitions(), "all": fully_dependent()})
    rng = np.random.default_rng(3)
    family = rng.choice(3, (NUM_CHAINS, NUM_DRAWS), p=[0.5, 0.3, 0.2])
    shape = (NUM_CHAINS, NUM_DRAWS)
    draws = {
        "family": family,
        "edges.Z": np.zeros((*shape, 3, 3), int),
        "partition.labels": np.broadcast_to([0, 1, 1], (*shape, 3)),
        "lengthscale": rng.uniform(0.3, 0.6, (*shape, 3)),
        "outputscale": rng.uniform(0.8, 1.2, shape),
        "noise": rng.uniform(0.01, 0.02, shape),
    }
    posterior = Posterior(AdditiveGP(structure), X, y, draws, names=NAMES)
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
    assert "edges.Z" in posterior.to_arviz(num_prior_draws=10)["posterior"]


def test_only_mixtures_have_families(posterior):
    with pytest.raises(ValueError, match="is not a mixture"):
        posterior.family_probabilities()
    with pytest.raises(ValueError, match="is not a mixture"):
        _ = posterior.family_names
