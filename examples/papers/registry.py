"""All experiments by name."""

from papers.experiments import (
    chen,
    chen_functions,
    comparison,
    gardner,
    gardner_tasks,
    kathuria,
    li_tables,
    li_tasks,
    rolland,
    rolland_tasks,
)
from papers.harness.experiment import Experiment

PAPERS = (
    rolland,
    rolland_tasks,
    chen,
    chen_functions,
    kathuria,
    li_tables,
    li_tasks,
    gardner,
    gardner_tasks,
    comparison,
)
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for paper in PAPERS for experiment in paper.EXPERIMENTS
}
