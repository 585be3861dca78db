"""The residual of all orders but one and two, against sums over all subsets of dimensions."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from jaxtyping import Array, Float
from numpyro import handlers
from numpyro.infer.util import log_density

from structbo.models import (
    AdditiveCovariance,
    AdditiveGP,
    Centered,
    ConditionedGP,
    Exchangeable,
    MarginalGP,
    OtherOrders,
    OtherOrdersResidual,
    Residual,
    main_effects,
    matern52,
    pairs,
    residual,
    squared_exponential,
)
from structbo.models.kernels import KernelGroup
from structbo.models.orders import elementary_sums
from structbo.models.prototype import prior_trace
from structbo.posterior import Posterior, anova_model

NUM_DIMS = 4
EDGES = np.zeros((NUM_DIMS, NUM_DIMS), int)
EDGES[0, 1] = EDGES[1, 0] = 1
REACH = np.array([0.5, 1.0, 0.3, 0.8])
SHARE, CONSTANT, SCALE = 0.3, 0.7, 1.4
GROUPS = (
    KernelGroup(Centered(squared_exponential), (3, 0), ()),
    KernelGroup(Centered(Exchangeable(3)), (1,), ()),
    KernelGroup(Centered(matern52, levels=(0.0, 0.5, 1.0)), (2,), ()),
)
RNG = np.random.default_rng(0)
X = np.rint(2.0 * RNG.random((6, NUM_DIMS))) / 2.0
NEW = np.rint(2.0 * RNG.random((5, NUM_DIMS))) / 2.0


def covariance(**changes: Array) -> AdditiveCovariance:
    numbers = {"share": SHARE, "reach": REACH, "constant": CONSTANT} | changes
    return AdditiveCovariance(
        pairs(jnp.asarray(EDGES)),
        jnp.array([0.5, 0.6, 0.7, 0.8]),
        jnp.array(SCALE),
        None,
        OtherOrdersResidual(**{name: jnp.asarray(value) for name, value in numbers.items()}),
        squared_exponential,
        (1,),
        GROUPS,
    )


def over_subsets(values: Float[np.ndarray, " D *shape"]) -> Float[np.ndarray, "*shape"]:
    """The sum over all products of three and more values."""
    subsets = (
        s for size in range(3, len(values) + 1) for s in combinations(range(len(values)), size)
    )
    return sum(values[np.array(subset)].prod(0) for subset in subsets)


def expected_residual(k: AdditiveCovariance, x: np.ndarray, other: np.ndarray) -> np.ndarray:
    factors = np.asarray(jax.jit(lambda x, other: k.factors(x, other))(x, other))
    share = SHARE / over_subsets(REACH)
    return SCALE * (share * over_subsets(REACH[:, None, None] * factors) + CONSTANT)


def test_residual_is_a_sum_over_subsets():
    k = covariance()
    found = jax.jit(lambda x, other: k.residual_gram(x, other))(NEW, X)
    np.testing.assert_allclose(found, expected_residual(k, NEW, X), rtol=1e-12)
    assert not over_subsets(np.ones((2, 3))), "two dimensions have no products of three"


def test_covariance_is_the_sum_of_its_parts():
    k = covariance()

    @jax.jit
    def parts(x, other):
        components = jax.lax.map(lambda c: k.component_gram(c, x, other), jnp.arange(5))
        return k(x, other), components.sum(0) + k.residual_gram(x, other)

    np.testing.assert_allclose(*parts(NEW, X), rtol=1e-12)
    whole, variances = jax.jit(lambda x: (k(x, x), k.prior_variance(x)))(X)
    np.testing.assert_allclose(np.diagonal(whole), variances, rtol=1e-12)


@pytest.mark.parametrize("num_points", [6, 140], ids=["whole", "in tiles"])
def test_gradients_of_the_covariance(num_points: int) -> None:
    """By points and numbers, against JAX's derivatives of the sum over subsets."""
    rng = np.random.default_rng(2)
    x = jnp.asarray(np.rint(2.0 * rng.random((num_points, NUM_DIMS))) / 2.0)
    x = x.at[:, 0].set(rng.random(num_points)).at[:, 3].set(rng.random(num_points))
    weights = jnp.asarray(rng.normal(size=(num_points, num_points)))
    numbers = jnp.array([0.5, 0.6, 0.7, 0.8]), jnp.array(SHARE), jnp.asarray(REACH)

    def given(lengthscale: Array, share: Array, reach: Array) -> AdditiveCovariance:
        return replace(covariance(share=share, reach=reach), lengthscale=lengthscale)

    def found(x: Array, numbers: tuple[Array, ...]) -> Array:
        return (weights * given(*numbers)(x, x)).sum()

    def expected(x: Array, numbers: tuple[Array, ...]) -> Array:
        k = given(*numbers)
        factors, reach = k.factors(x, x), k.residual.reach
        residual = k.residual.scale * over_subsets(reach[:, None, None] * factors) + CONSTANT
        members = k.decomposition.members[:, :, None, None]
        products = jnp.where(members, factors, 1.0).prod(1)
        return (weights * (SCALE * residual + jnp.tensordot(k.variances, products, 1))).sum()

    one, two = (
        jax.jit(jax.value_and_grad(function, (0, 1)))(x, numbers) for function in (found, expected)
    )
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-8, atol=1e-10), one, two)


