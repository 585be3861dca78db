"""Runs and shows the experiments of the five papers.

python examples/papers list
python examples/papers run rolland-figure-3 --jobs 4
python examples/papers show rolland-figure-3
"""

import os
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if "--quick" in sys.argv:  # compilation takes longer than the runs
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))  # the folder that has the package `papers`

from papers.commands import list_all, run, show
from papers.registry import EXPERIMENTS

DESCRIPTION = "Runs and shows the experiments of the five papers."
RESULTS = Path(__file__).parent / "results"


def parser() -> ArgumentParser:
    """The command line."""
    every = ArgumentParser(add_help=False)
    every.add_argument("--results", type=Path, help="folder of the runs")
    every.add_argument("--seeds", type=int, help="number of seeds instead of the registry's")
    made = ArgumentParser(prog="python examples/papers", description=DESCRIPTION)
    commands = made.add_subparsers(required=True)
    listing = commands.add_parser("list", parents=[every])
    listing.set_defaults(act=list_all)
    running = commands.add_parser("run", parents=[every])
    running.add_argument("experiments", nargs="*", metavar="EXPERIMENT")
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
