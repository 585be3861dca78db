"""Every kernel of the registry, and the example, as the kernel of some of the dimensions."""

import itertools
import pickle
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from extend.new_kernel import Warped
from jax.test_util import check_grads
from numpyro import handlers

from structbo.models import (
    KERNELS,
    AdditiveCovariance,
    AdditiveGP,
    Decomposition,
    Kernel,
    LevelCorrelations,
    MarginalGP,
    Periodic,
    ProductResidual,
    edges,
    matern52,
    projected,
    squared_exponential,
)
from structbo.models.kernels import KernelGroup
from structbo.models.strengths import mean_strengths
from structbo.models.tiles import MAX_WHOLE, MAX_WHOLE_FACTORS

ALL = {**KERNELS, "example": Warped()}
OWN = (0, 2)
"""The dimensions with the kernel; the others have Matern 5/2, the last is categorical."""
MEMBERS = [[1, 1, 0, 0], [1, 0, 1, 1], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
NUM_COMPONENTS = 4
RELEVANCE = (0.4, 1.0, 2.0, 0.7)
NOISE = 0.05

LIKE_ANOTHER = ("matern32", "matern52")
"""Kernels that differ from the squared exponential only by formulas, see `test_factors`."""

each_kernel = pytest.mark.parametrize("kernel", ALL.values(), ids=ALL.keys())


class Case(NamedTuple):
    """A covariance with the kernel in some dimensions, data, and other points."""

    covariance: AdditiveCovariance
    x: jax.Array
    y: jax.Array
    new: jax.Array

    @property
    def group(self) -> KernelGroup:
        return self.covariance.kernel_groups[0]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(kernel, id=name, marks=[pytest.mark.nightly] * (name in LIKE_ANOTHER))
        for name, kernel in ALL.items()
    ],
)
def case(request) -> Case:
    """Seven observations on thirds of the cube's edge where dimensions are categories."""
    rng = np.random.default_rng(4)
    x, new = rng.random((7, 4)), rng.random((3, 4))
    is_level = [3, *(OWN if request.param.is_categorical else ())]
    x[:, is_level], new[:, is_level] = (np.rint(2 * v[:, is_level]) / 2 for v in (x, new))
    draw = handlers.seed(request.param.parameters, jax.random.key(1))
    group = KernelGroup(request.param, OWN, jax.jit(draw, static_argnums=0)(len(OWN)))
    covariance = AdditiveCovariance(
        decomposition=Decomposition.of(jnp.array(MEMBERS, bool)),
        lengthscale=jnp.array([0.6, 0.5, 0.9, 0.8]),
        outputscale=jnp.array(1.7),
        strengths=mean_strengths(jnp.array(RELEVANCE)),
        residual=ProductResidual(jnp.array(0.3), jnp.array(1.5)),
        kernel=matern52,
        categorical=(3,),
        kernel_groups=(group,),
    )
    return Case(covariance, jnp.array(x), jnp.array(rng.normal(size=7)), jnp.array(new))


def dense_correlations(k: AdditiveCovariance, x, other, stretch) -> jax.Array:
    """One matrix per dimension, from the differentiable formula of two numbers."""
    (group,) = k.kernel_groups
    scales = stretch * k.lengthscale
    gaps = jnp.abs(x.T[:, :, None] - other.T[:, None])
    is_category = np.isin(np.arange(4), k.categorical)[:, None, None]
    s = jnp.sqrt(5.0) * jnp.where(is_category, gaps > 0, gaps) / scales[:, None, None]
    grams = (1 + s + s**2 / 3) * jnp.exp(-s)
    row = jax.vmap(group.kernel.correlation, (None, 0, None, None))
    gram = jax.vmap(row, (0, None, None, None))
    dims = np.array(group.dims)
    own = jax.vmap(gram)(x.T[dims], other.T[dims], scales[dims], group.parameters)
    return grams.at[dims].set(own)


def dense_weight(k: AdditiveCovariance, members: np.ndarray) -> jax.Array:
    """The size of a component times its strength, or the mean strength of its pairs."""
    pairs = [(i, j) for i in members for j in members if i != j] or [(members[0], members[0])]
    return len(members) * jnp.stack([k.strengths[pair] for pair in pairs]).mean()