def test_variance_is_the_output_scale_on_average():
    """Over all combinations of levels and a fine grid, without the constant."""
    k = covariance(constant=0.0)
    fine, levels = (np.arange(40) + 0.5) / 40, np.linspace(0.0, 1.0, 3)
    mesh = np.meshgrid(fine, levels, levels, fine, indexing="ij")
    points = np.stack(mesh, -1).reshape(-1, NUM_DIMS)
    assert jax.jit(k.prior_variance)(points).mean() == pytest.approx(SCALE, rel=1e-3)


@pytest.mark.parametrize("dim", range(NUM_DIMS))
def test_lines(dim: int):
    k = covariance()
    lines = np.repeat(NEW[:, None], 3, 1)
    lines[:, :, dim] = [0.0, 0.5, 1.0]
    found = jax.jit(lambda x: k.on_lines(x, jnp.array(dim), jnp.asarray(X)))(lines)
    whole = jax.jit(lambda x: k(x, jnp.asarray(X)))(lines.reshape(-1, NUM_DIMS))
    np.testing.assert_allclose(found.reshape(whole.shape), whole, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "others"), [({}, "0, 1"), ({"kernels": {1: Centered(matern52)}}, "0")]
)
def test_all_kernels_must_be_centered(options: dict, others: str):
    model = AdditiveGP(main_effects(), residual=OtherOrders(), **options)
    with pytest.raises(ValueError, match=rf"of all dimensions, and \[{others}\] have other ones"):
        handlers.seed(model, 0)(np.zeros((2, 2)))


def test_derivatives_of_products_of_three_and_more():
    scales = jnp.array([0.5, 1.0, 0.2, 2.0, 0.1])
    values = jnp.array(np.random.default_rng(1).normal(size=(5, 3, 2)))
    sums, expected = (
        elementary_sums(values, scales),
        jax.grad(lambda v: elementary_sums(v).more.sum()),
    )
    scaled = scales[:, None, None] * values
    np.testing.assert_allclose(sums.by_value(scaled), expected(scaled), rtol=1e-11)
    np.testing.assert_array_equal(elementary_sums(jnp.ones(2)).by_value(jnp.ones(2)), 0.0)
    assert float(elementary_sums(jnp.array([-1.0, 2.0, 3.0])).by_value(jnp.array(-1.0))) == 0.0


def test_small_sums_are_exact():
    """A product of three factors of 1e-9 beside terms of one would be lost to rounding."""
    assert elementary_sums(jnp.full(3, 1e-9))[2] == pytest.approx(1e-27, rel=1e-12)


def conditioned() -> ConditionedGP:
    return MarginalGP(covariance(), jnp.asarray(X), jnp.array(0.1)).condition(jnp.arange(6.0))


