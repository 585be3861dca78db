"""The posterior's predictions and densities from first principles, and its errors."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from given_draws import NUM_CHAINS, dense_covariance, edge_draws, observations, with_edges
from scipy.stats import lognorm, multivariate_normal

from structbo.data import Data
from structbo.draws import condition
from structbo.models import AdditiveGP, Decomposition, EdgeBernoulli, edges, pairs
from structbo.posterior import Posterior


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


def test_predict_averages_over_draws():
    posterior = with_edges(edge_draws(0.5)[:, :4])
    x = np.random.default_rng(4).random((5, 3))
    flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in posterior.draws.items()}
    data = Data.padded(posterior.X, posterior.y)

    @jax.jit
    def of_draws(draws):
        return jax.vmap(lambda gp: gp.predict(jnp.asarray(x)))(
            condition(posterior.model, draws, data)
        )

    means, variances = map(np.asarray, of_draws(flat))
    mean, variance = posterior.predict(x)
    np.testing.assert_allclose(mean, means.mean(0))
    np.testing.assert_allclose(variance, (variances + means**2).mean(0) - means.mean(0) ** 2)
    thinned, _ = posterior.predict(x, max_draws=2)
    np.testing.assert_allclose(thinned, means[[0, 7]].mean(0))


def test_bad_posterior():
    X, y = observations()
    draws = {"noise": np.ones((2, 3))}
    with pytest.raises(ValueError, match="3 different names"):
        Posterior(AdditiveGP(), X, y, draws, names=("a", "b", "a"))
    with pytest.raises(ValueError, match=r"shape \(chains, draws, \.\.\.\)"):
        Posterior(AdditiveGP(), X, y, {**draws, "outputscale": np.ones((2, 4))})
    with pytest.raises(ValueError, match=r"points\[0\] must hold 3 values .* got 2"):
        with_edges(edge_draws(0.5)).predict(np.zeros((2, 2)))


def test_draws_have_all_latent_sites():
    """Draws may have further sites, such as deterministic ones."""
    given = with_edges(edge_draws(0.5)[:, :4])
    model = AdditiveGP(edges(dist.Beta(1.0, 4.0)))
    known = given.draws | {"mean": np.zeros((NUM_CHAINS, 4))}
    assert Posterior(given.model, given.X, given.y, known).draws.keys() == known.keys()
    with pytest.raises(ValueError, match=r"\['edge_probability'\] are missing.* Add them, or pass"):
        Posterior(model, given.X, given.y, known)
    del known["noise"], known["outputscale"]
    with pytest.raises(ValueError, match=r"\['outputscale', 'noise'\] are missing"):
        Posterior(given.model, given.X, given.y, known)
    with pytest.raises(ValueError, match=r"\['outputscale'\] are missing"):
        Posterior.at(given.model, given.X, given.y, {"Z": 0, "lengthscale": 1, "noise": 1})


def test_scalar_prior_probability_is_a_site():
    given = with_edges(edge_draws(0.5)[:, :4])
    draws = given.draws | {"edge_probability": np.full((NUM_CHAINS, 4), 0.3)}
    posterior = Posterior(AdditiveGP(edges(dist.Beta(1.0, 4.0))), given.X, given.y, draws)
    assert np.isfinite(posterior.predict(np.full((1, 3), 0.5))).all()


def test_only_mixtures_have_families(posterior):
    with pytest.raises(ValueError, match="is not a mixture"):
        posterior.family_probabilities()
    with pytest.raises(ValueError, match="is not a mixture"):
        _ = posterior.family_names


def test_edges_among_some_dimensions_have_numbers():
    """The model has edges between the first two of three dimensions."""

    def structure(num_dims: int) -> Decomposition:
        Z = numpyro.sample("Z", EdgeBernoulli(2, 0.5))
        return pairs(jnp.zeros((num_dims, num_dims), int).at[:2, :2].set(Z))

    whole = with_edges(edge_draws(0.5)[:, :30], AdditiveGP())
    draws = whole.draws | {"Z": whole.draws["Z"][..., :2, :2]}
    posterior = replace(whole, model=AdditiveGP(structure), draws=draws)
    found = posterior.edge_probabilities()
    assert found.names == ("0", "1")
    assert found.mean[0, 1] == posterior.draws["Z"][..., 0, 1].mean()
    assert posterior.together_probabilities().mean[0, 1] == found.mean[0, 1]
    assert "Z[0,1]" in posterior.summary().index
    with pytest.raises(ValueError, match="edges of the model are not between the parameters"):
        posterior.runs_to_decide("x0", "x1")
