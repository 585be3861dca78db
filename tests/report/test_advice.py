"""Advice of a report: whether to go on, what to keep, and how measurements scatter."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from searches import NAMES, given_search

from structbo import Optimizer
from structbo.posterior import Effect
from structbo.report.changes import changes_table, clear_changes
from structbo.report.evidence import Evidence, Predictions
from structbo.report.progress import next_steps
from structbo.report.quantities import in_words
from structbo.report.stopping import stop_or_go_on


@pytest.fixture(scope="module")
def search() -> Iterator[Optimizer]:
    with given_search() as optimizer:
        yield optimizer


def evidence_of(search: Optimizer, **known: Any) -> Evidence:
    """Evidence of which some parts are given."""
    evidence = Evidence(search, 0, value_name="loss")
    vars(evidence).update({"is_modeled": True, **known})
    return evidence


def test_the_unit_of_values_does_not_change_what_runs_support(search: Optimizer):
    units = search.posterior.units
    small, large = (
        replace(units, transform=units.transform._replace(location=0.0, scale=scale))
        for scale in (1e-3, 1e3)
    )
    one, other = (
        evidence_of(search, posterior=replace(search.posterior, units=units)).support
        for units in (small, large)
    )
    assert one.is_far.any() and one.unexplained == other.unexplained
    np.testing.assert_array_equal(one.is_far, other.is_far)


def test_go_on_while_a_point_is_expected_to_be_better(search: Optimizer):
    """The model expects 5 more at all runs than it does at the next points."""
    given = evidence_of(search).of_best_first
    known = {"of_best_first": given._replace(mean=given.mean + 5.0)}
    points = [search.trials[k].params for k in (7, 0)]
    text = stop_or_go_on(evidence_of(search, next_points=points, **known))
    assert text == "Go on: at point 2 the model expects a better loss than at any run, by 5."
    in_noise = evidence_of(search, next_points=points, measurement_error=5.1, **known)
    assert stop_or_go_on(in_noise).startswith("You may stop")


def test_stop_only_if_the_best_value_is_not_recent(search: Optimizer):
    """The best run is the first of 25 with a value, and four parameters make eight runs recent."""
    known = {"next_points": [search.best.params]}
    assert stop_or_go_on(evidence_of(search, **known)).startswith("You may stop")
    told = [trial for trial in search.trials if trial.is_told]
    turned = stop_or_go_on(evidence_of(search, told=told[::-1], **known))
    assert turned.startswith("Go on: ") and "If 8 more runs do not improve it" in turned
    moved = [*told[1:-7], told[0], *told[-7:]]
    assert stop_or_go_on(evidence_of(search, told=moved, **known)).startswith("Go on: ")
    moved = [*told[1:-8], told[0], *told[-8:]]
    assert stop_or_go_on(evidence_of(search, told=moved, **known)).startswith("You may stop")


def test_go_on_until_the_model_chooses_the_points(search: Optimizer):
    """The search has 25 values and asks for 100 quasi-random points."""
    evidence = Evidence(search, 1)
    given = {"next_points": [search.best.params]}
    vars(evidence).update(given)
    assert stop_or_go_on(evidence).startswith("Go on: there are too few values")
    text = str(next_steps(evidence).body)
    assert "did not choose the points" in text and "complement each other" not in text
    text = str(next_steps(evidence_of(search, **given)).body)
    assert "did not choose the points" not in text and "complement each other" in text


def test_a_chance_is_the_probability_of_a_better_value(search: Optimizer):
    evidence = evidence_of(search)
    points = [trial.params for trial in search.trials[:6]]
    mean, variance = search.posterior.predict(points)
    best = search.posterior.predict([t.params for t in evidence.best_first])[0].min()
    expected = norm.cdf((best - mean) / np.sqrt(variance))
    np.testing.assert_allclose(evidence.chances(points), expected, atol=1e-3)


def test_the_best_expected_value_has_the_digits_of_the_next_ones(search: Optimizer):
    expected = evidence_of(search).of_best_first
    best = expected._replace(mean=np.full_like(expected.mean, 1234.5678))
    near = Predictions(np.array([1234.5123]), np.array([1234.49]), np.array([1234.53]))
    known = {"next_points": [search.best.params], "of_best_first": best, "of_next_points": near}
    body = next_steps(evidence_of(search, **known)).body
    assert "The best expected loss of all runs is 1234.5678." in body
    assert ">1234.5123</td>" in body and ">1234.4900 to 1234.5300</td>" in body


def test_the_measurement_error_has_the_unit_of_the_values(search: Optimizer):
    posterior = search.posterior
    variance = np.mean(posterior.draws["noise"]) * posterior.units.transform.scale**2
    assert evidence_of(search).measurement_error == pytest.approx(np.sqrt(variance))
    told = [replace(trial, sem=0.1) for trial in search.trials if trial.is_told]
    assert evidence_of(search, told=told).measurement_error is None


def test_next_points_are_printed_as_they_are(search: Optimizer):
    """They have few digits already, and more may tell them apart."""
    points = [{**search.best.params, NAMES[1]: value} for value in (0.123456, 0.123457)]
    body = next_steps(evidence_of(search, next_points=points)).body
    assert ">0.123456</td>" in body and ">0.123457</td>" in body


def test_points_that_nobody_can_set_are_to_be_rounded(search: Optimizer):
    body = next_steps(evidence_of(search, next_points=[search.best.params])).body
    assert f"and {NAMES[1]} to what you can set" in body
    assert "A step in the search space gives round numbers on a linear scale." in body


def effect_of(name: str, mean: list[float], half: list[float]) -> Effect:
    center, reach = np.array(mean), np.array(half)
    grid = np.linspace(0.0, 2.0, len(mean))
    lower, upper = center - reach, center + reach
    return Effect((name,), (grid,), ("linear",), center, reach / 1.6449, lower, upper)


def known_best(search: Optimizer) -> Evidence:
    """The best run is expected at 0, with an interval from -1 to 1."""
    interval = Predictions(np.zeros(1), -np.ones(1), np.ones(1))
    return evidence_of(search, of_best_first=interval)


def test_what_to_keep_comes_after_what_could_help(search: Optimizer):
    evidence = known_best(search)
    wide, worse = effect_of("wide", [27.0, 0.0], [30.0, 1.0]), effect_of("w", [3.0, 0.0], [1.5, 1])
    better = effect_of("b", [-3.0, 0.0], [1.5, 1.0])
    run = search.best.number
    nothing = f"No change of a single parameter of run {run} is expected to lower loss clearly."
    assert clear_changes(evidence, [wide]) == f"{nothing} None is known to raise it clearly."
    kept = f"Keep w near the values of run {run}: other values can clearly raise it."
    assert clear_changes(evidence, [wide, worse]) == f"{nothing} {kept}"
    helped = clear_changes(evidence, [worse, better])
    assert helped == f"Other values of b than in run {run} lower loss clearly. {kept}"


def test_a_large_change_that_is_not_clear_stands_beside_its_interval(search: Optimizer):
    """A clear change is shown before a larger one whose interval overlaps."""
    wide = effect_of(NAMES[1], [27.0, 0.0], [30.0, 1.0])
    both = effect_of(NAMES[0], [27.0, 3.0, np.nan], [30.0, 1.5, 1.0])
    text = changes_table(known_best(search), [wide, both])
    assert ">27.0</td>" in text and ">-3.0 to 57.0</td>" in text and ">no</td>" in text
    assert ">3.0</td>" in text and ">1.5 to 4.5</td>" in text and ">yes</td>" in text
    assert text.count("<tr>") == 3


def test_choices_are_alike_and_numbers_change_gradually(search: Optimizer):
    words = in_words(search.posterior, "loss")
    assert words[f"lengthscale[{NAMES[3]}]"] == f"how alike the choices of {NAMES[3]} are"
    assert words[f"lengthscale[{NAMES[2]}]"] == f"how gradually loss changes with {NAMES[2]}"
