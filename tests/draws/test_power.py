"""The power of the transform, against its density and on data with a known power."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal, yeojohnson

from structbo.data import Data, Standardized, Warping
from structbo.draws import Chain, likelihood_of, power
from structbo.models import AdditiveGP, MarginalGP, main_effects
from structbo.models.foundation.precision import double_precision
from structbo.models.marginal import log_marginal

MODEL = AdditiveGP(main_effects())


def wave(num_points: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.random((num_points, 2))
    y = np.sin(5.0 * x[:, 0]) + np.cos(4.0 * x[:, 1]) + 0.05 * rng.standard_normal(num_points)
    return x, Standardized.of(y).values


def skewed(y: np.ndarray, rate: float = 1.2) -> np.ndarray:
    """Skewed values, which compressing the bad ones turns into values similar to the given ones."""
    return Standardized.of(-np.exp(-rate * y)).values


class Given(MarginalGP):
    """A likelihood with a given covariance."""

    def __init__(self, covariance: np.ndarray, mask: np.ndarray) -> None:
        self.matrix, self.given_mask = jnp.asarray(covariance), jnp.asarray(mask)

    def log_prob(self, value: jax.Array) -> jax.Array:
        return log_marginal(self.matrix, value, self.given_mask)


@pytest.mark.parametrize("change", [skewed, lambda y: y])
def test_it_is_where_the_density_of_the_values_is_highest(change) -> None:
    """The reference uses SciPy's transform and normal density, with numerical derivatives."""
    x, y = wave(30)
    y = change(y)
    covariance = np.exp(-8.0 * ((x[:, None] - x) ** 2).sum(2)) + 0.05 * np.eye(30)
    data = Data.padded(x, y)
    whole = np.eye(len(data.y))
    whole[:30, :30] = covariance

    def density(lam: float) -> float:
        raised = [yeojohnson(y + step, lam) for step in (0.0, 1e-6, -1e-6)]
        warped = Standardized.of(raised[0])
        slopes = (raised[1] - raised[2]) / 2e-6 / warped.scale
        prior = -0.5 * ((lam - 1.0) / power.PRIOR_DEVIATION) ** 2
        normal = multivariate_normal(np.zeros(30), covariance).logpdf(warped.values)
        return float(normal + np.log(slopes).sum() + prior)

    best = power.POWERS[np.argmax([density(lam) for lam in power.POWERS])]
    with double_precision():
        found = power.likeliest_power(Given(whole, np.asarray(data.mask)), data)
    assert float(found) == best


@pytest.mark.parametrize(("rate", "low", "high"), [(1.2, 1.6, 3.0), (0.0, 1.0, 1.3)])
def test_a_chain_finds_it_and_its_draws_are_those_of_warped_values(
    rate: float, low: float, high: float
) -> None:
    x, y = wave(60)
    data = Data.padded(x, skewed(y, rate) if rate else y)
    chain = Chain(MODEL, 4, 0)
    with double_precision():
        warped, warping = chain.warped(data)
        assert low <= float(warping.power) <= high
        noise = np.asarray(chain.advance(warped)["noise"])
    assert noise.max() < 0.05


def test_a_saved_chain_finds_the_same() -> None:
    x, y = wave(40)
    data = Data.padded(x, skewed(y))
    with double_precision():
        chain = Chain(MODEL, 4, 0)
        chain.advance(chain.warped(data)[0])
        other = Chain(MODEL, 4, 1)
        other.restore(chain.saved())
        assert float(other.warped(data)[1].power) == float(chain.warped(data)[1].power) > 1.0


def test_known_noise_is_that_of_the_transformed_values() -> None:
    """The power maximizes the density of the data that the chain uses."""
    x, y = wave(30)
    data = Data.padded(x, skewed(y, 1.5), np.linspace(0.02, 1.0, 30) ** 2)
    draw = {
        "lengthscale": jnp.array([0.4, 0.5]),
        "outputscale": jnp.ones(()),
        "noise": jnp.array(0.01),
    }

    def density(lam: float) -> float:
        warping = Warping.of(data, lam)
        warped = warping.data(data)
        likelihood = likelihood_of(MODEL, draw, warped)
        slopes = np.asarray(warping.log_slope(data.y))[:30]
        prior = -0.5 * ((lam - 1.0) / power.PRIOR_DEVIATION) ** 2
        return float(likelihood.log_prob(jnp.asarray(warped.y)) + slopes.sum() + prior)

    with double_precision():
        found = float(
            power.likeliest_power(likelihood_of(MODEL, draw, data), jax.tree.map(jnp.asarray, data))
        )
        best = power.POWERS[np.argmax([density(lam) for lam in power.POWERS])]
    assert found == best
