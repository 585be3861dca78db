"""Experiments of Gardner, Guo, Weinberger, Garnett and Grosse 2017 on real tasks."""

from papers.experiments.gardner import PAPER
from papers.harness.experiment import Experiment
from papers.kinds.search import Search

EXPERIMENTS = (
    Experiment(
        name="gardner-figure-5",
        paper=PAPER,
        place="figure 5",
        title="likelihood of nine cosmological parameters",
        kind=Search(evaluations=50),
        problems=("cosmology",),
        methods=("Model MCMC", "bag of models", "fully dependent", "structbo"),
        measures=("best value",),
        seeds=5,
        printed="Model MCMC ends at 22.17, and reaches the end of the bag 38 % faster.",
        reduced="5 runs of 50 evaluations instead of 10 of 200, in wider ranges. The value is the "
        "log likelihood, whose sign the paper changes.",
        needs_data=True,
        why="Five runs of Model MCMC and the bag differ by chance. As in the paper, nearly all "
        "runs end above the parameters that the software ships, but so do random points in these "
        "ranges.",
    ),
    Experiment(
        name="gardner-figure-6",
        paper=PAPER,
        place="figure 6",
        title="error of matrix completion over its 3 parameters",
        kind=Search(evaluations=40),
        problems=("matrix completion",),
        methods=("Model MCMC", "bag of models", "fully dependent", "structbo"),
        measures=("best value",),
        seeds=3,
        printed="Both additive methods are far ahead of the full model.",
        reduced="3 runs of 40 evaluations on one picture. The value is minus the decimal logarithm "
        "of the relative error.",
        needs_data=True,
        verdict="disagrees",
        why="The full model is not behind: after 20 evaluations all methods are alike. The paper "
        "prints neither its ranges nor its pictures.",
    ),
)
