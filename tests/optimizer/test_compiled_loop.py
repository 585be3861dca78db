"""A whole run compiles at its first suggestion of the model, and where the padding grows."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from structbo import Optimizer, Settings, Space, minimize
from structbo.data import padded_size
from structbo.draws import Fitted, Inference
from structbo.models import AdditiveGP, Kernel, Model, matern32, matern52, random_tree

Compiled = Callable[[Callable[[], object]], list[str]]
NUM_INITIAL = 4
SMALLEST = padded_size(1)


def space() -> Space:
    return Space({"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)})


def settings(seed: int, kernel: Kernel = matern52) -> Settings:
    """Fresh but equal ones, but for the seed; their trees differ from draw to draw."""
    model = AdditiveGP(random_tree(), kernel)
    return {"model": model, "criterion": "ucb", "num_initial": NUM_INITIAL, "seed": seed}


def objective(params: dict[str, Any]) -> float:
    return float(np.sin(6.0 * params["a"]) + params["b"] * params["c"])


def drawn_trees(model: Model, seed: int) -> Fitted:
    """In place of a Markov chain, of the same types: compiling that takes as long as the rest."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        tree = 1 - np.eye(3, dtype=np.int32)
        a, b = rng.choice(3, 2, replace=False)
        tree[a, b] = tree[b, a] = 0
        others = {"outputscale": np.ones(()), "noise": np.array(0.01)}
        return {"Z": tree, "lengthscale": rng.uniform(0.3, 2.0, 3), **others}

    def draws(model: Model, x: np.ndarray, y: np.ndarray, seed: int) -> list[dict[str, Any]]:
        rng = np.random.default_rng(seed)
        return [draw(rng) for _ in range(6)]

    return Fitted(model, seed, draws)


SEARCH = ["search_starts", "_value_and_gradient"]


@pytest.mark.parametrize(
    ("kernel", "inference", "programs"),
    [
        pytest.param(matern52, drawn_trees, SEARCH, id="search"),
        pytest.param(matern32, None, ["sweep", *SEARCH], marks=pytest.mark.nightly, id="whole"),
    ],
)
def test_an_optimizer_compiles_at_its_first_suggestion_and_per_padded_size(
    compiled: Compiled, kernel: Kernel, inference: Inference | None, programs: list[str]
):
    optimizer = Optimizer(space(), **settings(seed=0, kernel=kernel), inference=inference)

    def steps(number: int) -> list[str]:
        def ask_and_tell() -> None:
            for _ in range(number):
                trial = optimizer.ask()
                optimizer.tell(trial, objective(trial.params))

        return compiled(ask_and_tell)

    def tell_up_to(number: int) -> None:
        points = np.random.default_rng(0).random((number - len(optimizer.trials), 3))
        for params in optimizer.space.from_unit(points):
            optimizer.tell(params, objective(params))

    steps(NUM_INITIAL)
    assert optimizer.will_compile and steps(1)
    assert not optimizer.will_compile and steps(2) == []
    tell_up_to(SMALLEST)
    assert not optimizer.will_compile, "the last one of the smallest size"
    assert steps(1) == []
    assert optimizer.will_compile
    assert steps(1) == programs
    assert steps(1) == []


def test_a_second_run_compiles_nothing(compiled: Compiled, capsys: pytest.CaptureFixture[str]):
    def run(seed: int) -> None:
        minimize(objective, space(), NUM_INITIAL + 3, **settings(seed))

    run(seed=0)
    compiling_at = re.findall(r"minimize, compiling: [^\r]* (\d)/7", capsys.readouterr().err)
    assert compiling_at == [str(NUM_INITIAL)], "said before the first point of the model, only"
    assert compiled(lambda: run(seed=1)) == []
