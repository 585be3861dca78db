"""The second call of a public function, with other values of the same shapes, does not compile."""

from collections.abc import Callable

import numpy as np
import numpyro.distributions as dist
import pytest

from structbo import fit, recipes, suggest
from structbo.acquisition import CRITERIA, UCB, AdditiveUCB, Criterion
from structbo.batches import BATCH_STRATEGIES
from structbo.draws import bag_of_models
from structbo.models import AdditiveGP, edges, independent_lengthscale, main_effects, partitions
from structbo.posterior import Posterior

Compiled = Callable[[Callable[[], object]], list[str]]
SPACE = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
X = np.random.default_rng(0).random((14, 2))
Y = np.sin(6.0 * X[:, 0]) + X[:, 1]


def posterior(num_points: int) -> Posterior:
    """A posterior of a new model, which equals the models of other calls."""
    rng = np.random.default_rng(1)
    draws = {"Z": np.zeros((1, 4, 2, 2), int), "lengthscale": rng.uniform(0.2, 1.0, (1, 4, 2))}
    draws |= {"outputscale": np.ones((1, 4)), "noise": np.full((1, 4), 0.1)}
    return Posterior(AdditiveGP(edges(0.2)), X[:num_points], Y[:num_points], draws)


def test_predictions_of_a_fresh_but_equal_model_compile_nothing(compiled: Compiled):
    def use(num_points: int, num_asked: int) -> None:
        posterior(num_points).predict(X[:num_asked])
        _ = posterior(num_points).log_density

    assert {"_mapped", "_log_densities"} <= set(compiled(lambda: use(12, 3)))
    assert compiled(lambda: use(14, 5)) == []


def test_a_second_fit_with_a_few_more_observations_compiles_nothing(compiled: Compiled):
    def draw(seed: int, num_points: int) -> None:
        model = AdditiveGP(main_effects(), noise=dist.LogNormal(-3.3, 1.0))  # no other test's
        steps = {"num_warmup": 7, "num_samples": 6, "num_chains": 2}
        fit(model, X[:num_points], Y[:num_points], **steps, seed=seed, show_progress_bar=False)

    assert {"start", "run"} <= set(compiled(lambda: draw(0, 6)))
    assert compiled(lambda: draw(1, 14)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("entry", ["main_effects", "summary", "prior", "to_arviz", "edges"])
def test_everything_of_a_posterior_compiles_once(compiled: Compiled, entry: str):
    compiled(lambda: getattr(posterior(12), entry)())
    assert compiled(lambda: getattr(posterior(14), entry)()) == []


def propose(num_points: int, seed: int, criterion: Criterion | str, batch: str) -> None:
    x, y = X[:num_points], Y[:num_points]
    suggest(SPACE, x, y, n=2, criterion=criterion, batch=batch, num_initial=4, seed=seed)


@pytest.mark.nightly
def test_another_beta_compiles_nothing(compiled: Compiled):
    assert "search_starts" in compiled(lambda: propose(12, 0, UCB(4.0), "believer"))
    assert compiled(lambda: propose(14, 1, UCB(5.0), "believer")) == []


@pytest.mark.nightly
@pytest.mark.parametrize("criterion", [*CRITERIA, AdditiveUCB(3.0)], ids=str)
def test_every_criterion_compiles_once(compiled: Compiled, criterion: Criterion | str):
    propose(12, 0, criterion, "believer")
    assert compiled(lambda: propose(14, 1, criterion, "believer")) == []


def test_message_passing_compiles_once(compiled: Compiled):
    """The recipe keeps one graph for 25 observations."""
    optimizer = recipes.add_gp_ucb(SPACE, group_size=1, num_initial=4)

    def ask_and_tell() -> None:
        trial = optimizer.ask()
        optimizer.tell(trial, float(np.sin(6.0 * trial.params["a"]) + trial.params["b"]))

    for _ in range(5):
        ask_and_tell()
    assert compiled(ask_and_tell) == []


def test_a_second_bag_compiles_nothing(compiled: Compiled):
    """The bag has partitions from the prior, with blocks drawn one by one."""

    def search(num_points: int, seed: int) -> None:
        model = AdditiveGP(partitions(), lengthscale=independent_lengthscale)
        bag_of_models(model, X[:num_points], Y[:num_points], num_models=3, seed=seed)

    assert "_drawn" in compiled(lambda: search(12, 0))
    assert compiled(lambda: search(14, 1)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("batch", BATCH_STRATEGIES)
def test_every_batch_strategy_compiles_once(compiled: Compiled, batch: str):
    propose(12, 0, "ucb", batch)
    assert compiled(lambda: propose(14, 1, "ucb", batch)) == []
