"""Inserts results of the papers' experiments; a number without its runs is an error of the build.

- ``{experiment} NAME`` is a directive: the table, the picture, the verdict and the command.
- ``{ranks} NAME`` is a directive: mean ranks over all of its problems.
- ``{experiments}`` is a directive: one row for each experiment.
- ``{score}`NAME | PROBLEM | METHOD | MEASURE` `` is a role: a mean with its standard error.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from papers.harness.experiment import Experiment
from papers.harness.ranks import ranked
from papers.harness.records import Records, keys_of
from papers.harness.scores import scores
from papers.harness.table import markdown, mean_with_error, rendered
from papers.registry import EXPERIMENTS
from sphinx.util.docutils import SphinxDirective, SphinxRole

RESULTS = Path(__file__).parents[1] / "examples" / "papers" / "results"


class Results(SphinxDirective):
    """The results of one experiment."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        experiment = experiment_named(self.arguments[0])
        heading = f"**{experiment.place[:1].upper()}{experiment.place[1:]}: {experiment.title}.**"
        printed = f"The paper: {experiment.printed}" if experiment.printed else ""
        if experiment.missing:
            text = f"{heading} Missing: {experiment.missing}. {printed}"
        else:
            name, run = experiment.name, experiment.runs_of or experiment.name
            data = " --data FOLDER" if experiment.needs_data else ""
            here = f"Here: {experiment.reduced}" if experiment.reduced else ""
            text = "\n\n".join(
                [
                    f"{heading} {printed} {here}",
                    markdown(experiment, records_of(experiment)),
                    f"![{experiment.title}](../../examples/papers/results/{name}.png)",
                    f"*{experiment.verdict[:1].upper()}{experiment.verdict[1:]}.* {experiment.why} "
                    f"`python examples/papers run {run}{data}`, then `show {name}`.",
                ]
            )
        note_sources(self.env, experiment)
        return self.parse_text_to_nodes(text)


class Ranks(SphinxDirective):
    """Mean ranks of the methods of one experiment."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        experiment = experiment_named(self.arguments[0])
        note_sources(self.env, experiment)
        return self.parse_text_to_nodes(ranked(experiment, records_of(experiment)))


class Verdicts(SphinxDirective):
    """All experiments of papers, each with its verdict."""

    def run(self) -> list[nodes.Node]:
        rows = [
            (e.paper, e.place, e.title, f"missing: {e.missing}" if e.missing else e.verdict)
            for e in EXPERIMENTS.values()
            if e.printed
        ]
        note_sources(self.env)
        return self.parse_text_to_nodes(rendered(("paper", "place", "what", "verdict"), rows))


class Number(SphinxRole):
    """The mean of a measure at the end of the runs."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        name, *wanted = (part.strip() for part in self.text.split("|"))
        experiment = experiment_named(name)
        note_sources(self.env, experiment)
        found = scores(experiment, records_of(experiment), experiment.methods[0])
        for score in found:
            if [score.problem, score.method, score.measure] == wanted:
                return [nodes.Text(mean_with_error(score))], []
        raise ValueError(f"{name} has no score {wanted}.")


def note_sources(env: Any, *shown: Experiment) -> None:
    """A page is built again when the registry changes, or runs of an experiment that it shows."""
    for path in (*RESULTS.parent.glob("*.py"), *(RESULTS / each.file_name for each in shown)):
        env.note_dependency(str(path))


def experiment_named(name: str) -> Experiment:
    """The experiment, which must exist."""
    if name not in EXPERIMENTS:
        raise ValueError(f"{name!r} is no experiment of examples/papers.")
    return EXPERIMENTS[name]


def records_of(experiment: Experiment) -> Records:
    """The runs of an experiment, which must be complete."""
    if experiment.missing:
        raise ValueError(f"{experiment.name} has no results: {experiment.missing}.")
    records = Records(RESULTS / experiment.file_name, experiment.kind)
    if lacking := [key for key in keys_of(experiment) if key not in records.runs]:
        raise ValueError(f"{records.path} lacks {len(lacking)} runs, such as {lacking[0]}.")
    return records


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("experiment", Results)
    app.add_directive("experiments", Verdicts)
    app.add_directive("ranks", Ranks)
    app.add_role("score", Number())
    return {"parallel_read_safe": True}
