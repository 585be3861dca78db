"""Settings: one definition for all signatures; names, contradictions, samplers."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import partial
from typing import Any, get_type_hints

import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import HMC
from scipy.stats import yeojohnson
from short_runs import warped

import structbo as sb
from structbo.acquisition import UCB
from structbo.data import Data, Standardized
from structbo.draws import Chain
from structbo.models import AdditiveGP, main_effects
from structbo.optimizer import Engine
from structbo.optimizer.settings import Keywords
from structbo.runs.minimization import RunKeywords, _run

SPACE = sb.Space({"a": (0.0, 1.0), "b": (0.0, 1.0)})
PUBLIC = [sb.suggest, sb.Optimizer, sb.minimize, sb.maximize, Engine]
MODEL = AdditiveGP(main_effects())
MANY = 100
"""More quasi-random points than any test here evaluates: no model, hence fast."""


def keywords(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


@pytest.mark.parametrize("function", PUBLIC, ids=lambda function: function.__name__)
def test_every_setting_is_seen_in_the_signature(function: Callable[..., Any]) -> None:
    defaults = {f.name: None if f.default is MISSING else f.default for f in fields(sb.Settings)}
    assert keywords(function).items() >= defaults.items()
    kinds = {p.kind for p in inspect.signature(function).parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds


def test_every_setting_is_described_once() -> None:
    given, kept = get_type_hints(Keywords), get_type_hints(sb.Settings)
    assert (names := set(kept)) == set(given)
    for name, kind in kept.items():
        is_same = given[name] == kind or given[name] in (str | kind, kind | None)
        assert is_same, (name, kind, given[name])
    assert set(get_type_hints(RunKeywords)) == set(keywords(_run))
    described = [line.split(":")[0].strip() for line in inspect.getdoc(sb.Settings).splitlines()]
    assert [described.count(name) for name in names] == [1] * len(names)
    text = inspect.getdoc(sb.minimize)
    assert all(f"\n    {name}: " in text for name in keywords(_run).keys() - names)


def test_settings_have_instances_and_cannot_be_changed() -> None:
    settings = sb.Optimizer(SPACE, criterion="ucb", seed=np.int64(3)).method
    assert settings.criterion == UCB() and settings.num_initial == 4 and type(settings.seed) is int
    with pytest.raises(FrozenInstanceError):
        settings.seed = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    "call",
    [
        lambda **wrong: sb.suggest(SPACE, [], [], **wrong),
        lambda **wrong: sb.Optimizer(SPACE, **wrong),
        lambda **wrong: sb.minimize(len, SPACE, 1, **wrong),
    ],
    ids=["suggest", "Optimizer", "minimize"],
)
def test_wrong_settings_are_named_everywhere(call: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"'critirion' is not a setting \(did you mean 'criterion'"):
        call(critirion="ucb")
    with pytest.raises(TypeError, match="sampler must be a function, got 3"):
        call(sampler=3)
    with pytest.raises(TypeError, match="inference must be a function, got 'chain'"):
        call(inference="chain")


def test_settings_that_contradict_an_optimizer_are_named() -> None:
    optimizer = sb.Optimizer(SPACE, num_initial=MANY, criterion="ucb")
    go_on = partial(sb.minimize, lambda p: p["a"], optimizer=optimizer, show_progress_bar=False)
    go_on(SPACE, 1, criterion=UCB(), num_initial=MANY, seed=0)
    wrong: dict[str, Any] = {"seed": 1, "criterion": "log_ei", "batch": "believer"}
    with pytest.raises(ValueError, match="other values of space, seed, criterion:"):
        go_on({"a": (0.0, 2.0), "b": (0.0, 1.0)}, 1, **wrong)
    screening = sb.CoordinatewiseSampling(SPACE, 1)
    with pytest.raises(ValueError, match="other values of screening:"):
        go_on(None, 1, screening=screening)
    assert len(optimizer.trials) == 1


def test_minimize_takes_what_an_optimizer_takes() -> None:
    screening = sb.CoordinatewiseSampling(SPACE, 1, num_differences=2, seed=0)
    result = sb.minimize(
        lambda p: p["a"], SPACE, 2, screening=screening, show_progress_bar=False, num_initial=MANY
    )
    assert len(screening.trials) == len(result.trials) == 2
    assert keywords(sb.minimize).keys() >= keywords(sb.Optimizer).keys()


def sampled_by(sampler: Any) -> sb.Optimizer:
    optimizer = sb.Optimizer(SPACE, num_initial=4, model=MODEL, sampler=sampler)
    for a, b in np.random.default_rng(0).random((6, 2)):
        optimizer.tell({"a": a, "b": b}, np.sin(6.0 * a) + b)
    return optimizer


@pytest.mark.nightly
def test_the_sampler_of_a_search_can_be_any_kernel() -> None:
    """The example is a short Hamiltonian trajectory, for a model without discrete sites."""
    made = []

    def sampler(model: Any) -> HMC:
        made.append(HMC(model, num_steps=1, trajectory_length=None))
        return made[-1]

    optimizer = sampled_by(sampler)
    asked = [optimizer.ask().params for _ in range(2)]
    assert asked[0] != asked[1] and len(made) == 1


@pytest.mark.parametrize(("own", "expected"), [((), (1,)), ((0,), (0,))])
def test_a_given_model_gets_the_categories_of_the_space(
    own: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """Otherwise the choices would be a number, without a word."""
    space = {"x": (0.0, 1.0), "solvent": sb.Categorical(["water", "THF", "DMF"])}
    optimizer = sb.Optimizer(space, model=AdditiveGP(main_effects(), categorical=own))
    assert optimizer.method.model == AdditiveGP(main_effects(), categorical=expected)


@pytest.mark.parametrize("bad", [lambda model: 3, HMC(MODEL)], ids=["no kernel", "a kernel"])
def test_what_a_sampler_gives_is_checked(bad: Any) -> None:
    with pytest.raises(TypeError, match="sampler must"):
        sampled_by(bad).ask()


def test_values_are_warped_unless_it_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chain and all later steps use the values returned by its `warped`."""
    seen: list[np.ndarray] = []

    def advance(self: Chain, data: Data) -> Any:
        seen.append(np.asarray(data.y)[np.asarray(data.mask)])
        return original(self, data)

    original = Chain.advance
    monkeypatch.setattr(Chain, "advance", advance)
    monkeypatch.setattr(Chain, "warped", lambda self, data: warped(data, 3.0))
    values = np.array([-9.0, 0.0, 1.0, 1.5, 2.0])
    for warp in (True, False):
        optimizer = sb.Optimizer(
            {"x": (0.0, 1.0)}, "maximize", num_initial=4, model=MODEL, warp=warp
        )
        for x, value in zip(np.linspace(0.0, 1.0, 5), values, strict=True):
            optimizer.tell({"x": x}, value)
        optimizer.ask()
    expected = Standardized.of(values).values
    raised = Standardized.of(yeojohnson(expected, 3.0)).values
    np.testing.assert_allclose(seen, [raised, expected], atol=1e-12)
    with pytest.raises(TypeError, match="warp must be True or False, got 'no'"):
        sb.Optimizer({"x": (0.0, 1.0)}, warp="no")  # type: ignore[arg-type]