def dense_parts(k: AdditiveCovariance, x, other) -> jax.Array:
    """Prior covariance of every component and, last, of the residual."""
    members = np.array(MEMBERS[:NUM_COMPONENTS], bool)
    weights = jnp.stack([dense_weight(k, np.flatnonzero(row)) for row in members])
    shares = k.outputscale * (1 - k.residual.share) * weights / weights.sum()
    stretches = jnp.stack([jnp.array(1.0), k.residual.stretch])
    single, stretched = jax.vmap(partial(dense_correlations, k, x, other))(stretches)
    by_dim = jnp.where(members.T[:, :, None, None], single[:, None], 1.0)
    parts = shares[:, None, None] * reduce(jnp.multiply, by_dim)
    residual = k.outputscale * k.residual.share * reduce(jnp.multiply, stretched)
    return jnp.concatenate([parts, residual[None]])


def test_the_mean_over_members_is_the_mean_over_their_pairs() -> None:
    members = jnp.array(list(itertools.product([False, True], repeat=4)))
    weights = jnp.linspace(1.0, 2.0, len(members))
    relevance = jnp.array(RELEVANCE)
    numbers = jnp.ones(4), jnp.array(1.0)
    found = [
        AdditiveCovariance(Decomposition.of(members), *numbers, strengths, None, matern52)
        for strengths in (relevance, mean_strengths(relevance))
    ]
    np.testing.assert_allclose(*(k.relative_weight(members, weights) for k in found), rtol=1e-12)


def test_correlations_of_a_dimension(case: Case):
    """A positive semi-definite matrix with the variances on its diagonal, often ones."""
    coordinates = np.linspace(0.0, 1.0, 3 if case.group.kernel.is_categorical else 25)
    points = np.tile(coordinates[:, None], (1, 4))
    correlations = jax.jit(jax.vmap(KernelGroup.correlations, (None, None, None, 0)))
    variances = jax.jit(jax.vmap(KernelGroup.variances, (None, None, 0)))
    lengthscales = np.array([[0.05], [0.5], [5.0]]) * np.ones(4)
    grams = np.asarray(correlations(case.group, points, points, lengthscales))
    assert grams.shape == (3, len(OWN), len(points), len(points))
    np.testing.assert_allclose(grams, grams.swapaxes(2, 3), atol=1e-14)
    diagonal = np.diagonal(grams, axis1=2, axis2=3)
    np.testing.assert_allclose(diagonal, variances(case.group, points, lengthscales), rtol=1e-12)
    assert case.group.kernel.has_unit_variance == np.allclose(diagonal, 1.0, rtol=1e-12)
    assert np.linalg.eigvalsh(grams).min() > -1e-10


def test_gradients_of_a_dimension(case: Case):
    """The reference is finite differences, with respect to continuous coordinates."""

    @jax.jit
    def correlations(x, lengthscale, parameters):
        group = KernelGroup(case.group.kernel, OWN, parameters)
        x = case.x if group.kernel.is_categorical else x
        return group.correlations(x, case.new, lengthscale)

    arguments = (case.x, case.covariance.lengthscale, case.group.parameters)
    check_grads(correlations, arguments, order=1, modes=["rev"], rtol=1e-3, atol=1e-5)


