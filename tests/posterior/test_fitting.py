"""The result of `fit`, and the data that it rejects."""

import re
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from given_draws import NAMES, NUM_CHAINS, NUM_DRAWS, PROBS, observations
from numpyro.infer import NUTS

from structbo import Categorical, Space
from structbo.draws import latent_sites
from structbo.models import AdditiveGP, edges, main_effects
from structbo.posterior import Posterior, fit
from structbo.samplers.numpyro_kernel import HMC_STATISTICS


@pytest.mark.filterwarnings("ignore::structbo.posterior.ConvergenceWarning")
@pytest.mark.parametrize("num_warmup", [0, pytest.param(60, marks=pytest.mark.nightly)])
def test_fit_keeps_draws_and_statistics_by_chain(num_warmup: int):
    shape = (NUM_CHAINS, NUM_DRAWS)
    X, y = observations()
    with jax.enable_x64(False):  # as in a program that has never heard of the flag
        length = {"num_samples": NUM_DRAWS, "num_chains": NUM_CHAINS}
        posterior = fit(
            AdditiveGP(edges(PROBS)), X, y, num_warmup=num_warmup, **length, names=NAMES
        )
    assert {k: v.shape for k, v in posterior.draws.items()} == {
        "Z": (*shape, 3, 3),
        "lengthscale": (*shape, 3),
        "noise": shape,
        "outputscale": shape,
    }
    assert posterior.draws["noise"].dtype == np.float64
    assert {"acceptance_rate_InformedEdges", "acceptance_rate", "diverging", "energy"} < set(
        posterior.sample_stats
    )
    assert all(v.shape == shape for v in posterior.sample_stats.values())
    assert np.std(posterior.sample_stats["energy"]) > 0.0
    assert posterior.names == NAMES and not posterior.draws["Z"][..., 0, 2].any()
    assert (posterior.draws["Z"].std((0, 1))[[0, 1], [1, 2]] > 0.0).all()


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::structbo.posterior.ConvergenceWarning")
def test_a_kernel_that_is_not_gibbs_has_statistics():
    X, y = observations()
    length = {"num_warmup": 6, "num_samples": 6, "num_chains": 1}
    found = fit(AdditiveGP(main_effects()), X, y, sampler=NUTS, **length)
    assert set(found.sample_stats) == set(HMC_STATISTICS)
    assert (found.sample_stats["n_steps"] > 0).all()


def test_a_data_frame_gives_names_and_its_index_the_order(monkeypatch: pytest.MonkeyPatch):
    def given(model: Any, sampler: Any, arguments: Any, key: Any, **_: Any) -> Any:
        return dict.fromkeys(latent_sites(model, 2), np.ones((1, 3))), {}

    fitting = "structbo.posterior.fitting"
    monkeypatch.setattr(f"{fitting}.run_chains", given)
    monkeypatch.setattr(f"{fitting}.warn_unless_converged", lambda posterior: None)
    X = pd.DataFrame({"b": [0.1, 0.2], "a": [0.3, 0.4]}, index=[7, 8])
    y = pd.Series([2.0, 1.0], index=[8, 7])
    found = fit(AdditiveGP(), X, y)
    assert found.names == ("b", "a") == found.units.space.names
    assert found.y.tolist() == [1.0, 2.0]
    assert fit(AdditiveGP(), X, y, names=("u", "v")).names == ("u", "v")
    assert fit(AdditiveGP(), X.to_numpy(), y).y.tolist() == [2.0, 1.0]
    assert Posterior(AdditiveGP(), X, y, found.draws).names == ("b", "a")
    with pytest.raises(ValueError, match="X and y must have the same index"):
        fit(AdditiveGP(), X, y.reset_index(drop=True))


