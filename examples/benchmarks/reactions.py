"""Yields of chemical reactions to maximize: the problems of weeks.py.

Complete factorial experiments are read from CSV files. A made-up reaction has noise, three numbers
and four categorical parameters.
"""

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import structbo as sb

NUMBERS = ("concentration", "temperature", "time", "equivalents")
"""The numeric parameters; all others are categorical."""


class Problem(NamedTuple):
    """A function to maximize, its maximum, and the standard deviation of the noise."""

    space: sb.Space
    value: Callable[[dict[str, Any]], float]
    best: float
    noise: float

    @property
    def categories(self) -> list[str]:
        return [name for name in self.space.names if name not in NUMBERS]


def table(path: Path) -> Problem:
    """A complete factorial experiment, in which every point was evaluated once."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name != "yield"]
    spec: dict[str, Any] = {}
    for row in rows:
        row.update({name: float(row[name]) for name in names if name in NUMBERS})
    for name in names:
        choices = list(dict.fromkeys(row[name] for row in rows))
        spec[name] = sb.Ordinal(sorted(choices)) if name in NUMBERS else sb.Categorical(choices)
    values = {tuple(row[name] for name in names): float(row["yield"]) for row in rows}
    value = lambda point: values[tuple(point[name] for name in names)]  # noqa: E731
    return Problem(sb.Space(spec), value, max(values.values()), noise=0.0)


CATALYSTS = {"Pd(OAc)2": 0.55, "Pd2(dba)3": 0.8, "none": 0.03}
LIGANDS = {"XPhos": 1.0, "SPhos": 0.75, "dppf": 0.45}
BASES = {"K2CO3": 1.0, "Cs2CO3": 0.8, "NaOtBu": 0.5, "DBU": 0.35}
PAIRS = {("Pd(OAc)2", "dppf"): 1.6, ("Pd2(dba)3", "SPhos"): 1.15, ("Pd2(dba)3", "XPhos"): 1.2}


def yields(p: dict[str, Any]) -> float:
    """The yield in percent. The best temperature depends on catalyst and ligand."""
    best = 82 + 13 * (p["catalyst"] == "Pd(OAc)2") + 6 * (p["ligand"] == "XPhos")
    kind = CATALYSTS[p["catalyst"]] * LIGANDS[p["ligand"]] * BASES[p["base"]]
    pair = PAIRS.get((p["catalyst"], p["ligand"]), 1.0) * (1.0 if p["water"] else 0.6)
    heat, hours = (p["temperature"] - best) / 28, math.log(p["time"] / 13) / 1.3
    excess = 1 - 0.06 * (p["equivalents"] - 2.1) ** 2
    return 95 * kind * pair * excess * math.exp(-(heat**2) - hours**2)


def reaction() -> Problem:
    spec = {
        "temperature": (20.0, 120.0), "time": (0.5, 24.0, "log"), "equivalents": (1.0, 3.0),
        "catalyst": sb.Categorical([*CATALYSTS]), "ligand": sb.Categorical([*LIGANDS]),
        "base": sb.Categorical([*BASES]), "water": sb.Categorical([True, False]),
    }  # fmt: skip
    return Problem(sb.Space(spec), yields, best=95 * 0.8 * 1.2, noise=2.0)
