"""A main effect that parameters have in common: its covariance, its prior, and what it learns."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from scipy.stats import qmc

from structbo import Space
from structbo.data import Data
from structbo.draws import condition
from structbo.models import AdditiveGP, Decomposition, Periodic, Residual, edges, projections
from structbo.models.common_effect import NUM_WAVES, common_features
from structbo.models.likelihood import likelihood_site
from structbo.models.prototype import prior_trace
from structbo.optimizer import Optimizer

MANY = 60
MODEL = AdditiveGP(residual=Residual(common=dist.Beta(1.0, 1.0)))


def test_its_variance_is_one_on_average() -> None:
    """The cosines are orthonormal, so the average over a grid of midpoints is exact."""
    nodes = (np.arange(16) + 0.5) / 16
    mesh = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), -1).reshape(-1, 2)
    features = np.asarray(common_features(mesh, np.ones(2, bool), 2))
    assert np.square(features).sum(1).mean() == pytest.approx(1.0, rel=1e-6)
    assert np.allclose(features.mean(0), 0.0, atol=1e-6), "no constant"


def test_its_features_are_sums_of_cosines() -> None:
    x = np.random.default_rng(1).random((50, 7))
    x[0], x[1] = 0.0, 1.0
    counts = np.arange(7) != 3
    with jax.enable_x64(True):
        found = np.asarray(common_features(x, counts, 6))
    waves = np.arange(1, NUM_WAVES + 1)
    variances = 0.5**waves / (0.5**waves).sum()
    sums = (np.cos(np.pi * waves * x[:, counts, None])).sum(1)
    assert np.allclose(found, sums * np.sqrt(2.0 * variances / 6), rtol=0.0, atol=1e-14)


def test_it_varies_most_where_all_coordinates_are_equal() -> None:
    every = np.ones(MANY, bool)
    random = np.random.default_rng(0).random((500, MANY))
    low, middle = np.zeros((1, MANY)), np.full((1, MANY), 0.5)
    spread, at_low, at_middle = (
        np.square(common_features(x, every, MANY)).sum(1).mean() for x in (random, low, middle)
    )
    assert spread == pytest.approx(1.0, abs=0.1)
    assert at_low == pytest.approx(2 * MANY, rel=1e-5)
    even = 0.5 ** np.arange(1, NUM_WAVES + 1)
    assert at_middle == pytest.approx(2 * MANY * even[1::2].sum() / even.sum(), rel=1e-4)


def test_dimensions_with_other_kernels_do_not_have_it() -> None:
    model = AdditiveGP(
        edges(0.5),
        kernels={0: Periodic()},
        residual=Residual(rho=dist.Delta(1.0), common=dist.Delta(1.0)),
        categorical=(2,),
    )
    trace = prior_trace(model, 4)
    with jax.enable_x64(True):
        covariance = trace[likelihood_site(trace)]["fn"].covariance
        x = np.array([[0.1, 0.4, 0.0, 0.9], [0.8, 0.4, 1.0, 0.9], [0.1, 0.2, 0.0, 0.9]])
        features = np.asarray(covariance.common_features(jnp.asarray(x)))
        own = np.asarray(common_features(x[:, [1, 3]], np.ones(2, bool), 2))
    scale = np.sqrt(np.asarray(covariance.outputscale))
    assert np.allclose(features, scale * own, rtol=1e-6)


def test_a_projection_has_no_common_effect() -> None:
    def directions(num_dims: int) -> dist.Distribution:
        return dist.Normal().expand([num_dims, 2]).to_event(2)

    structure = projections(directions, lambda num_dims: Decomposition.of(jnp.eye(2) == 1))
    model = AdditiveGP(structure, residual=Residual(common=dist.Beta(1.0, 1.0)))
    with pytest.raises(ValueError, match="leave out `common`"), jax.enable_x64(True):
        handlers.seed(model, 0)(jnp.zeros((2, 3)))


def test_two_values_tell_about_all_corners() -> None:
    """Values at two corners predict the other corners, which independent main effects do not."""
    rng = np.random.default_rng(0)
    corners = rng.permuted(np.tile(np.arange(MANY) % 2, (5, 1)), axis=1).astype(float)
    x = np.concatenate([rng.random((6, MANY)), corners[:2]])
    y = np.where(np.arange(8) < 6, 0.0, -3.0)
    draw = {"Z": np.zeros((MANY, MANY), int), "lengthscale": np.ones(MANY)}
    draw |= {"outputscale": 1.0, "noise": 1e-3, "rho": 0.4, "kappa": 2.0}
    data = Data(x, y, np.ones(8, bool))

    def predicted(model: AdditiveGP, **sites: float) -> np.ndarray:
        draws = {name: jnp.asarray(value)[None] for name, value in (draw | sites).items()}
        gp = jax.tree.map(lambda v: v[0], condition(model, draws, data))
        return np.asarray(gp.predict(jnp.asarray(corners[2:]))[0])

    with jax.enable_x64(True):
        common = predicted(MODEL, common=0.5)
        apart = predicted(AdditiveGP(residual=Residual()))
    assert (common < -2.0).all() and (apart > -1.0).all()


@pytest.mark.nightly
def test_a_search_finds_a_joint_direction_at_once() -> None:
    """The best of 60 parameters is .7 for all; without the effect 12 suggestions find little."""

    def value(x: np.ndarray) -> float:
        return float(-np.square(x - 0.7).mean() + 0.01 * x[0] * x[1])

    def best(model: AdditiveGP | None) -> float:
        optimizer = Optimizer(Space.box([[0.0, 1.0]] * MANY), "maximize", seed=0, model=model)
        for x in qmc.Sobol(MANY, seed=0).random_base2(5)[:20]:
            optimizer.tell(x, value(x))
        for _ in range(12):
            trial = optimizer.ask()
            optimizer.tell(trial, value(trial.params))
        assert optimizer.best.value is not None
        return optimizer.best.value

    assert best(MODEL) > -0.01
    assert best(AdditiveGP(residual=Residual())) < -0.02


def test_large_matrices_have_it_once() -> None:
    """More points than a tile has, against pieces that fit into one."""
    with jax.enable_x64(True):
        trace = prior_trace(MODEL, 3)
        covariance = trace[likelihood_site(trace)]["fn"].covariance
        x = jnp.asarray(np.random.default_rng(0).random((180, 3)))
        whole = np.asarray(covariance(x, x))
        pieces = [[covariance(one, other) for other in jnp.split(x, 2)] for one in jnp.split(x, 2)]
        assert np.allclose(whole, np.block(pieces), rtol=1e-12, atol=1e-12)
        residual = np.asarray(covariance.residual_gram(x, x))
        without = replace(covariance, residual=None, outputscale=covariance.shared_variance)
        assert np.allclose(whole - residual, np.asarray(without(x, x)), atol=1e-12)
