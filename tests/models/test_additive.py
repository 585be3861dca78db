"""The additive Gaussian process as a NumPyro model: every tool of NumPyro works on it."""

from functools import partial
from typing import NamedTuple

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
    AdditiveGP,
    Centered,
    Decomposition,
    EdgeBernoulli,
    FiniteUniform,
    Interactions,
    OtherOrders,
    Residual,
    Stationary,
    cliques,
    edges,
    squared_exponential,
)

NUM_DIMS = 3


def my_structure(num_dims: int) -> Decomposition:
    """A structure as a user writes it."""
    p = numpyro.sample("edge_probability", dist.Beta(1.0, 4.0))
    Z = numpyro.sample("Z", EdgeBernoulli(num_dims, p))
    return cliques(Z)


def active_set(num_dims: int) -> Decomposition:
    """A structure other than a graph: main effects and one component over active dimensions."""
    active = numpyro.sample("active", dist.Bernoulli(0.5).expand([num_dims]).to_event(1))
    return Decomposition.of(jnp.concatenate([jnp.eye(num_dims), active[None]]).astype(bool))


LEARNED_HEREDITY = Interactions(heredity=dist.Uniform(0.0, 1.0))
BASE_SITES = {"lengthscale", "outputscale", "noise", "y"}
MODELS = {
    "default": (AdditiveGP(), {"Z"}),
    "my structure": (AdditiveGP(structure=my_structure), {"Z", "edge_probability"}),
    "residual": (AdditiveGP(residual=Residual()), {"Z", "rho", "kappa"}),
    "relevance": (AdditiveGP(relevance=dist.HalfCauchy(1.0)), {"Z", "relevance"}),
    "interactions": (
        AdditiveGP(relevance=dist.HalfCauchy(1.0), interactions=LEARNED_HEREDITY),
        {"Z", "relevance", "heredity", "interaction_scale", "interaction"},
    ),
    "other orders": (
        AdditiveGP(kernel=Centered(squared_exponential), residual=OtherOrders()),
        {"Z", "rho", "reach"},
    ),
    "finite lengthscales": (AdditiveGP(lengthscale=FiniteUniform([0.2, 0.5])), {"Z"}),
    "active set": (AdditiveGP(structure=active_set), {"active"}),
}
EDGES = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
VALUES = {
    "Z": EDGES,
    "edge_probability": np.array(0.3),
    "active": np.array([1, 0, 1]),
    "lengthscale": np.array([0.2, 0.5, 0.2]),
    "outputscale": np.array(1.7),
    "noise": np.array(0.1),
    "rho": np.array(0.3),
    "kappa": np.array(1.5),
    "reach": np.array(0.6),
    "relevance": np.array([0.4, 1.0, 2.0]),
    "heredity": np.array(0.7),
    "interaction_scale": np.array(0.3),
    "interaction": np.array([0.5, 1.0, 2.0]),
}
"""Values of all latent sites; drawing them from the priors would dominate compilation."""
LIKE_ANOTHER = (
    *(
        "default",
        "residual",
        "relevance",
        "interactions",
        "other orders",
        "finite lengthscales",
        "active set",
    ),
)
"""Models whose predictions by NumPyro are tested nightly only, as another row is similar."""


@pytest.fixture(scope="module")
def X() -> jax.Array:
    return jnp.array(np.random.default_rng(0).random((6, NUM_DIMS)))


@pytest.fixture(scope="module")
def y() -> jax.Array:
    return jnp.array(np.random.default_rng(1).normal(size=6))


def traced(model, *args, **kwargs):
    return handlers.trace(handlers.seed(model, jax.random.key(0))).get_trace(*args, **kwargs)


def substituted(model, *args, **kwargs):
    return traced(handlers.substitute(model, VALUES), *args, **kwargs)


class Run(NamedTuple):
    """Values of the sites, densities of the latent ones, Gram matrix, joint density."""

    values: dict[str, jax.Array]
    priors: dict[str, jax.Array]
    gram: jax.Array
    density: jax.Array