def test_a_table_of_ones_own_keeps_its_names_categories_and_units(monkeypatch: pytest.MonkeyPatch):
    """The model sees the unit cube and standardized values, with the right standard errors."""
    seen: dict[str, Any] = {}

    def given(model: Any, sampler: Any, arguments: Any, key: Any, **_: Any) -> Any:
        (x, y), mask = arguments.args, arguments.kwargs["mask"]
        noise = arguments.kwargs.get("known_noise")
        seen.update(model=model, x=x[mask], y=y[mask], noise=None if noise is None else noise[mask])
        sites = {"lengthscale": np.ones((1, 1, 2)), "outputscale": np.ones((1, 1))}
        return sites | {"noise": np.full((1, 1), 0.1)}, {}

    fitting = "structbo.posterior.fitting"
    monkeypatch.setattr(f"{fitting}.run_chains", given)
    monkeypatch.setattr(f"{fitting}.warn_unless_converged", lambda posterior: None)
    space = {"solvent": Categorical(["water", "THF"]), "t": (20.0, 80.0)}
    table = pd.DataFrame({"t": [20.0, 50.0, 80.0], "solvent": ["THF", "THF", "water"]}, [7, 8, 9])
    y = pd.Series([90.0, 60.0, 30.0], index=[9, 8, 7])
    sem = pd.Series([2.0, None, 1.0], index=[7, 8, 9])
    found = fit(AdditiveGP(main_effects()), table, y, space=space, sem=sem)
    np.testing.assert_allclose(seen["x"], [[1.0, 0.0], [1.0, 0.5], [0.0, 1.0]])
    np.testing.assert_allclose(seen["y"], [-np.sqrt(1.5), 0.0, np.sqrt(1.5)], atol=1e-12)
    np.testing.assert_allclose(seen["noise"], np.square([2.0, 0.0, 1.0]) / y.var(ddof=0))
    assert found.names == ("solvent", "t") and seen["model"] == found.model
    assert found.model == AdditiveGP(main_effects(), categorical=(0,))
    mean, variance = found.predict(table)
    assert mean[0] < 45.0 < mean[1] < 75.0 < mean[2] and (variance > 1.0).all()
    own = AdditiveGP(main_effects(), categorical=(1,))
    assert fit(own, table, y, space=space).model == own
    dicts = [{"solvent": "THF", "t": 50.0}, {"solvent": "water", "t": 20.0}]
    assert fit(own, dicts, [1.0, 2.0], space=Space(space)).names == ("solvent", "t")
    with pytest.raises(ValueError, match=r"names come from the space, \['solvent', 't'\]"):
        fit(own, table, y, space=space, names=("a", "b"))
    with pytest.raises(ValueError, match=r"X\[9\]\['t'\]: value must be in \[20.0, 80.0\], got 90"):
        fit(own, table.assign(t=[20.0, 50.0, 90.0]), y, space=space)
    with pytest.raises(ValueError, match=r"X and sem must have the same index.*sem\.to_numpy"):
        fit(own, table, y, space=space, sem=sem.reset_index(drop=True))


BAD_DATA = {
    "X must have shape": (np.zeros(3), np.zeros(3)),
    r"X\[1, 0\] = nan": ([[0.5], [np.nan]], [0.0, 1.0]),
    "unit cube": ([[0.5], [2.0]], [0.0, 1.0]),
    "one value per row": ([[0.5], [1.0]], [0.0]),
    "at least one value": (np.zeros((0, 2)), []),
    r"y\[1\] = inf": ([[0.5], [1.0]], [0.0, np.inf]),
    "y must be numbers, got '1'": ([[0.5], [1.0]], ["1", "2"]),
    "X must be numbers": ([[0.5], [1.0j]], [1.0, 2.0]),
    r"X must be numbers, got 'a'. Map points .* first, or give fit\(..., space=...\) their space": (
        pd.DataFrame({"a": ["a", "b"]}),
        [1.0, 2.0],
    ),
}


@pytest.mark.parametrize("message", BAD_DATA)
def test_bad_data(message: str):
    with pytest.raises(ValueError, match=message):
        fit(AdditiveGP(), *BAD_DATA[message])


BAD_ARGUMENTS = {
    "names must be 1 different names, got ('a', 'b')": {"names": ("a", "b")},
    "names must be 1 different names, got 'a'": {"names": "a"},
    "names must be 1 different names, got [0]": {"names": [0]},
    "num_chains must be an integer of at least 1, got 0": {"num_chains": 0},
}


@pytest.mark.parametrize("message", BAD_ARGUMENTS)
def test_bad_arguments_are_refused_before_sampling(message: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("structbo.posterior.fitting.run_chains", None)
    with pytest.raises(ValueError, match=re.escape(message)):
        fit(AdditiveGP(), [[0.5], [1.0]], [0.0, 1.0], **BAD_ARGUMENTS[message])


def test_chains_converge_where_a_smooth_function_has_no_noise():
    """Without a minimum noise, chains shrink it to zero with tiny steps: R-hat is above 3."""
    x = np.random.default_rng(0).random((60, 2))
    y = np.sin(5.0 * x).sum(1) + np.exp(x[:, 0])
    posterior = fit(AdditiveGP(main_effects()), x, (y - y.mean()) / y.std(), seed=1)
    table = posterior.summary()
    assert table["r_hat"].max() < 1.05
    assert table["ess_bulk"].min() > 100.0
    assert posterior.draws["noise"].max() < 1e-8
