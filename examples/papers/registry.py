"""All experiments by name."""

from papers import chen, comparison, gardner, kathuria, li, rolland, rolland_tasks
from papers.experiment import Experiment

PAPERS = (rolland, rolland_tasks, chen, kathuria, li, gardner, comparison)
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for paper in PAPERS for experiment in paper.EXPERIMENTS
}
