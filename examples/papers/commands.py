"""The commands: list, run and show."""

from argparse import Namespace

from papers.harness.experiment import Experiment
from papers.harness.picture import picture
from papers.harness.ranks import ranked
from papers.harness.records import Records, keys_of
from papers.harness.running import run_missing
from papers.harness.table import markdown
from papers.registry import EXPERIMENTS


def list_all(arguments: Namespace) -> int:
    """Prints one line for each experiment."""
    for experiment in EXPERIMENTS.values():
        records = Records(arguments.results / experiment.file_name, experiment.kind)
        keys = keys_of(experiment)
        done = sum(key in records.runs for key in keys)
        state = experiment.missing or f"{done} of {len(keys)} runs; {experiment.verdict}"
        print(f"{experiment.name:<20} {experiment.title}: {state}")
    return 0


def run(arguments: Namespace) -> int:
    """Runs what is missing, and returns 1 if a run failed or a named experiment cannot run."""
    failures = 0
    for experiment in chosen_experiments(arguments):
        lacks_data = experiment.needs_data and arguments.data is None
        if reason := "it needs --data FOLDER" if lacks_data else experiment.missing:
            print(f"{experiment.name} is skipped: {reason}.")
            failures += not arguments.all
            continue
        chosen = experiment.quick() if arguments.quick else experiment
        if arguments.seeds:
            chosen = chosen._replace(seeds=arguments.seeds)
        failures += run_missing(chosen, arguments.results, arguments.data, arguments.jobs)
    return int(failures > 0)


def chosen_experiments(arguments: Namespace) -> list[Experiment]:
    """The named experiments, or all that have runs of their own."""
    if arguments.all:
        return [experiment for experiment in EXPERIMENTS.values() if not experiment.runs_of]
    if not arguments.experiments:
        raise SystemExit("Name experiments, or pass --all; `list` names them.")
    if unknown := [name for name in arguments.experiments if name not in EXPERIMENTS]:
        raise SystemExit(f"{unknown} are no experiments; `list` names them.")
    return [EXPERIMENTS[name] for name in arguments.experiments]


def show(arguments: Namespace) -> int:
    """Prints the table, and writes the picture beside the runs."""
    experiment = EXPERIMENTS[arguments.experiment]
    if arguments.seeds:
        experiment = experiment._replace(seeds=arguments.seeds)
    records = Records(arguments.results / experiment.file_name, experiment.kind)
    if not records.runs:
        print(f"{experiment.name} has no runs: {experiment.missing or 'run it first'}.")
        return 1
    if arguments.against not in ("", *experiment.methods):
        raise SystemExit(f"--against must be one of {experiment.methods}.")
    print(f"{experiment.paper}, {experiment.place}: {experiment.title}\n")
    print(markdown(experiment, records, arguments.against))
    print()
    if experiment.printed:
        print(f"The paper: {experiment.printed}")
    else:
        print(ranked(experiment, records, arguments.against), end="\n\n")
    print(f"Reduced: {experiment.reduced}")
    print(f"Verdict: {experiment.verdict}. {experiment.why}")
    picture(experiment, records).savefig(arguments.results / f"{experiment.name}.png", dpi=90)
    return 0
