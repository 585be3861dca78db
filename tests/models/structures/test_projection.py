"""Projections: the delta-ratio constraint, the prior under it, and the box around the cube."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer import MCMC, NUTS
from scipy.spatial import ConvexHull

from structbo.models import (
    AdditiveGP,
    ConditionedGP,
    Decomposition,
    NearIdentity,
    OuterBox,
    cliques,
    edges,
    least_alpha,
    outer_box_ratio,
    projected,
    squared_exponential,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("delta", [0.05, 0.1])
def test_the_bound_leaves_the_same_small_sum_of_any_directions(delta):
    """Elements off the diagonal, relative to it, sum to log(1 + delta) to first order."""
    for num_dims, reach in ((10, 0.25), (50, 0.25), (100, 0.125)):
        A = np.eye(num_dims) + RNG.uniform(-reach, reach, (num_dims, num_dims))
        alpha = float(jax.jit(least_alpha)(A, delta))
        W = (1.0 - alpha) * A + alpha * np.eye(num_dims)
        np.testing.assert_allclose(outer_box_ratio(W), 1.0 + delta, rtol=1e-9)
        off = np.abs(W / np.diag(W)) - np.eye(num_dims)
        np.testing.assert_allclose(off.sum(), np.log1p(delta), rtol=0.01)


@pytest.mark.parametrize("num_dims", [2, 3])
def test_ratio_is_that_of_two_volumes(num_dims):
    """Both volumes are measured: the box, and the convex hull of the projected corners."""
    W = RNG.normal(size=(num_dims, num_dims))
    corners = np.array(list(np.ndindex(*[2] * num_dims))) @ W
    box = np.prod(corners.max(0) - corners.min(0))
    np.testing.assert_allclose(outer_box_ratio(W), box / ConvexHull(corners).volume, rtol=1e-10)


@partial(jax.jit, static_argnums=0)
def ratios_of_draws(num_dims: int, delta: float) -> tuple[jax.Array, jax.Array]:
    prior = NearIdentity(num_dims, 0.5, delta)
    W = prior.sample(jax.random.key(1), (50,))
    return jax.vmap(outer_box_ratio)(W), prior.support(W)


@pytest.mark.parametrize("delta", [0.02, 5.0])
@pytest.mark.parametrize("num_dims", [1, 3, 30])
def test_every_draw_meets_the_constraint(num_dims, delta):
    ratios, is_inside = ratios_of_draws(num_dims, delta)
    assert ratios.max() <= (1 + delta) * (1 + 1e-9)
    assert num_dims == 1 or ratios.max() > 1 + 0.5 * delta  # and the room is used
    assert is_inside.all()


def test_support_ends_at_the_bound():
    W = jnp.array([[1.0, 0.2], [0.3, 1.0]])
    ratio = float(outer_box_ratio(W))
    inside, outside = (NearIdentity(2, 0.3, ratio - 1 + gap).support(W) for gap in (1e-6, -1e-6))
    assert inside and not outside


def test_draws_lie_on_the_rays_of_the_paper():
    """W_hat = (1 - alpha) W + alpha I with the smallest feasible alpha per draw."""
    prior = NearIdentity(3, 0.4, 0.1)
    W = prior.base_dist.sample(jax.random.key(0))
    (transform,) = prior.transforms
    kept = (np.asarray(transform(W)) - np.eye(3)) / (np.asarray(W) - np.eye(3))
    assert np.ptp(kept) < 1e-9 and 0 < kept[0, 0] < 1


@jax.jit
def densities(delta: float) -> dict[str, jax.Array]:
    prior = NearIdentity(3, 0.4, delta)
    (transform,) = prior.transforms
    x = prior.base_dist.sample(jax.random.key(3))
    steps = 1e-6 * jnp.eye(9).reshape(9, 3, 3)
    # A single call for all points, because every call compiles a program.
    points = transform(jnp.concatenate([x[None], x + steps, x - steps]))
    y, forwards, backwards = points[0], points[1:10], points[10:]
    return {
        "x": x,
        "forwards": forwards.reshape(9, 9),
        "backwards": backwards.reshape(9, 9),
        "log_det": transform.log_abs_det_jacobian(x, y),
        "inverse": transform.inv(y),
        "base": prior.base_dist.log_prob(x),
        "density": prior.log_prob(y),
    }


@pytest.mark.parametrize("delta", [0.1, 3.0, np.inf])
def test_density_is_that_of_the_draws(delta):
    """The change of volume equals the determinant of a numerical Jacobian; the map inverts."""
    found = densities(delta)
    jacobian = (found["forwards"] - found["backwards"]) / 2e-6
    expected = np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(found["log_det"], expected, atol=1e-6)
    np.testing.assert_allclose(found["inverse"], found["x"], atol=1e-9)
    np.testing.assert_allclose(found["density"], found["base"] - expected, atol=1e-6)


@partial(jax.jit, static_argnums=0)
def gradient_of_the_potential(num_dims: int, delta: float) -> tuple[jax.Array, jax.Array]:
    prior = NearIdentity(num_dims, 0.3, delta)
    transform = biject_to(prior.support)
    x = prior.base_dist.sample(jax.random.key(2))

    def potential(x):
        y = transform(x)
        return prior.log_prob(y) + transform.log_abs_det_jacobian(x, y)

    return x, jax.grad(potential)(x)


@pytest.mark.parametrize("delta", [0.05, np.inf])
@pytest.mark.parametrize("num_dims", [pytest.param(1, marks=pytest.mark.nightly), 4])
def test_gradient_on_the_unconstrained_space_is_that_of_a_normal(num_dims, delta):
    """The contributions of the bound cancel in the gradient of Hamiltonian moves."""
    x, gradient = gradient_of_the_potential(num_dims, delta)
    np.testing.assert_allclose(gradient, -(x - np.eye(num_dims)) / 0.09, atol=1e-8)


@pytest.mark.nightly
def test_nuts_draws_the_prior():
    """Means and deviations of an element against independent draws, within 4 standard errors."""

    def model():
        numpyro.sample("W", NearIdentity(2, 0.5, 0.2))

    kernel = NUTS(model, max_tree_depth=3)
    mcmc = MCMC(kernel, num_warmup=300, num_samples=2000, progress_bar=False)
    mcmc.run(jax.random.key(0))
    chain = np.asarray(mcmc.get_samples()["W"])[::2]
    exact = np.asarray(NearIdentity(2, 0.5, 0.2).sample(jax.random.key(5), (4000,)))
    assert jax.vmap(outer_box_ratio)(chain).max() <= 1.2 * (1 + 1e-9)
    for power in (1, 2):
        got, want = chain**power, exact**power
        error = np.sqrt(got.var(0) / len(got) * 2 + want.var(0) / len(want))
        assert (np.abs(got.mean(0) - want.mean(0)) < 4 * error).all()


def test_outer_box_holds_the_cube_and_touches_it():
    W = RNG.normal(size=(4, 4))
    corners = np.array(list(np.ndindex(2, 2, 2, 2)), float)
    u = OuterBox(W).to_unit(corners)
    np.testing.assert_allclose(u.min(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(u.max(0), 1.0, atol=1e-12)


def test_points_of_the_box_come_back():
    """Points with a preimage in the cube are exact; the loss of clipped ones is reported."""
    W = np.eye(4) + 0.2 * RNG.normal(size=(4, 4))
    box, x = OuterBox(W), RNG.random((20, 4))
    back, loss = box.from_unit(box.to_unit(x))
    np.testing.assert_allclose(back, x, atol=1e-10)
    np.testing.assert_allclose(loss, 0.0, atol=1e-10)
    corner, loss = box.from_unit(jnp.array([[0.0, 1.0, 0.0, 1.0]]))
    assert ((corner >= 0) & (corner <= 1)).all() and loss[0] > 0.01


def test_embedding_has_preimages_nearest_to_the_center():
    W = RNG.normal(size=(6, 2))
    box, center = OuterBox(W), np.full((1, 6), 0.5)
    back, _ = box.from_unit(box.to_unit(center))
    np.testing.assert_allclose(back, center, atol=1e-12)
    z = box.to_unit(center + 0.05 * W[:, 0])
    np.testing.assert_allclose(box.to_unit(box.from_unit(z)[0]), z, atol=1e-10)


PARAMETERS = {"outputscale": 1.3, "noise": 0.05}


def conditioned(structure, X, y, **parameters) -> ConditionedGP:
    fixed = {name: jnp.asarray(v) for name, v in {**PARAMETERS, **parameters}.items()}
    model = AdditiveGP(structure, squared_exponential)  # its frequencies compile quickly
    run = handlers.substitute(handlers.seed(model, jax.random.key(0)), data=fixed)
    return handlers.trace(run).get_trace(X, y)["y"]["fn"].condition(y)


@pytest.fixture
def case():
    X = RNG.random((12, 4))
    return X, np.sin(X.sum(1)), np.eye(4) + 0.3 * RNG.normal(size=(4, 4))


def test_projected_model_is_the_model_of_projected_points(case):
    X, y, W = case
    graph = np.zeros((4, 4), int)
    graph[[0, 1], [1, 0]] = 1
    lengthscale = np.array([0.5, 0.6, 0.7, 0.8])

    @partial(jax.jit, static_argnums=0)
    def ask(structure, X, y, x):
        posterior = conditioned(structure, X, y, lengthscale=lengthscale)
        path = posterior.sample_path(jax.random.key(1), 64)
        return posterior.predict(x), posterior.predict_component(0, x), path(x)

    x = RNG.random((7, 4))
    got = ask(lambda d: projected(cliques(graph), W), X, y, x)
    want = ask(lambda d: cliques(graph), X @ W, y, x @ W)
    for one, other, atol in zip(got, want, (1e-10, 1e-10, 1e-8), strict=True):
        np.testing.assert_allclose(one, other, atol=atol)


def test_process_in_its_outer_box_is_the_same_process(case):
    X, y, W = case

    @jax.jit
    def ask(X, y, x):
        posterior = conditioned(
            lambda d: projected(edges(0.5)(3), W[:, :3]), X, y, lengthscale=[0.5, 0.6, 0.7]
        )
        boxed = posterior.in_outer_box()
        assert boxed.covariance.decomposition.projection is None
        return boxed.predict(OuterBox(W[:, :3]).to_unit(x)), posterior.predict(x)

    got, want = ask(X, y, RNG.random((7, 4)))
    np.testing.assert_allclose(got, want, atol=1e-10)


def test_lengthscales_belong_to_the_directions():
    W = np.ones((5, 2))
    model = AdditiveGP(lambda d: projected(Decomposition.of(np.eye(2, dtype=bool)), W))

    def lengthscale(X):
        run = handlers.seed(model, jax.random.key(0))
        return handlers.trace(run).get_trace(X)["lengthscale"]["value"]

    assert jax.eval_shape(lengthscale, np.zeros((3, 5))).shape == (2,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: projected(cliques(np.zeros((3, 3))), np.ones((3, 2))), "one column for each"),
        (lambda: NearIdentity(3, 0.0), "scale must be positive and finite, got 0.0"),
        (lambda: NearIdentity(3, delta=-0.1), r"delta must be positive, got -0\.1"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        jax.eval_shape(call)


def test_categories_are_not_projected():
    model = AdditiveGP(lambda d: projected(edges()(d), jnp.eye(d)), categorical=(1,))
    with pytest.raises(ValueError, match=r"dimensions \(1,\) are categorical"):
        handlers.seed(model, 0)(jnp.zeros((3, 2)))


def test_scale_may_be_random():
    def model():
        scale = numpyro.sample("scale", dist.HalfNormal(0.3))
        numpyro.sample("W", NearIdentity(3, scale, 0.1))

    @jax.jit
    def density(key):
        trace = handlers.trace(handlers.seed(model, key)).get_trace()
        return trace["W"]["fn"].log_prob(trace["W"]["value"])

    assert np.isfinite(density(jax.random.key(0)))
