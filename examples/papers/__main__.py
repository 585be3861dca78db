"""Runs and shows the experiments of the five papers.

python examples/papers list
python examples/papers run rolland-figure-3 --jobs 4
python examples/papers show rolland-figure-3
"""

import os
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))  # the folder that has the package `papers`

from papers.experiment import Experiment
from papers.picture import picture
from papers.records import Records, keys_of
from papers.registry import EXPERIMENTS
from papers.running import run_missing
from papers.table import markdown

DESCRIPTION = "Runs and shows the experiments of the five papers."
RESULTS = Path(__file__).parent / "results"


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
    """Runs what is missing, and returns 1 if a run failed."""
    failures = 0
    for experiment in chosen_experiments(arguments):
        if experiment.needs_data and arguments.data is None:
            print(f"{experiment.name} is skipped: it needs --data FOLDER.")
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
    print(f"\nThe paper: {experiment.printed}\nReduced: {experiment.reduced}")
    print(f"Verdict: {experiment.verdict}. {experiment.why}")
    picture(experiment, records).savefig(arguments.results / f"{experiment.name}.png", dpi=90)
    return 0


def parser() -> ArgumentParser:
    """The command line."""
    every = ArgumentParser(add_help=False)
    every.add_argument("--results", type=Path, help="folder of the runs")
    every.add_argument("--seeds", type=int, help="number of seeds instead of the registry's")
    made = ArgumentParser(
        prog="python examples/papers", description=(__doc__ or "").splitlines()[0]
    )
    commands = made.add_subparsers(required=True)
    listing = commands.add_parser("list", parents=[every])
    listing.set_defaults(act=list_all)
    running = commands.add_parser("run", parents=[every])
    running.add_argument(
        "experiments", nargs="*", choices=[[], *EXPERIMENTS], default=[], metavar="EXPERIMENT"
    )
    running.add_argument("--all", action="store_true", help="run all experiments")
    running.add_argument("--quick", action="store_true", help="tiny settings, not kept by default")
    running.add_argument("--jobs", type=int, default=1, help="number of processes")
    running.add_argument("--data", type=Path, help="folder of the real tasks")
    running.set_defaults(act=run)
    showing = commands.add_parser("show", parents=[every])
    showing.add_argument("experiment", choices=EXPERIMENTS, metavar="EXPERIMENT")
    showing.add_argument("--against", default="", metavar="METHOD", help="method of the tests")
    showing.set_defaults(act=show)
    return made


def main() -> int:
    arguments = parser().parse_args()
    if arguments.results is None:
        is_quick = getattr(arguments, "quick", False)
        arguments.results = Path(tempfile.mkdtemp()) if is_quick else RESULTS
    code: int = arguments.act(arguments)
    return code


if __name__ == "__main__":
    sys.exit(main())