@pytest.fixture(scope="module", params=MODELS)
def case(request, X, y) -> tuple[AdditiveGP, set[str], Run]:
    model, own_sites = MODELS[request.param]

    @jax.jit
    def run(X, y):
        density, trace = log_density(model, (X, y), {}, VALUES)
        assert trace["y"]["is_observed"]
        values = {name: jnp.asarray(site["value"]) for name, site in trace.items()}
        latent = set(trace) - {"y"}
        priors = {name: trace[name]["fn"].log_prob(values[name]).sum() for name in latent}
        return Run(values, priors, trace["y"]["fn"].covariance(X, X), density)

    return model, own_sites, run(X, y)


def test_sites(case, X, y):
    model, own_sites, run = case
    assert set(run.values) == BASE_SITES | own_sites
    np.testing.assert_array_equal(run.values["y"], y)
    drawn = jax.eval_shape(
        lambda X: {name: site["value"] for name, site in traced(model, X).items()}, X
    )
    assert set(drawn) == set(run.values)
    assert drawn["lengthscale"].shape == (NUM_DIMS,)
    assert drawn["y"].shape == (6,)


def test_log_density_is_the_sum_over_sites(case, y):
    """The observed site has a dense normal density, all others have their priors."""
    _, _, run = case
    covariance = run.gram + run.values["noise"] * np.eye(6)
    expected = multivariate_normal.logpdf(y, cov=covariance) + sum(run.priors.values())
    np.testing.assert_allclose(run.density, expected, rtol=1e-9)


def test_condition_and_substitute(X, y):
    model, Z = AdditiveGP(), np.ones((NUM_DIMS, NUM_DIMS), int) - np.eye(NUM_DIMS, dtype=int)
    data = {"Z": Z, "noise": np.array(0.2)}

    @partial(jax.jit, static_argnums=(0, 1))
    def run(handler, is_observed, X, y):
        trace = traced(handler(model, data), X, y)
        assert trace["Z"]["is_observed"] == is_observed
        return trace["y"]["fn"].noise, trace["y"]["fn"].covariance.decomposition.count

    for handler, is_observed in ((handlers.condition, True), (handlers.substitute, False)):
        assert run(handler, is_observed, X, y) == (0.2, NUM_DIMS + 3)


@pytest.mark.parametrize(
    ("model", "own_sites"),
    [
        pytest.param(*model, id=name, marks=[pytest.mark.nightly] * (name in LIKE_ANOTHER))
        for name, model in MODELS.items()
    ],
)
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
    """The source of the drawing does not need the `dot` program."""
    source = numpyro.render_model(AdditiveGP(structure=my_structure), (X, y)).source
    for site in BASE_SITES | {"Z", "edge_probability"}:
        assert f"{site} [" in source
    assert "edge_probability -> Z" in source


def test_padded_rows_change_nothing(X, y):
    model = AdditiveGP(residual=Residual())
    padded_X = np.concatenate([X, np.full((3, NUM_DIMS), 0.5)])
    padded_y = np.concatenate([y, [7.0, -7.0, 0.0]])
    mask = np.arange(9) < 6

    def density(hyper, *args):
        return log_density(model, args, {}, VALUES | hyper)[0]

    @jax.jit
    def padded(hyper, X, y, mask):
        found = jax.value_and_grad(density)(hyper, X, y, mask)
        return found, substituted(model, X, mask=mask)["y"]["value"]

    hyper = {name: VALUES[name] for name in ("lengthscale", "noise", "rho")}
    one = jax.jit(jax.value_and_grad(density))(hyper, X, y)
    two, drawn = padded(hyper, padded_X, padded_y, mask)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-9), one, two)
    assert not np.asarray(drawn)[6:].any()


STATIONARY = [kernel for kernel in KERNELS.values() if isinstance(kernel, Stationary)]


@pytest.mark.parametrize("kernel", STATIONARY, ids=repr)
def test_kernel_option(kernel, X, y):
    """One component over one dimension has the kernel itself as covariance."""
    model = AdditiveGP(
        structure=lambda d: Decomposition.of(jnp.eye(1, d, dtype=bool)), kernel=kernel
    )

    @jax.jit
    def both(X, y):
        covariance = substituted(model, X, y)["y"]["fn"].covariance
        r = jnp.abs(X[:, None, 0] - X[None, :, 0]) / covariance.lengthscale[0]
        return covariance(X, X), covariance.outputscale * kernel.at_distance(r)

    np.testing.assert_allclose(*both(X, y), rtol=1e-12)


