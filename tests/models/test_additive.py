"""The additive Gaussian process as a NumPyro model: every tool of NumPyro works on it."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import Predictive
from numpyro.infer.util import log_density
from scipy.stats import multivariate_normal

from structbo.models import (
    KERNELS,
    AdditiveCovariance,
    AdditiveGP,
    Decomposition,
    EdgeBernoulli,
    FiniteUniform,
    Residual,
    Stationary,
    cliques,
    edges,
)

NUM_DIMS = 3


def my_structure(num_dims: int) -> Decomposition:
    """A structure as a user writes it (design, section 4.1)."""
    p = numpyro.sample("edge_probability", dist.Beta(1.0, 4.0))
    Z = numpyro.sample("Z", EdgeBernoulli(num_dims, p))
    return cliques(Z)


def active_set(num_dims: int) -> Decomposition:
    """A structure that is no graph: main effects and one component over the active dimensions."""
    active = numpyro.sample("active", dist.Bernoulli(0.5).expand([num_dims]).to_event(1))
    return Decomposition.of(jnp.concatenate([jnp.eye(num_dims), active[None]]).astype(bool))


BASE_SITES = {"lengthscale", "outputscale", "noise", "y"}
MODELS = {
    "default": (AdditiveGP(), {"Z"}),
    "my structure": (AdditiveGP(structure=my_structure), {"Z", "edge_probability"}),
    "residual": (AdditiveGP(residual=Residual()), {"Z", "rho", "kappa"}),
    "relevance": (AdditiveGP(relevance=dist.HalfCauchy(1.0)), {"Z", "relevance"}),
    "finite lengthscales": (AdditiveGP(lengthscale=FiniteUniform([0.2, 0.5])), {"Z"}),
    "active set": (AdditiveGP(structure=active_set), {"active"}),
}
each_model = pytest.mark.parametrize(("model", "own_sites"), MODELS.values(), ids=MODELS.keys())


@pytest.fixture(scope="module")
def X() -> jax.Array:
    return jnp.array(np.random.default_rng(0).random((6, NUM_DIMS)))


@pytest.fixture(scope="module")
def y() -> jax.Array:
    return jnp.array(np.random.default_rng(1).normal(size=6))


def traced(model, *args, seed: int = 0, **kwargs):
    return handlers.trace(handlers.seed(model, seed)).get_trace(*args, **kwargs)


@jax.jit
def gram(covariance: AdditiveCovariance, X: jax.Array) -> jax.Array:
    return covariance(X, X)


def latent_values(trace) -> dict[str, jax.Array]:
    return {
        name: site["value"]
        for name, site in trace.items()
        if site["type"] == "sample" and name != "y"
    }


@each_model
def test_sites(model, own_sites, X, y):
    trace = traced(model, X, y)
    assert set(trace) == BASE_SITES | own_sites
    assert trace["lengthscale"]["value"].shape == (NUM_DIMS,)
    assert trace["y"]["is_observed"]
    np.testing.assert_array_equal(trace["y"]["value"], y)
    assert traced(model, X)["y"]["value"].shape == (6,)


@each_model
def test_log_density_is_the_sum_over_sites(model, own_sites, X, y):
    """The observed site is a dense normal density, all others their own priors."""
    trace = traced(model, X, y)
    values = latent_values(trace)
    got = jax.jit(lambda values: log_density(model, (X, y), {}, values)[0])(values)
    covariance = gram(trace["y"]["fn"].covariance, X) + values["noise"] * jnp.eye(6)
    expected = multivariate_normal.logpdf(y, cov=covariance)
    expected += sum(trace[name]["fn"].log_prob(value).sum() for name, value in values.items())
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_condition_and_substitute(X, y):
    model, Z = AdditiveGP(), jnp.ones((NUM_DIMS, NUM_DIMS), int) - jnp.eye(NUM_DIMS, dtype=int)
    data = {"Z": Z, "noise": jnp.array(0.1)}
    conditioned = traced(handlers.condition(model, data), X, y)
    substituted = traced(handlers.substitute(model, data), X, y)
    for trace, is_observed in ((conditioned, True), (substituted, False)):
        assert trace["Z"]["is_observed"] == is_observed
        assert trace["y"]["fn"].noise == 0.1
        assert trace["y"]["fn"].covariance.decomposition.count == NUM_DIMS + 3


@each_model
def test_prior_and_posterior_predictive(model, own_sites, X):
    prior = Predictive(model, num_samples=4)(jax.random.key(0), X)
    assert set(prior) == BASE_SITES | own_sites
    assert prior["y"].shape == (4, 6)
    draws = {name: value for name, value in prior.items() if name != "y"}
    replicated = Predictive(model, posterior_samples=draws)(jax.random.key(1), X)
    assert set(replicated) == {"y"}
    assert replicated["y"].shape == (4, 6)
    assert np.isfinite(replicated["y"]).all()


def test_render_model(X, y):
    """The source of the drawing is built without the `dot` program."""
    source = numpyro.render_model(AdditiveGP(structure=my_structure), (X, y)).source
    for site in BASE_SITES | {"Z", "edge_probability"}:
        assert f"{site} [" in source
    assert "edge_probability -> Z" in source


def test_padded_rows_change_nothing(X, y):
    model = AdditiveGP(residual=Residual())
    values = latent_values(traced(model, X, y))
    padded_X = jnp.concatenate([X, jnp.full((3, NUM_DIMS), 0.5)])
    padded_y = jnp.concatenate([y, jnp.array([7.0, -7.0, 0.0])])
    mask = jnp.arange(9) < 6

    def density(hyper, *args):
        return log_density(model, args, {}, values | hyper)[0]

    hyper = {name: values[name] for name in ("lengthscale", "noise", "rho")}
    one = jax.jit(jax.value_and_grad(density))(hyper, X, y)
    two = jax.jit(jax.value_and_grad(density))(hyper, padded_X, padded_y, mask)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-9), one, two)
    drawn = traced(model, padded_X, mask=mask)["y"]["value"]
    assert not drawn[6:].any()


STATIONARY = [kernel for kernel in KERNELS.values() if isinstance(kernel, Stationary)]


@pytest.mark.parametrize("kernel", STATIONARY, ids=repr)
def test_kernel_option(kernel, X):
    """One component over one dimension has the kernel itself as covariance."""
    model = AdditiveGP(
        structure=lambda d: Decomposition.of(jnp.eye(1, d, dtype=bool)), kernel=kernel
    )
    likelihood = traced(model, X)["y"]["fn"]
    r = jnp.abs(X[:, None, 0] - X[None, :, 0]) / likelihood.covariance.lengthscale[0]
    expected = likelihood.covariance.outputscale * kernel.at_distance(r)
    np.testing.assert_allclose(gram(likelihood.covariance, X), expected, rtol=1e-12)


def test_categorical_option():
    """All pairs of different levels are equally correlated."""
    levels = jnp.linspace(0, 1, 4)[:, None]
    covariance = traced(AdditiveGP(categorical=(0,)), levels)["y"]["fn"].covariance
    between = gram(covariance, levels)[~np.eye(4, dtype=bool)]
    np.testing.assert_allclose(between, between[0], rtol=1e-12)


def test_relevance_and_residual_share_the_variance(X):
    """Shares are in proportion to sizes times mean relevances, after the residual's."""
    model = AdditiveGP(structure=edges(0.0), relevance=dist.HalfNormal(1.0), residual=Residual())
    data = {
        "relevance": jnp.array([1.0, 3.0, 0.0]),
        "rho": jnp.array(0.2),
        "outputscale": jnp.array(2.0),
    }
    covariance = traced(handlers.condition(model, data), X)["y"]["fn"].covariance
    np.testing.assert_allclose(covariance.variances[:3], [0.4, 1.2, 0.0], rtol=1e-12)
    np.testing.assert_allclose(covariance.residual_gram(X, X).diagonal(), 0.4, rtol=1e-12)
    np.testing.assert_allclose(gram(covariance, X).diagonal(), 2.0, rtol=1e-12)


