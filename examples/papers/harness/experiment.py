"""What an experiment is: a row of the registry, and the kind of run that it repeats."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float

Values = dict[str, list[float]]
"""All numbers that a run found, by name."""
Measures = dict[str, Float[np.ndarray, " steps"]]
"""The quantities to compare between methods, by name, along the axis of the kind of run."""


class Kind(Protocol):
    """A kind of run, a dataclass whose fields are the settings of all runs of an experiment."""

    @property
    def axis(self) -> str:
        """Name of the axis of measures with several numbers."""
        ...

    def steps(self, count: int) -> Float[np.ndarray, " steps"]:
        """The positions of a measure's numbers along the axis, by default their numbers from 1."""
        return np.arange(1, count + 1)

    def settings(self) -> dict[str, Any]:
        """The settings that a run is recorded with."""
        fields: Any = self
        return asdict(fields)

    def quick(self) -> "Kind":
        """The same kind with tiny settings."""
        ...

    def run(self, problem: str, method: str, seed: int, data: Path | None) -> Values:
        """Runs one method once."""
        ...

    def measures(self, values: Mapping[str, list[float]]) -> Measures:
        """The quantities in the table and the picture."""
        ...


class Experiment(NamedTuple):
    """A figure or a table of a paper.

    Args:
        name: first author and place, such as "rolland-figure-3".
        paper: authors and year.
        place: what the paper calls it.
        title: what is compared, in a few words.
        kind: the kind of run.
        problems: names of the problems; none if they are not at hand.
        methods: names of the methods.
        measures: the measures of the picture and the table.
        seeds: number of runs of every method on every problem.
        printed: what the paper prints; empty if there is no paper.
        reduced: how the runs differ from the paper.
        verdict: whether the results agree with the paper.
        why: the reason of the verdict.
        reference: the method that the tests compare all others with.
        average: the average over runs.
        runs_of: the experiment whose runs this one shows; empty if none.
        others: other kinds of run that serve as well, such as longer ones.
        quick_problem: the problem of the quick mode; the first one if empty.
        needs_data: whether the problems need the folder of the data.
        missing: why there are no results; empty if there are.
    """

    name: str
    paper: str
    place: str
    title: str
    kind: Kind
    problems: tuple[str, ...]
    methods: tuple[str, ...]
    measures: tuple[str, ...]
    seeds: int
    printed: str
    reduced: str = ""
    verdict: Literal["agrees", "disagrees", "cannot be told"] = "cannot be told"
    why: str = ""
    reference: str = ""
    average: Literal["mean", "median"] = "mean"
    runs_of: str = ""
    others: tuple[Kind, ...] = ()
    quick_problem: str = ""
    needs_data: bool = False
    missing: str = ""

    @property
    def file_name(self) -> str:
        """The file of the runs, in the folder of results."""
        return f"{self.runs_of or self.name}.jsonl"

    def quick(self) -> "Experiment":
        """One run of every method on one problem, with tiny settings."""
        problems = (self.quick_problem,) if self.quick_problem else self.problems[:1]
        return self._replace(kind=self.kind.quick(), problems=problems, seeds=1)
