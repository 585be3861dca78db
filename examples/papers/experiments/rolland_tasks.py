"""Experiments of Rolland, Scarlett, Bogunovic and Cevher 2018 on real tasks."""

from papers.experiments.rolland import PAPER
from papers.harness.experiment import Experiment
from papers.kinds.search import Search

EXPERIMENTS = (
    Experiment(
        name="rolland-figure-7",
        paper=PAPER,
        place="figure 7",
        title="accuracy of the face cascade over its 22 thresholds",
        kind=Search(evaluations=60),
        problems=("face cascade",),
        methods=("chain graph", "No Overlap, at most 4 groups of 6", "random", "structbo"),
        measures=("best value", "average value"),
        seeds=3,
        printed="Overlap is slightly better than No Overlap, and both beat OpenCV's thresholds.",
        reduced="3 runs of 60 evaluations, and 400 small pictures; the paper has 15 runs of 200.",
        why="The graph's average value is slightly higher and its best value slightly lower, both "
        "within chance. As in the paper, all runs of both end above OpenCV's thresholds.",
        needs_data=True,
    ),
    Experiment(
        name="rolland-figure-9",
        paper=PAPER,
        place="figure 9",
        title="likelihood of nine cosmological parameters",
        kind=Search(evaluations=50),
        problems=("cosmology",),
        methods=("Overlap", "No Overlap", "random", "structbo"),
        measures=("best value",),
        seeds=5,
        printed="Overlap is ahead of No Overlap at all times, and both beat the default.",
        reduced="5 runs of 50 evaluations instead of 1000, in wider ranges. The value is the log "
        "likelihood, whose sign the paper changes.",
        needs_data=True,
        why="Overlap and No Overlap are ahead in two runs each. As in the paper, "
        "all runs of both end above the parameters that the software ships, but so do random "
        "points in four of five.",
    ),
)