def test_drawn_functions_have_the_posterior_of_the_residual():
    """Means and covariances of 3,000 functions, within 4.5 standard errors."""
    number, new = 3000, jnp.asarray(NEW[:3])

    @jax.jit
    def draws(keys):
        def one(key):
            path = conditioned().sample_path(key, 32)
            total = path.residual(new) + sum(path.component(c, new) for c in range(5))
            return path.residual(new), total - path(new)

        return jax.lax.map(one, keys, batch_size=100)

    found, difference = map(np.asarray, draws(jax.random.split(jax.random.key(0), number)))
    np.testing.assert_allclose(difference, 0.0, atol=1e-9)
    mean, variance = map(np.asarray, jax.jit(lambda: conditioned().predict_residual(new))())
    error = np.sqrt(variance / number)
    assert (np.abs(found.mean(0) - mean) < 4.5 * error).all()
    squares = np.square(found - mean)
    assert (np.abs(squares.mean(0) - variance) < 4.5 * squares.std(0) / np.sqrt(number)).all()


def test_terms_of_three_and_more_are_nothing_else():
    """Half of the variance is the residual's, which has no share of main effects and pairs."""
    model = AdditiveGP(
        main_effects(), Centered(squared_exponential), residual=OtherOrders(constant=2.0)
    )
    rng = np.random.default_rng(0)
    draws = {
        "lengthscale": np.full((1, 40, 3), 0.5),
        "outputscale": np.ones((1, 40)),
        "noise": np.full((1, 40), 0.1),
        "rho": np.full((1, 40), 0.5),
        "reach": np.full((1, 40), 0.5),
    }
    found = Posterior(model, np.zeros((0, 3)), np.zeros(0), draws).importances()
    np.testing.assert_allclose(found.pairs.upper, 0.0, atol=1e-12)
    assert found.higher_order.mean == pytest.approx(0.5, abs=0.1)
    np.testing.assert_allclose(
        found.total.mean, found.first_order.mean + found.higher_order.mean, atol=1e-12
    )
    y = 3.0 + rng.normal(size=8)
    posterior = Posterior(model, rng.random((8, 3)), y, draws)
    average = posterior.effect("x0").mean.mean()
    assert average == pytest.approx(3.0, abs=0.6), "the constant learns the level of the values"


def test_a_residual_that_a_traced_function_makes_first_leaves_no_tracers() -> None:
    """Default priors are made once; a custom model may make them while JAX traces it."""
    residual._at_least_one.cache_clear()
    residual._a_quarter.cache_clear()

    @jax.jit
    def density(kappa: jax.Array) -> jax.Array:
        return Residual().kappa.log_prob(kappa) + OtherOrders().rho.log_prob(0.5)

    traced = density(jnp.array(2.0))
    again = Residual().kappa.log_prob(2.0) + OtherOrders().rho.log_prob(0.5)
    assert float(traced) == pytest.approx(float(again))


@pytest.mark.parametrize("num_dims", [1, 2, 3])
def test_the_density_has_its_gradient_in_few_dimensions(num_dims: int) -> None:
    """Without products of three, a share of their variance would be divided by nothing."""
    model = anova_model({f"x{d}": (0.0, 1.0) for d in range(num_dims)})
    sites = {name: site for name, site in prior_trace(model, num_dims).items() if name != "y"}
    assert ({"rho", "reach"} <= sites.keys()) == (num_dims == 3)
    rng = np.random.default_rng(num_dims)
    x, y = rng.random((6, num_dims)), rng.normal(size=6)
    reals = {name: site["value"] for name, site in sites.items() if name != "Z"}
    pairs = jnp.ones((num_dims, num_dims), int) - jnp.eye(num_dims, dtype=int)

    def density(values: dict[str, jax.Array]) -> jax.Array:
        return log_density(model, (x, y), {}, values | {"Z": pairs})[0]

    check_grads(jax.jit(density), (reals,), 1, modes=["rev"], eps=1e-6, rtol=1e-5)
