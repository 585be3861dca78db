"""The tables and pictures of wide.py."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from papers.harness.experiment import Experiment
from papers.harness.picture import picture
from papers.harness.records import Records
from papers.harness.scores import curves, paired_p, sign_test
from papers.harness.table import markdown, number, rendered
from wide_search import COUNTS, WideSearch

Case = tuple[str, int]
"""A problem and a seed."""
LEAST = 1e-4
"""Regrets are at least this share of the regret of the first points, which all methods share."""


def show(
    families: list[Experiment], results: Path, against: list[str], folder: Path | None
) -> None:
    """Prints the runs of all lengths, and draws them if a folder is given."""
    shortest = WideSearch(COUNTS[0])
    every = [f._replace(kind=shortest, others=shortest.longer()) for f in families]
    shown = []
    for family in every:
        records = Records(results / family.file_name, family.kind, family.others)
        if any(records.of(family, p, m) for p in family.problems for m in family.methods):
            shown.append(family)
            print(f"\n{family.name}, {family.place}\n\n{markdown(family, records)}")
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                drawn = picture(family._replace(measures=measured(family, records)), records)
                drawn.savefig(folder / f"{family.name}-{family.place}.png", dpi=90)
    print(f"\nagainst the best of {' and '.join(against)}\n")
    print(rendered(*summary(shown, results, against, COUNTS)))


def summary(
    families: Sequence[Experiment], folder: Path, against: Sequence[str], counts: Sequence[int]
) -> tuple[list[str], list[list[str]]]:
    """The header of a table, and a row for each family, method and number of evaluations.

    The log ratio compares a method's regret with the smallest regret of the methods in `against`,
    for equal problems and seeds. Wins and losses count cases with smaller and larger regrets. If
    the maximum is unknown, differences of the best values take the place of log ratios.

    Args:
        families: the experiments, one for each family.
        folder: the folder of the runs.
        against: the methods to compare with.
        counts: numbers of evaluations.
    """
    header = ["family", "method", "evaluations", "cases", "median log ratio", "Wilcoxon p"]
    header += ["wins", "losses", "sign test p"]
    rows = []
    for family in families:
        records = Records(folder / family.file_name, family.kind, family.others)
        for n in counts:
            best = reference(family, records, against, n)
            for method in family.methods:
                ours = costs(family, records, method, n)
                shared = sorted(ours.keys() & best.keys())
                if shared and method not in against:
                    cells = compared({c: ours[c] for c in shared}, {c: best[c] for c in shared})
                    rows.append([family.name, method, str(n), str(len(shared)), *cells])
    return header, rows


def measured(family: Experiment, records: Records) -> tuple[str, ...]:
    """Which curves there are: regrets, or best values if maxima are unknown."""
    return tuple(
        name
        for name in ("regret", "best value")
        if any(curves(family, records, p, m, name) for p in family.problems for m in family.methods)
    )


def compared(ours: dict[Case, float], theirs: dict[Case, float]) -> list[str]:
    """The cells of a row, for costs of equal cases."""
    differences = np.array([ours[case] - theirs[case] for case in ours])
    wins, defeats, sign = sign_test(differences)
    return [
        number(float(np.median(differences))),
        number(paired_p(ours, theirs)),
        str(wins),
        str(defeats),
        number(sign),
    ]


def reference(
    family: Experiment, records: Records, against: Sequence[str], n: int
) -> dict[Case, float]:
    """The smallest cost of some methods, for each case that all of them have."""
    every = [costs(family, records, method, n) for method in against]
    shared = set.intersection(*map(set, every))
    return {case: min(found[case] for found in every) for case in shared}


def costs(family: Experiment, records: Records, method: str, n: int) -> dict[Case, float]:
    """Logarithms of the regrets after n evaluations, or negative best values."""
    found: dict[Case, float] = {}
    for problem in family.problems:
        for seed, curve in curves(family, records, problem, method, "regret").items():
            if len(curve) >= n:
                least = LEAST * curve[family.kind.settings()["num_initial"] - 1]
                found[problem, seed] = float(np.log(max(curve[n - 1], least)))
        for seed, curve in curves(family, records, problem, method, "best value").items():
            if len(curve) >= n:
                found[problem, seed] = -float(curve[n - 1])
    return found
