"""Comparisons with other libraries, which no paper has."""

from papers.experiment import Experiment
from papers.reactions import Reactions
from papers.search import Search

EXPERIMENTS = (
    Experiment(
        name="peers-chemistry",
        paper="other libraries",
        place="chemistry",
        title="the highest yield among all combinations of a reaction",
        kind=Reactions(),
        problems=("arylation", "suzuki", "buchwald_a", "buchwald_b"),
        methods=("structbo", "GPSampler", "TPE", "random"),
        measures=("missing yield",),
        seeds=3,
        printed="",
        reduced="3 runs of 60 combinations, without noise.",
        needs_data=True,
        why="Three runs of each tell no difference between structbo and GPSampler: each is ahead "
        "on two tables.",
    ),
    Experiment(
        name="peers-structure",
        paper="other libraries",
        place="test functions",
        title="regret on functions with structure and without",
        kind=Search(evaluations=60, noise=0.01),
        problems=("random graph", "rotated", "additive", "Styblinski-Tang, scaled", "Hartmann-6"),
        methods=("structbo", "GPSampler", "BoTorch", "TuRBO", "TPE", "CMA-ES", "random"),
        measures=("simple regret", "CPU seconds per suggestion"),
        seeds=5,
        printed="",
        reduced="5 runs of 60 evaluations, of which all methods share the first 10 random points.",
        why="BoTorch is ahead on random graphs and on rotated functions, within chance. On the "
        "other three structbo is ahead of all methods in all five runs, for which p is 0.062.",
    ),
)