def test_covariance_is_the_dense_sum(case: Case):
    """Gram matrices, components, residual, factors, and gradients by all continuous inputs."""
    k, x = case.covariance, case.x
    numbers = (k.lengthscale, k.outputscale, k.strengths, k.residual, case.group.parameters)
    cotangent = np.random.default_rng(0).normal(size=(len(case.new), len(x)))

    def parts(k: AdditiveCovariance, new: jax.Array) -> jax.Array:
        each = jax.lax.map(lambda c: k.component_gram(c, new, x), jnp.arange(NUM_COMPONENTS))
        return jnp.concatenate([each, k.residual_gram(new, x)[None]])

    def evaluated(total: Callable, parts: Callable, factors: Callable):
        def covariance(numbers) -> AdditiveCovariance:
            lengthscale, outputscale, strengths, residual, parameters = numbers
            return AdditiveCovariance(
                k.decomposition, lengthscale, outputscale, strengths, residual,
                matern52, (3,), (KernelGroup(case.group.kernel, OWN, parameters),),
            )  # fmt: skip

        def weighted(numbers, new):
            found = total(covariance(numbers), new)
            return (found * cotangent).sum(), found

        @jax.jit
        def everything(numbers, new):
            gradients, found = jax.grad(weighted, (0, 1), has_aux=True)(numbers, new)
            k = covariance(numbers)
            return found, parts(k, new), factors(k, new), gradients

        return everything(numbers, case.new)

    total, components, factors, gradients = evaluated(
        lambda k, new: k(new, x), parts, lambda k, new: k.factors(new, x, 2.0)
    )
    expected = evaluated(
        lambda k, new: dense_parts(k, new, x).sum(0),
        lambda k, new: dense_parts(k, new, x),
        lambda k, new: dense_correlations(k, new, x, 2.0),
    )
    np.testing.assert_allclose(components, expected[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(total, expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(factors, expected[2], rtol=1e-9, atol=1e-12)
    compare = partial(np.testing.assert_allclose, rtol=1e-7, atol=1e-10)
    jax.tree.map(compare, gradients, expected[3])


@pytest.mark.usefixtures("on_a_processor")
@pytest.mark.parametrize("num_counting", [130, 30])
def test_tiles_of_many_points(num_counting: int):
    """With enough points for tiles, matrix and gradient equal the ones without tiles.

    Tiles of padding alone are skipped.
    """
    x = jnp.array(np.random.default_rng(0).random((140, 2)))
    counts = np.arange(140) < num_counting

    def covariance(period) -> AdditiveCovariance:
        members = Decomposition.of(jnp.array([[1, 0], [1, 1]], bool))
        group = KernelGroup(Periodic(), (1,), period)
        one = jnp.array(1.0)
        return AdditiveCovariance(members, jnp.ones(2), one, None, None, matern52, (), (group,))

    def tiled(period, other=x):
        return covariance(period)(x, other, jnp.array(counts))

    def rectangular(period):
        return tiled(period, jnp.copy(x))

    def whole(period):
        k = covariance(period)
        return sum(k.component_gram(c, x, x) for c in range(2))

    weights = jax.random.normal(jax.random.key(0), (140, 140)) * np.outer(counts, counts)
    period = jnp.array([0.3])
    expected, *found = (
        jax.jit(jax.value_and_grad(lambda p, f=f: (f(p) * weights).sum()))(period)
        for f in (whole, tiled, rectangular)
    )
    for one in found:
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9), one, expected)
    is_left_out = num_counting <= 47  # a third of the points, which make a tile
    assert bool((tiled(period)[47:, 47:] == 0.0).all()) == is_left_out
    assert bool((rectangular(period)[:, 47:] == 0.0).all()) == is_left_out


@pytest.mark.usefixtures("on_a_processor")
def test_tiles_of_many_dimensions():
    """A matrix of few points, whose factors are too many to keep, and its gradient."""
    num_dims, rng = 300, np.random.default_rng(0)
    assert MAX_WHOLE >= 100**2 and 100**2 * num_dims > MAX_WHOLE_FACTORS
    x, weights = jnp.array(rng.random((100, num_dims))), jnp.array(rng.normal(size=(100, 100)))

    def tiled(lengthscale):
        members, one = Decomposition.of(jnp.eye(num_dims, dtype=bool)), jnp.array(1.0)
        return AdditiveCovariance(members, lengthscale, one, None, None, squared_exponential)(x, x)

    def dense(lengthscale):
        return jnp.exp(-0.5 * jnp.square((x[:, None] - x) / lengthscale)).mean(2)

    lengthscale = jnp.array(rng.uniform(0.2, 2.0, num_dims))
    found, expected = (
        jax.value_and_grad(lambda at, f=f: (f(at) * weights).sum())(lengthscale)
        for f in (tiled, dense)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9), found, expected)


def test_drawn_functions_have_the_kernel_as_covariance(case: Case):
    """Functions with unit weights are a basis, whose inner products are the correlations."""
    group, lengthscale = case.group, case.covariance.lengthscale
    points = jnp.array(np.concatenate([case.x, case.new]))

    @jax.jit
    def covariance(group: KernelGroup, members: jax.Array) -> jax.Array:
        drawn = group.draw(jax.random.key(0), 1, lengthscale)
        unit = jnp.broadcast_to(jnp.eye(drawn.shape[1]), (len(OWN), *drawn.shape[1:2] * 2))
        basis = group.functions(unit, points, lengthscale, members)
        return basis @ basis.T

    correlations = jax.jit(KernelGroup.correlations)(group, points, points, lengthscale)
    for place, dim in enumerate(OWN):
        got = covariance(group, np.arange(4) == dim)
        np.testing.assert_allclose(got, correlations[place], atol=2e-3)


