"""Experiments of Li, Kandasamy, Poczos and Schneider 2016 on real tasks."""

from papers.experiments.li_tables import PAPER
from papers.harness.experiment import Experiment
from papers.kinds.search import Search

COSMOLOGY = Experiment(
    name="li-figure-4-a",
    paper=PAPER,
    place="figure 4 (a)",
    title="likelihood of nine cosmological parameters among 40",
    kind=Search(evaluations=60),
    problems=("cosmology among 40",),
    methods=(
        "RPP-1, delta = 0.05",
        "RPP-10, delta = 0.05",
        "ADD-1",
        "ADD-10",
        "REMBO",
        "structbo",
        "random",
    ),
    measures=("best value",),
    seeds=3,
    printed="RPP-GP-UCB is ahead of Add-GP-UCB with the same d, and REMBO is behind.",
    reduced="3 runs of 60 evaluations.",
    needs_data=True,
    why="RPP-GP-UCB is behind Add-GP-UCB with both sizes of groups in all three runs, which "
    "may be chance. structbo is ahead of random points in all three, and of each model in at "
    "least two.",
)
EXPERIMENTS = (
    COSMOLOGY,
    COSMOLOGY._replace(
        name="li-figure-4",
        place="figure 4 (b)",
        title="accuracy of the face cascade over its 22 thresholds",
        problems=("face cascade",),
        methods=(
            "RPP-1, delta = 0.05",
            "RPP-5, delta = 0.05",
            "ADD-1",
            "ADD-5",
            "REMBO",
            "structbo",
        ),
        seeds=5,
        reduced="5 runs of 60 evaluations, and 400 small pictures.",
        verdict="disagrees",
        why="REMBO is ahead of both in most runs. RPP-GP-UCB is ahead of Add-GP-UCB for d = 1 "
        "only, within chance. structbo is ahead of all in every run.",
    ),
)
