"""A model with one dimension per registered kernel, and one for the example's kernel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from extend.new_kernel import Warped
from numpyro import handlers
from numpyro.infer.util import log_density

import structbo as sb
from structbo.draws.evidence import maximum_likelihood
from structbo.models import KERNELS, AdditiveGP, Residual, edges
from structbo.posterior import Posterior
from structbo.samplers.conditional import Conditional

ALL = {**KERNELS, "example": Warped()}
NUM_DIMS = len(ALL)
MODEL = AdditiveGP(edges(0.3), kernels=dict(enumerate(ALL.values())), residual=Residual())
IS_LEVEL = [kernel.is_categorical for kernel in ALL.values()]
SPACE = {
    name: sb.Categorical(["a", "b", "c"]) if is_level else (0.0, 1.0)
    for name, is_level in zip(ALL, IS_LEVEL, strict=True)
}


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    """Twelve observations of a function of all dimensions, standardized."""
    rng = np.random.default_rng(0)
    X = rng.random((12, NUM_DIMS))
    X[:, IS_LEVEL] = np.rint(2 * X[:, IS_LEVEL]) / 2
    y = np.sin(4 * X).sum(1) + X[:, 0] * X[:, -1]
    return X, (y - y.mean()) / y.std()


@pytest.fixture(scope="module")
def posterior(data) -> Posterior:
    return sb.fit(
        MODEL, *data, num_warmup=20, num_samples=20, num_chains=2, show_progress_bar=False,
        names=tuple(ALL),
    )  # fmt: skip


def own_sites() -> list[str]:
    trace = handlers.trace(handlers.seed(MODEL, 0)).get_trace(jnp.full((2, NUM_DIMS), 0.5))
    plain = {"Z", "lengthscale", "outputscale", "noise", "rho", "kappa", "y"}
    return [name for name in trace if name not in plain]


def test_moves_are_incremental_and_have_the_density_of_the_model(data):
    args = tuple(map(jnp.asarray, data))
    Z = np.zeros((NUM_DIMS, NUM_DIMS), int)
    Z[[0, 3], [3, 0]] = 1
    other = Z.copy()
    other[[3, 4], [4, 3]] = 1

    @jax.jit
    def both(Z, other):
        trace = handlers.trace(handlers.seed(MODEL, 1)).get_trace(*args)
        values = {name: site["value"] for name, site in trace.items() if name not in ("Z", "y")}
        model = handlers.condition(MODEL, data=values)
        conditional = Conditional(model, "Z", Z, args, {})
        assert conditional.is_incremental
        moved = conditional.move(conditional.start(Z), other)
        return moved.log_density, log_density(model, args, {}, {"Z": other})[0]

    np.testing.assert_allclose(*both(Z, other), rtol=1e-9)


@pytest.mark.nightly
def test_chains_move_all_parameters(posterior):
    assert set(own_sites()) >= {"period", "level_correlations_3", "rate"}
    for site in own_sites():
        draws = posterior.draws[site]
        assert np.isfinite(draws).all()
        assert draws.reshape(40, -1).std(0).max() > 1e-3
    assert np.isfinite(posterior.log_density).all()


@pytest.mark.nightly
def test_summaries_and_export(posterior):
    table = posterior.summary()
    assert {"period[0]", "rate[0]"} <= set(table.index)
    exported = posterior.to_arviz()
    assert set(own_sites()) <= set(exported.posterior.data_vars)


@pytest.mark.nightly
def test_effects_of_every_dimension(posterior):
    for name, is_level in zip(ALL, IS_LEVEL, strict=True):
        effect = posterior.effect(name)
        assert effect.scales == ("labels" if is_level else "linear",)
        assert np.isfinite(effect.mean).all() and (effect.deviation > 0).all()


@pytest.mark.nightly
def test_maximum_likelihood(data):
    Z = np.zeros((NUM_DIMS, NUM_DIMS), int)
    fit = maximum_likelihood(MODEL, *data, {"Z": Z})
    assert np.isfinite(fit.log_likelihood)
    assert set(own_sites()) <= set(fit.values)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "criterion",
    ["log_ei", "thompson", "mes"],
)
def test_suggestions(data, criterion):
    X, y = data
    table = sb.Space(SPACE).from_unit(X)
    (point,) = sb.suggest(SPACE, table, y, model=MODEL, criterion=criterion, num_initial=4)
    assert set(point) == set(ALL)
    assert point not in table
