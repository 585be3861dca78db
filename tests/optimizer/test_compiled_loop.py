"""A whole run compiles at its first suggestion by the model, and when the padding grows."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpyro.distributions as dist
import pytest
from short_runs import given_graphs, slow_schedule

from structbo import Categorical, Integer, Optimizer, Space, minimize
from structbo.data import padded_size
from structbo.models import AdditiveGP, Residual, random_tree
from structbo.optimizer import Keywords
from structbo.optimizer.preparation import num_soon

Compiled = Callable[[Callable[[], object]], list[str]]
NUM_INITIAL = 4
SMALLEST = padded_size(1)
QUIET = max(n for n in range(1, SMALLEST) if num_soon(n) == 0)
"""The largest number of observations at which the next size is not prepared."""
UNUSUAL = padded_size(SMALLEST + 1)
"""A padded size that no other test of this space uses, so its programs are not compiled yet."""
SPACE = Space({"a": (0.0, 1.0), "b": Integer(1, 5), "c": Categorical(["u", "v"])})
NOISE = dist.LogNormal(-3.3, 1.0)
"""A prior that no other test uses; searches do not depend on it and can reuse programs."""


def given(seed: int) -> Keywords:
    """New settings that are equal except for the seed, with graphs that differ between draws."""
    model = AdditiveGP(noise=NOISE, residual=Residual(), categorical=SPACE.categorical)
    return {"model": model, "inference": given_graphs, "num_initial": NUM_INITIAL, "seed": seed}


def sampled(seed: int) -> Keywords:
    """Settings of a user, with a Markov chain and trees."""
    model = AdditiveGP(random_tree(), noise=NOISE, categorical=SPACE.categorical)
    return {"model": model, "criterion": "ucb", "num_initial": NUM_INITIAL, "seed": seed}


KINDS = [
    pytest.param(given, id="search"),
    pytest.param(sampled, marks=pytest.mark.nightly, id="whole"),
]


def objective(params: dict[str, Any]) -> float:
    return float(np.sin(6.0 * params["a"]) + params["b"] * (params["c"] == "u"))


class Steps:
    """Asks and tells, and returns the functions compiled meanwhile."""

    def __init__(self, compiled: Compiled, settings: Keywords) -> None:
        self.optimizer = Optimizer(SPACE, **settings)
        self.optimizer._engine.ahead = slow_schedule()
        self._compiled = compiled

    def __call__(self, number: int) -> list[str]:
        def ask_and_tell() -> None:
            for _ in range(number):
                trial = self.optimizer.ask()
                self.optimizer.tell(trial, objective(trial.params))

        return self._compiled(ask_and_tell)

    def tell_up_to(self, number: int) -> None:
        missing = number - len(self.optimizer.trials)
        points = np.random.default_rng(0).random((missing, 3))
        for params in SPACE.from_unit(points):
            self.optimizer.tell(params, objective(params))


@pytest.mark.parametrize("settings", KINDS)
def test_an_optimizer_compiles_at_its_first_suggestion_and_no_more(
    compiled: Compiled, settings: Callable[[int], Keywords]
):
    steps = Steps(compiled, settings(0))
    before = steps(NUM_INITIAL)
    assert steps.optimizer.will_compile
    first = steps(1)
    assert "search_starts" in (before if settings is sampled else first)
    assert "search_starts" not in (first if settings is sampled else before)
    assert not steps.optimizer.will_compile and steps(2) == []
    steps.tell_up_to(QUIET)
    assert steps(1) == []
    steps.tell_up_to(SMALLEST)
    assert not steps.optimizer.will_compile, "the last one of the smallest size"
    ahead = {"_warp", "run", "_conditioned", "search_starts", "_value_and_gradient"}
    assert {*steps(1)} <= (ahead if settings is sampled else set())


@pytest.mark.nightly
@pytest.mark.parametrize("settings", KINDS)
def test_an_optimizer_compiles_its_search_once_per_padded_size(
    compiled: Compiled, settings: Callable[[int], Keywords]
):
    """The sampler is compiled before the padded size is reached, not when it is."""
    Optimizer(SPACE).ask()  # compiles quasi-random points, which later replace known ones
    steps = Steps(compiled, settings(0))
    assert steps(1) == []
    steps.tell_up_to(UNUSUAL)
    search = ["_conditioned", "search_starts", "_value_and_gradient"]
    before = steps(1)
    if settings is sampled:
        assert before[-5:] == ["_warp", "run", *search]
    assert steps.optimizer.will_compile
    assert steps(1) == ([] if settings is sampled else search)
    assert steps(1) == []


@pytest.mark.parametrize("settings", KINDS)
def test_a_second_run_compiles_nothing(
    compiled: Compiled,
    capsys: pytest.CaptureFixture[str],
    settings: Callable[[int], Keywords],
):
    def run(seed: int) -> None:
        minimize(objective, SPACE, NUM_INITIAL + 3, **settings(seed))

    run(seed=0)
    compiling_at = re.findall(r"minimize, compiling: [^\r]* (\d)/7", capsys.readouterr().err)
    last = range(1, NUM_INITIAL + 1) if settings is sampled else [NUM_INITIAL]
    assert compiling_at == [str(n) for n in last], "said up to the first point of the model, only"
    assert compiled(lambda: run(seed=1)) == []