@pytest.mark.nightly
def test_posterior_is_the_dense_one_and_paths_have_its_moments(case: Case):
    """The z-scores over 1000 paths are of 3 means and 6 covariances, also of a component."""
    num_paths = 1000

    @jax.jit
    def ask(k, x, y, new, keys):
        posterior = MarginalGP(k, x, jnp.array(NOISE)).condition(y)

        def one(key):
            path = posterior.sample_path(key, num_features=16)
            parts = jax.lax.map(lambda c: path.component(c, new), jnp.arange(NUM_COMPONENTS))
            residual = path.residual(new)
            return parts.sum(0) + residual, parts[1], residual

        paths = jax.lax.map(one, keys)
        return posterior.predict(new), posterior.covariance_between(new, new), paths

    keys = jax.random.split(jax.random.key(1), num_paths)
    moments, between, paths = ask(case.covariance, case.x, case.y, case.new, keys)
    to_data = np.asarray(dense_parts(case.covariance, case.new, case.x))
    prior = np.asarray(dense_parts(case.covariance, case.new, case.new))
    gram = np.asarray(dense_parts(case.covariance, case.x, case.x).sum(0))
    inverse = np.linalg.inv(gram + NOISE * np.eye(len(case.x)))

    def posterior_of(to_data, prior):
        return to_data @ inverse @ case.y, prior - to_data @ inverse @ to_data.T

    expected = [posterior_of(v.sum(0), p.sum(0)) for v, p in [(to_data, prior)]]
    expected += [posterior_of(to_data[c], prior[c]) for c in (1, NUM_COMPONENTS)]
    np.testing.assert_allclose(moments[0], expected[0][0], rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(moments[1], np.diag(expected[0][1]), rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(between, expected[0][1], rtol=1e-7, atol=1e-10)
    for draws, (mean, covariance) in zip(paths, expected, strict=True):
        centered = draws - mean
        products = centered[:, :, None] * centered[:, None, :]
        for values, moment in ((draws, mean), (products, covariance)):
            error = values.std(0) / np.sqrt(num_paths)
            # Drawn functions lack their variance given the nodes, which is below 2e-3.
            assert (jnp.abs(values.mean(0) - moment) < 4.5 * error + 2e-3).all()


@pytest.mark.nightly
def test_waves_are_those_of_the_components(case: Case):
    """The table of a path on grids equals its component at these points."""
    posterior = MarginalGP(case.covariance, case.x, jnp.array(NOISE)).condition(case.y)

    @jax.jit
    def both(posterior):
        path = posterior.sample_path(jax.random.key(0), 32)
        dims = jnp.array([0, 2, 3])
        waves = path.waves(dims, case.new[:, dims].T).prod(0)
        prior = (waves * jnp.exp(1j * path.phases[1])).real @ path.weights[1]
        bare = path._replace(update=jnp.zeros_like(path.update))
        return jnp.sqrt(case.covariance.variances[1]) * prior, bare.component(1, case.new)

    np.testing.assert_allclose(*both(posterior), atol=1e-5)  # nodes are nearly dependent


@each_kernel
def test_kernels_are_values(kernel: Kernel):
    copied = pickle.loads(pickle.dumps(kernel))
    assert copied == kernel and copied is not kernel
    assert hash(copied) == hash(kernel)
    assert repr(copied) == repr(kernel)
    assert [other for other in ALL.values() if other == kernel] == [kernel]


def test_levels_without_learned_correlations_are_exchangeable():
    """With R the identity, this is the default factor of a categorical dimension."""
    levels = jnp.array(np.linspace(0.0, 1.0, 4)[:, None])
    group = KernelGroup(LevelCorrelations(4), (0,), jnp.eye(4)[None])
    shared = AdditiveCovariance(
        Decomposition.of(jnp.ones((1, 1), bool)), jnp.array([0.8]), jnp.array(1.0), None,
        None, squared_exponential, (0,),
    )  # fmt: skip

    @jax.jit
    def both(group: KernelGroup, shared: AdditiveCovariance):
        own = group.correlations(levels, levels, shared.lengthscale)[0]
        return own, shared(levels, levels)

    np.testing.assert_allclose(*both(group, shared), rtol=1e-12)


def test_periodic_functions_repeat_themselves():
    """The textbook formula (Rasmussen and Williams 2006, eq. 4.31), and the period itself."""
    got = Periodic().correlation(jnp.array(0.1), jnp.array(0.3), jnp.array(0.7), jnp.array(0.25))
    np.testing.assert_allclose(got, np.exp(-2 * np.sin(np.pi * 0.2 / 0.25) ** 2 / 0.49))
    again = Periodic().correlation(jnp.array(0.1), jnp.array(0.6), jnp.array(0.7), jnp.array(0.25))
    np.testing.assert_allclose(again, 1.0)


def traced(model: AdditiveGP, num_dims: int) -> tuple[dict[str, Any], AdditiveCovariance]:
    """The abstract sites and the covariance, without compilation."""

    def run(x, y):
        trace = handlers.trace(handlers.seed(model, jax.random.key(0))).get_trace(x, y)
        values = {name: site["value"] for name, site in trace.items()}
        return values, trace["y"]["fn"].covariance

    return jax.eval_shape(run, np.full((3, num_dims), 0.5), np.zeros(3))


def test_dimensions_by_kernel():
    """Equal kernels share a site; categories have the exchangeable factor by default."""
    own = {0: Periodic(), 3: LevelCorrelations(3), 4: Periodic()}
    sites, covariance = traced(AdditiveGP(kernels=own, categorical=(1,)), 5)
    assert sites["period"].shape == (2,)
    assert sites["level_correlations_3"].shape == (1, 3, 3)
    assert covariance.own_dims == (0, 4, 3)
    assert covariance.categorical == (1, 3)
    everywhere = traced(AdditiveGP(kernel=Periodic(), categorical=(1,)), 3)[1]
    assert everywhere.own_dims == (0, 2)
    smooth = AdditiveGP(kernels={1: squared_exponential})
    assert traced(smooth, 2)[1].kernel_groups == ()


def test_arguments_are_checked():
    with pytest.raises(TypeError, match=r"kernel must be a Kernel, .*periodic.*got 'periodic'"):
        AdditiveGP(kernel="periodic")
    with pytest.raises(TypeError, match=r"kernels\[2\] must be a Kernel"):
        AdditiveGP(kernels={2: Periodic})
    with pytest.raises(ValueError, match=r"dimensions of kernels must be .* got -1"):
        AdditiveGP(kernels={-1: Periodic()})
    with pytest.raises(ValueError, match=r"dimensions below 2, .* got one for 2"):
        traced(AdditiveGP(kernels={2: Periodic()}), 2)
    mixed = lambda d: projected(edges()(d), jnp.eye(d))  # noqa: E731
    for options in ({"kernel": Periodic()}, {"kernels": {1: Periodic()}}):
        with pytest.raises(ValueError, match="projection mixes the dimensions"):
            traced(AdditiveGP(mixed, **options), 2)
    with pytest.raises(ValueError, match="num_levels must be an integer of at least 2, got 1"):
        LevelCorrelations(1)

    class Wrong(Warped):
        def parameters(self, num_dims):
            return super().parameters(num_dims)[0]

    with pytest.raises(ValueError, match=r"the 2 dimensions .* got shapes \[\(\)\]"):
        traced(AdditiveGP(kernel=Wrong()), 2)


def test_a_parameter_of_a_kernel_may_be_an_integer():
    """It has no derivative, and the other inputs have theirs."""

    class Waves(Kernel):
        def correlation(self, x, other, lengthscale, parameters, /):
            phase = jnp.pi * parameters["number"] * (x - other)
            squared = (x - other) ** 2 + parameters["depth"] * jnp.sin(phase) ** 2
            return jnp.exp(-0.5 * squared / lengthscale**2)

    x, number = jnp.array([[0.1, 0.2], [0.6, 0.5], [0.9, 0.3]]), jnp.array([2, 3])

    @jax.jit
    def summed(lengthscale):
        group = KernelGroup(Waves(), (0, 1), {"number": number, "depth": jnp.array([0.5, 0.7])})
        one, members = jnp.array(1.0), Decomposition.of(jnp.array([[True, True], [True, False]]))
        options = (None, None, squared_exponential, (), (group,))
        return AdditiveCovariance(members, lengthscale, one, *options)(x, x)[0] @ jnp.arange(3.0)

    check_grads(summed, (jnp.array([0.5, 0.8]),), 1, modes=["rev"], rtol=1e-6)
