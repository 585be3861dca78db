"""Mean ranks over all problems and seeds, for problems whose values have no common scale."""

import numpy as np
from jaxtyping import Float
from papers.harness.experiment import Experiment
from papers.harness.records import Records
from papers.harness.scores import curves, sign_test
from papers.harness.table import number, rendered
from scipy.stats import rankdata


def ranked(experiment: Experiment, records: Records, reference: str = "") -> str:
    """A row for each method: its mean rank, 1 being the best, and how often it is ahead.

    The sign test compares each method with the reference, without ties.

    Args:
        experiment: the row of the registry.
        records: its runs.
        reference: the method of the tests; by default the one of the experiment.
    """
    reference = reference or experiment.reference or experiment.methods[0]
    measures = [name for name in experiment.measures if not name.startswith("CPU seconds")]
    columns = {measure: complete_runs(experiment, records, measure) for measure in measures}
    columns = {measure: values for measure, values in columns.items() if len(values)}
    header = ["method"]
    for measure, values in columns.items():
        header += [f"{measure}: mean rank, {len(values)} cases", "ahead, behind", "p"]
    against = experiment.methods.index(reference)
    rows = [
        [method, *(text for values in columns.values() for text in _cells(values, k, against))]
        for k, method in enumerate(experiment.methods)
    ]
    return rendered(header, rows)


def complete_runs(
    experiment: Experiment, records: Records, measure: str
) -> Float[np.ndarray, "cases methods"]:
    """The ends of all runs whose problem and seed every method has, smaller being better."""
    sign = -1.0 if measure.startswith("best value") else 1.0
    rows = []
    for problem in experiment.problems:
        found = [curves(experiment, records, problem, m, measure) for m in experiment.methods]
        for seed in sorted(set.intersection(*map(set, found))):
            rows.append([sign * runs[seed][-1] for runs in found])
    return np.array(rows)


def _cells(values: Float[np.ndarray, "cases methods"], method: int, reference: int) -> list[str]:
    rank = rankdata(values, axis=1)[:, method].mean()
    if method == reference:
        return [number(rank), "", ""]
    ahead, behind, p = sign_test(values[:, method] - values[:, reference])
    return [number(rank), f"{ahead}, {behind}", f"{p:.2g}"]
