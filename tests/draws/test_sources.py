"""Sources of draws, with fakes for the chain and the fitter."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from structbo.data import Data
from structbo.draws import BestDraw, Cycle, Draws, Fitted, log_likelihoods, step_seed
from structbo.models import AdditiveGP, main_effects

MODEL = AdditiveGP(main_effects())


def data(n: int) -> Data:
    x = np.random.default_rng(0).random((n, 2))
    return Data.padded(x, np.sin(5.0 * x[:, 0]))


def test_numbers_of_a_fitter_become_arrays_of_double_precision() -> None:
    """JAX's weakly typed numbers, made from Python numbers, would recompile every search."""
    found = [
        {"noise": 0.1, "lengthscale": [1.0, 2.0]},
        {"noise": jnp.array(0.3), "lengthscale": [3.0, 4.0]},
    ]
    draws = Fitted(MODEL, 0, lambda *_: found).advance(data(3))
    assert draws["lengthscale"].shape == (2, 2) and draws["noise"].tolist() == [0.1, 0.3]
    for value in draws.values():
        assert value.dtype == jnp.float64 and not value.weak_type


class Counter:
    """A source whose draw is the number of calls."""

    def __init__(self) -> None:
        self.calls = 0

    def advance(self, data: Data) -> Draws:
        self.calls += 1
        return {"call": jnp.array([self.calls])}


def test_cycle_renews_after_so_many_new_observations() -> None:
    """The cycle counts observations, not calls: a batch may skip the exact number."""
    cycle = Cycle(Counter(), 3)
    sizes = [5, 6, 6, 7, 8, 9, 10, 13, 17, 19, 20]
    calls = [int(cycle.advance(data(n))["call"][0]) for n in sizes]
    assert calls == [1, 1, 1, 1, 2, 2, 2, 3, 4, 4, 5]


def test_cycle_of_one_renews_at_every_new_observation() -> None:
    counter = Counter()
    cycle = Cycle(counter, 1)
    for n in (1, 2, 3, 3):
        cycle.advance(data(n))
    assert counter.calls == 3


@pytest.mark.parametrize("best", [0, 1, 2])
def test_best_draw_is_that_of_the_highest_likelihood(best: int) -> None:
    """The best draw has the true parameters, at any position among others."""
    lengthscales, noises = [[9.0, 9.0], [0.02, 0.02]], [0.5, 1.0]
    lengthscales.insert(best, [0.3, 5.0])
    noises.insert(best, 1e-4)
    draws = {
        "lengthscale": jnp.array(lengthscales),
        "outputscale": jnp.ones(3),
        "noise": jnp.array(noises),
    }

    class Source:
        def advance(self, data: Data) -> Draws:
            return draws

    observed = data(30)
    assert int(jnp.argmax(log_likelihoods(MODEL, draws, observed))) == best
    found = BestDraw(MODEL, Source()).advance(observed)
    assert {name: value.shape[0] for name, value in found.items()} == dict.fromkeys(draws, 1)
    np.testing.assert_array_equal(found["lengthscale"], [[0.3, 5.0]])
    np.testing.assert_array_equal(found["noise"], [1e-4])


def test_best_draw_ignores_the_prior() -> None:
    """The draw with the highest likelihood is best, even if it is the least probable one."""
    prior = dist.LogNormal(np.log(1e-6), 1e-3)
    model = AdditiveGP(main_effects(), noise=prior)
    draws = {
        "lengthscale": jnp.array([[0.3, 5.0], [9.0, 9.0]]),
        "outputscale": jnp.ones(2),
        "noise": jnp.array([1e-3, 1e-6]),
    }

    class Source:
        def advance(self, data: Data) -> Draws:
            return draws

    np.testing.assert_array_equal(BestDraw(model, Source()).advance(data(30))["noise"], [1e-3])


def test_fitted_sees_observations_only_and_a_seed_of_its_own() -> None:
    seen: list[tuple[Any, ...]] = []

    def fitter(*arguments: Any) -> list[dict[str, Any]]:
        seen.append(arguments)
        return [{"a": 1.0, "b": [1, 2]}, {"a": 2.0, "b": [3, 4]}]

    source = Fitted(MODEL, 100, fitter)
    for n in (5, 70):
        observed = data(n)
        assert len(observed.y) > n
        found = source.advance(observed)
        model, x, y, seed = seen[-1]
        assert model is MODEL and seed == step_seed(100, n)
        np.testing.assert_array_equal(x, observed.x[:n])
        np.testing.assert_array_equal(y, observed.y[:n])
    np.testing.assert_array_equal(found["a"], [1.0, 2.0])
    np.testing.assert_array_equal(found["b"], [[1, 2], [3, 4]])


def test_fitted_sees_what_the_mask_leaves() -> None:
    x, y = np.arange(8.0).reshape(4, 2), np.arange(4.0)
    seen = {}

    def fitter(model: Any, X: Any, y: Any, seed: int) -> list[dict[str, Any]]:
        seen.update(X=X, y=y, seed=seed)
        return [{"a": 0.0}]

    Fitted(MODEL, 0, fitter).advance(Data(x, y, np.array([True, False, True, False])))
    assert (seen["y"].tolist(), seen["seed"]) == ([0.0, 2.0], step_seed(0, 2))
    np.testing.assert_array_equal(seen["X"], x[[0, 2]])