def test_structure_outside_its_bounds_has_density_zero(X, y):
    model = AdditiveGP(structure=edges(0.5, components=partial(cliques, max_size=2)))
    values = latent_values(traced(model, X, y))
    triangle = jnp.ones((NUM_DIMS, NUM_DIMS), int) - jnp.eye(NUM_DIMS, dtype=int)
    path = triangle.at[jnp.array([0, 2]), jnp.array([2, 0])].set(0)
    density = jax.jit(lambda Z: log_density(model, (X, y), {}, values | {"Z": Z})[0])
    densities = [density(Z) for Z in (triangle, path)]
    assert densities[0] == -jnp.inf
    assert np.isfinite(densities[1])


@pytest.mark.parametrize(
    ("prior", "medians"),
    [
        (dist.LogNormal(0.0, 1e-9), [1, 1, 1]),
        (lambda num_dims: dist.LogNormal(jnp.log(num_dims), 1e-9), [3, 3, 3]),
        (dist.LogNormal(jnp.log(jnp.arange(1.0, 4.0)), 1e-9).to_event(1), [1, 2, 3]),
    ],
    ids=["each", "function of D", "vector"],
)
def test_lengthscale_priors(prior, medians, X):
    lengthscale = traced(AdditiveGP(lengthscale=prior), X)["lengthscale"]["value"]
    np.testing.assert_allclose(lengthscale, medians, rtol=1e-6)


def test_needs_64_bit_floats(X):
    with jax.enable_x64(False), pytest.raises(RuntimeError, match=r"numpyro.enable_x64\(\)"):
        traced(AdditiveGP(), np.asarray(X, np.float32))


def test_points_must_be_a_matrix():
    with pytest.raises(ValueError, match=r"X must have shape \(n, D\), got \(5,\)"):
        traced(AdditiveGP(), jnp.zeros(5))
