"""Averages over runs, their standard errors, and paired tests."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from papers.harness.experiment import Experiment
from papers.harness.records import Records
from scipy.stats import binomtest, wilcoxon


class Score(NamedTuple):
    """A measure of a method on a problem at the end of its runs.

    Args:
        problem: name of the problem.
        method: name of the method.
        measure: name of the measure.
        runs: number of runs.
        mean: mean over runs.
        error: standard error of the mean; NaN for one run.
        median: median over runs.
        p: p-value of Wilcoxon's signed-rank test of the differences from the reference with equal
            seeds; NaN for the reference, and for fewer than two runs.
    """

    problem: str
    method: str
    measure: str
    runs: int
    mean: float
    error: float
    median: float
    p: float


def curves(
    experiment: Experiment, records: Records, problem: str, method: str, measure: str
) -> dict[int, Float[np.ndarray, " steps"]]:
    """A measure along the axis, by seed."""
    runs = records.of(experiment, problem, method)
    measured = {seed: experiment.kind.measures(values) for seed, values in runs.items()}
    return {seed: found[measure] for seed, found in measured.items() if measure in found}


def scores(experiment: Experiment, records: Records, reference: str) -> list[Score]:
    """All scores of an experiment that has runs.

    Args:
        experiment: the row of the registry.
        records: its runs.
        reference: the method that the others are compared with.
    """
    found = []
    for measure in experiment.measures:
        for problem in experiment.problems:
            ends = {
                method: _ends(experiment, records, problem, method, measure)
                for method in experiment.methods
            }
            for method, values in ends.items():
                if values:
                    p = np.nan if method == reference else paired_p(values, ends.get(reference, {}))
                    found.append(Score(problem, method, measure, *_summary(values), p))
    return found


def paired_p(first: Mapping[Any, float], second: Mapping[Any, float]) -> float:
    """The p-value of the differences between two methods, by seed or by problem and seed."""
    cases = sorted(first.keys() & second.keys())
    differences = np.array([first[case] - second[case] for case in cases])
    if len(differences) < 2:
        return np.nan
    return float(wilcoxon(differences).pvalue) if differences.any() else 1.0


def sign_test(differences: Float[np.ndarray, " cases"]) -> tuple[int, int, float]:
    """How many differences are negative and positive, and the p-value of the sign test."""
    below, above = int((differences < 0).sum()), int((differences > 0).sum())
    return below, above, float(binomtest(below, below + above).pvalue) if below + above else 1.0


def spread(values: Float[np.ndarray, "runs ..."]) -> Float[np.ndarray, "..."]:
    """The standard error of the mean, NaN for one run."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(values.std(0, ddof=1) / np.sqrt(len(values)))


def _ends(
    experiment: Experiment, records: Records, problem: str, method: str, measure: str
) -> dict[int, float]:
    found = curves(experiment, records, problem, method, measure)
    return {seed: float(curve[-1]) for seed, curve in found.items()}


def _summary(values: dict[int, float]) -> tuple[int, float, float, float]:
    array = np.array(list(values.values()))
    return len(array), float(array.mean()), float(spread(array)), float(np.median(array))