def test_values_reach_the_model_unchanged_if_they_are_not_standardized() -> None:
    """Failures still become the worst value, and minimization changes the sign."""
    seen: list[np.ndarray] = []

    class Known:
        """A source of known values of all sites."""

        def advance(self, data: Data) -> Any:
            seen.append(np.asarray(data.y)[np.asarray(data.mask)])
            known = {"lengthscale": [0.3], "outputscale": 4.0, "noise": 0.01}
            return {name: jnp.asarray(value, float)[None] for name, value in known.items()}

    optimizer = sb.Optimizer(
        {"x": (0.0, 1.0)},
        num_initial=3,
        model=MODEL,
        inference=lambda model, seed: Known(),
        criterion="ucb",
        standardize=False,
    )
    values = [-9.0, 0.0, 1.5, None]
    for x, value in zip(np.linspace(0.0, 1.0, 4), values, strict=True):
        optimizer.tell({"x": x}, value)
    optimizer.ask()
    np.testing.assert_array_equal(seen, [[9.0, 0.0, -1.5, -1.5]])
    # At a distance of more than three lengthscales, the model knows nothing but its prior.
    points = np.append(np.linspace(0.0, 1.0, 4), 0.4)
    prior = 4.0 * np.exp(-0.5 * ((points[:, None] - points) / 0.3) ** 2)
    gains = np.linalg.solve(prior[:4, :4] + 0.01 * np.eye(4), prior[:4, 4])
    mean, variance = gains @ seen[0], prior[4, 4] - gains @ prior[:4, 4]
    bound = mean + np.sqrt(0.5 * np.log(8.0) * variance)
    np.testing.assert_allclose(optimizer.score([{"x": 0.4}])[0], [bound], rtol=1e-6)


def test_standardization_that_is_switched_off_ends_warping_too() -> None:
    space = sb.Space({"x": (0.0, 1.0)})
    assert sb.Settings.of(space).warps
    assert not sb.Settings.of(space, standardize=False).warps
    assert not sb.Settings.of(space, warp=False).warps
    with pytest.raises(TypeError, match="standardize must be True or False, got 1"):
        sb.Settings.of(space, standardize=1)  # type: ignore[typeddict-item]
