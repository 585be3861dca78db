"""Comparisons with other libraries, which no paper has."""

from papers.experiment import Experiment
from papers.reactions import METHODS, Reactions

EXPERIMENTS = (
    Experiment(
        name="peers-chemistry",
        paper="other libraries",
        place="chemistry",
        title="the highest yield among all combinations of a reaction",
        kind=Reactions(),
        problems=("arylation", "suzuki", "buchwald_a", "buchwald_b"),
        methods=tuple(METHODS),
        measures=("missing yield",),
        seeds=3,
        printed="",
        reduced="3 runs of 60 combinations, without noise.",
        needs_data=True,
        why="Three runs of each tell no difference between structbo and GPSampler: each is ahead "
        "on two tables.",
    ),
)