def test_categorical_option():
    """All pairs of different levels are equally correlated."""
    levels = np.linspace(0, 1, 4)[:, None]
    model = AdditiveGP(categorical=(0,))
    data = {"lengthscale": np.array([0.4])}

    @jax.jit
    def run(X, y):
        covariance = traced(handlers.substitute(model, data), X, y)["y"]["fn"].covariance
        return covariance(X, X)

    between = np.asarray(run(levels, np.zeros(4)))[~np.eye(4, dtype=bool)]
    np.testing.assert_allclose(between, between[0], rtol=1e-12)


def test_relevance_and_residual_share_the_variance(X, y):
    """After the residual's share, shares are proportional to size times mean relevance."""
    model = AdditiveGP(structure=edges(0.0), relevance=dist.HalfNormal(1.0), residual=Residual())
    data = {
        "relevance": jnp.array([1.0, 3.0, 0.0]),
        "rho": jnp.array(0.2),
        "outputscale": jnp.array(2.0),
    }

    @jax.jit
    def run(X, y):
        covariance = traced(handlers.condition(model, data), X, y)["y"]["fn"].covariance
        grams = covariance.residual_gram(X, X), covariance(X, X)
        return covariance.variances, *(gram.diagonal() for gram in grams)

    variances, residual, total = run(X, y)
    np.testing.assert_allclose(variances[:3], [0.4, 1.2, 0.0], rtol=1e-12)
    np.testing.assert_allclose(residual, 0.4, rtol=1e-12)
    np.testing.assert_allclose(total, 2.0, rtol=1e-12)


def test_pairs_have_strengths_of_their_own(X, y):
    """Shares of main effects and pairs, in proportion to size times strength."""
    model = AdditiveGP(edges(1.0), relevance=dist.HalfNormal(1.0), interactions=LEARNED_HEREDITY)
    names = ("relevance", "heredity", "interaction_scale", "interaction")
    fixed = handlers.condition(model, data={name: jnp.array(VALUES[name]) for name in names})

    @jax.jit
    def run(X, y):
        covariance = traced(fixed, X, y)["y"]["fn"].covariance
        return covariance.shares, covariance.decomposition.members

    shares, members = run(X, y)
    expected = {(0,): 0.4, (1,): 1.0, (2,): 2.0}
    expected[0, 1] = 2.0 * 0.3 * (0.4 * 1.0) ** 0.7 * 0.5
    expected[0, 2] = 2.0 * 0.3 * (0.4 * 2.0) ** 0.7 * 1.0
    expected[1, 2] = 2.0 * 0.3 * (1.0 * 2.0) ** 0.7 * 2.0
    found = {tuple(np.flatnonzero(row).tolist()): s for row, s in zip(members, shares, strict=True)}
    total = sum(expected.values())
    assert found == pytest.approx({members: w / total for members, w in expected.items()})
    with pytest.raises(ValueError, match="give a prior of relevance too"):
        AdditiveGP(interactions=Interactions())


def test_structure_outside_its_bounds_has_density_zero(X, y):
    model = AdditiveGP(structure=edges(0.5, components=partial(cliques, max_size=2)))
    triangle = np.ones((NUM_DIMS, NUM_DIMS), int) - np.eye(NUM_DIMS, dtype=int)
    path = triangle.copy()
    path[[0, 2], [2, 0]] = 0

    @jax.jit
    def density(Z):
        return log_density(model, (X, y), {}, VALUES | {"Z": Z})[0]

    densities = [density(Z) for Z in (triangle, path)]
    assert densities[0] == -np.inf
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
    model = AdditiveGP(lengthscale=prior)
    lengthscale = jax.jit(lambda X: traced(model, X)["lengthscale"]["value"])(X)
    np.testing.assert_allclose(lengthscale, medians, rtol=1e-6)


def test_needs_64_bit_floats(X):
    with jax.enable_x64(False), pytest.raises(RuntimeError, match=r"numpyro.enable_x64\(\)"):
        traced(AdditiveGP(), np.asarray(X, np.float32))


def test_points_must_be_a_matrix():
    with pytest.raises(ValueError, match=r"X must have shape \(n, D\), got \(5,\)"):
        traced(AdditiveGP(), jnp.zeros(5))
