"""The warning of `fit` about chains that have not converged."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from structbo.models import AdditiveGP
from structbo.posterior import ConvergenceWarning, Posterior, fit
from structbo.posterior.convergence import warn_unless_converged

SHAPE = (2, 200)


def with_noise(noise: NDArray[np.float64]) -> Posterior:
    """Independent draws of all sites except for the noise, which is given."""
    rng = np.random.default_rng(0)
    edge = rng.random(SHAPE) < 0.5
    draws = {
        "Z": edge[..., None, None] * (1 - np.eye(2, dtype=int)),
        "lengthscale": rng.random((*SHAPE, 2)),
        "outputscale": rng.random(SHAPE),
        "noise": noise,
    }
    return Posterior(AdditiveGP(), [[0.1, 0.2]], [0.3], draws)


def walk(step: float) -> NDArray[np.float64]:
    """Both chains of an autoregressive process around one; smaller steps mix more slowly."""
    rng = np.random.default_rng(1)
    values = np.ones(SHAPE)
    for t in range(1, SHAPE[1]):
        last = values[:, t - 1] - 1.0
        values[:, t] = 1.0 + (1.0 - step) * last + 0.1 * step * rng.standard_normal(SHAPE[0])
    return values


def test_independent_draws_are_trusted():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_unless_converged(with_noise(walk(step=1.0)))


def test_chains_that_stay_apart_are_named_with_their_r_hat():
    apart = np.add(walk(step=1.0), [[0.0], [1.0]])
    with pytest.warns(ConvergenceWarning, match=r"R-hat of noise is \d\.\d+") as record:
        warn_unless_converged(with_noise(apart))
    assert "ParallelTempering" in str(record[0].message)


def test_chains_of_different_graphs_are_named():
    posterior = with_noise(walk(step=1.0))
    graph = np.zeros((*SHAPE, 2, 2), int)
    graph[1] = 1 - np.eye(2, dtype=int)
    error = r"the probability of Z\[x0,x1\] has a Monte Carlo error of 0\.3"
    with pytest.warns(ConvergenceWarning, match=error):
        warn_unless_converged(posterior.without_data(posterior.draws | {"Z": graph}))


def test_rare_edges_are_trusted_although_their_r_hat_is_large_by_chance():
    """Each edge of forty parameters has probability .02, and is drawn anew every fourth time."""
    posterior = with_noise(walk(step=1.0))
    rng, size = np.random.default_rng(3), 40
    anew = rng.random((SHAPE[0], SHAPE[1] // 4, size, size)) < 0.02
    upper = np.triu(np.repeat(anew, 4, axis=1), 1)
    draws = posterior.draws | {
        "Z": (upper | upper.swapaxes(-1, -2)).astype(int),
        "lengthscale": rng.random((*SHAPE, size)),
    }
    many = Posterior(AdditiveGP(), np.full((1, size), 0.1), [0.3], draws)
    assert many.summary()["r_hat"].max() > 1.05
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_unless_converged(many)


def test_slow_chains_are_named_with_their_effective_draws():
    with pytest.warns(ConvergenceWarning, match=r"noise has \d+ effective draws of 400"):
        warn_unless_converged(with_noise(walk(step=0.03)))


def test_chains_outside_of_the_bounds_are_counted():
    posterior = with_noise(walk(step=1.0))
    energy = np.zeros(SHAPE)
    energy[1] = np.inf
    with pytest.warns(ConvergenceWarning, match="1 of 2 end where the density is zero"):
        warn_unless_converged(replace(posterior, sample_stats={"energy": energy}))


def test_fit_warns(monkeypatch: pytest.MonkeyPatch):
    slow = with_noise(walk(step=0.03)).draws
    monkeypatch.setattr("structbo.posterior.fitting.run_chains", lambda *_, **__: (slow, {}))
    with pytest.warns(ConvergenceWarning, match=r"noise has \d+ effective draws of 400") as record:
        fit(AdditiveGP(), [[0.1, 0.2]], [0.3])
    assert record[0].filename == __file__


def test_the_line_outside_of_the_package_is_named():
    """Functions of the package may be in between, as for `Optimizer.posterior`."""
    between = {"__name__": "structbo.optimizer"}
    exec("def relayed(warn, posterior): warn(posterior)", between)
    apart = np.add(walk(step=1.0), [[0.0], [1.0]])
    with pytest.warns(ConvergenceWarning) as record:
        between["relayed"](warn_unless_converged, with_noise(apart))
    assert record[0].filename == __file__


def test_a_few_draws_of_one_chain_tell_nothing():
    posterior = with_noise(walk(step=1.0))
    few = {name: value[:1, :3] for name, value in posterior.draws.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_unless_converged(posterior.without_data(few))
