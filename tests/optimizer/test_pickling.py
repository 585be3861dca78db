"""Public objects can be pickled, and continue in another process as in this one."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

from structbo import Optimizer, recipes
from structbo.acquisition import CRITERIA, UCB
from structbo.batches import BATCH_STRATEGIES
from structbo.models import AdditiveGP, main_effects
from structbo.optimizer import Result
from structbo.posterior import Posterior

SPACE = {"a": (0.0, 1.0), "b": (0.0, 1.0)}


def test_arrays_of_a_model_keep_64_bits_where_the_switch_is_off():
    model = AdditiveGP(noise=dist.LogNormal(np.float64(0.1), jax.numpy.float64(0.2)))
    with jax.enable_x64(False):
        restored = pickle.loads(pickle.dumps(model))
    assert restored == model


@pytest.mark.parametrize(
    "value", [*CRITERIA.values(), UCB(4.0), *BATCH_STRATEGIES.values()], ids=repr
)
def test_criteria_and_strategies_pickle(value: Any):
    assert pickle.loads(pickle.dumps(value)) == value


@pytest.mark.parametrize("name", recipes.__all__)
def test_optimizers_of_recipes_pickle(name: str):
    needed = {"num_active": 2} if name == "cws_gp_ucb" else {}
    optimizer = getattr(recipes, name)({f"x{d}": (0.0, 1.0) for d in range(4)}, **needed)
    assert repr(pickle.loads(pickle.dumps(optimizer))) == repr(optimizer)


@pytest.fixture(scope="module")
def warm() -> Optimizer:
    """An optimizer whose chain has started."""
    optimizer = Optimizer(SPACE, model=AdditiveGP(main_effects()), seed=0, num_initial=3)
    for _ in range(4):
        trial = optimizer.ask()
        optimizer.tell(trial, trial.params["a"] ** 2 + trial.params["b"])
    return optimizer


def test_a_warm_optimizer_goes_on_as_it_would_have(warm: Optimizer):
    restored = pickle.loads(pickle.dumps(Result(warm))).optimizer
    again = copy.deepcopy(warm)
    assert restored.trials == warm.trials
    expected = again.ask().params
    assert restored.ask().params == expected
    points = [{"a": 0.3, "b": 0.4}]
    np.testing.assert_array_equal(restored.score(points), again.score(points))


def test_a_model_that_does_not_pickle_has_a_posterior():
    model = AdditiveGP(main_effects(), lengthscale=lambda num_dims: dist.LogNormal(-1.0, 1.0))
    optimizer = Optimizer(SPACE, model=model, seed=0, num_initial=3)
    for _ in range(4):
        trial = optimizer.ask()
        optimizer.tell(trial, trial.params["a"] ** 2 + trial.params["b"])
    assert isinstance(optimizer.posterior, Posterior)


@pytest.mark.nightly
def test_another_process_goes_on_as_this_one_would_have(warm: Optimizer, tmp_path: Path):
    file = tmp_path / "optimizer.pickle"
    file.write_bytes(pickle.dumps(warm))
    script = (
        "import jax, pickle, pathlib\n"
        f"optimizer = pickle.loads(pathlib.Path({str(file)!r}).read_bytes())\n"
        "assert not jax.config.jax_enable_x64\n"
        "print(optimizer.ask().params)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(copy.deepcopy(warm).ask().params)


def test_a_posterior_pickles_without_what_was_computed_from_it():
    draws = {"lengthscale": np.ones((1, 3, 2)), "noise": np.full((1, 3), 0.1)}
    draws["outputscale"] = np.ones((1, 3))
    posterior = Posterior(AdditiveGP(main_effects()), np.eye(2), np.ones(2), draws)
    expected = posterior.structures.num_components
    restored = pickle.loads(pickle.dumps(posterior))
    assert "structures" in vars(posterior)
    assert "structures" not in vars(restored)
    assert restored.model == posterior.model
    np.testing.assert_array_equal(restored.structures.num_components, expected)
    np.testing.assert_array_equal(restored.draws["noise"], posterior.draws["noise"])
