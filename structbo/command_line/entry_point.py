"""The command ``structbo`` and its subcommands."""

import argparse
import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from structbo.acquisition import CRITERIA, DEFAULT_CRITERION
from structbo.command_line.demonstration import demonstrate
from structbo.command_line.guessed_space import guess_space
from structbo.command_line.space_file import read_space
from structbo.command_line.table_file import NUMBER, TableRows, read_evaluations, written
from structbo.command_line.table_optimizer import TableOptimizer
from structbo.data import Direction, filled_errors
from structbo.integrations import read_study
from structbo.models.foundation.kept_programs import keep_programs
from structbo.optimizer import Optimizer, suggest
from structbo.report import write_report
from structbo.report.output_path import checked_output

CACHE = "~/.cache/structbo"
SPACE_HELP = """\
A space file maps names to parameters:

  lr:     {type: real, low: 1e-5, high: 0.1, log: true}
  layers: {type: integer, low: 1, high: 8}
  act:    {type: categorical, choices: [relu, gelu]}

Bounds on weighted sums of real parameters are a list under "constraints":

  constraints: [{weights: {a: 1, b: 1}, high: 1}]

A data file is a CSV table, as spreadsheets save it, with a column for every parameter and one for
the value. Empty value: still running. "failed" or "nan": failed. A column "sem" holds standard
errors of the values; other columns, such as dates or remarks, are ignored.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: command-line arguments; by default the arguments of the process.

    Returns:
        The exit code: 0, or 1 after an error, which is printed to stderr. Invalid options exit with
            2.
    """
    options = _parser().parse_args(arguments)
    try:
        with _one_line_warnings():
            if options.out is not None:
                checked_output(options.out)
            _keep_programs(options.cache)
            options.run(options)
    except (ImportError, OSError, TypeError, ValueError) as error:
        print(f"structbo: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("structbo: interrupted", file=sys.stderr)
        return 130
    return 0


def _keep_programs(folder: str | None) -> None:
    """Keeps compiled programs in a folder; by default in `CACHE` if that is possible."""
    if folder:
        keep_programs(folder)
    elif folder is None:
        try:
            keep_programs(CACHE)
        except OSError as error:
            warnings.warn(f"compiled programs are not kept: {error}; see --cache.", stacklevel=1)


def _suggest(options: argparse.Namespace) -> None:
    space = read_space(options.space)
    known = (
        TableRows([], [], [])
        if options.data is None
        else read_evaluations(options.data, space, options.value, options.sem)
    )
    points: Any = suggest(
        space,
        known.points,
        known.values,
        options.n,
        direction=options.direction,
        pending=known.pending,
        sem=filled_errors(known.errors),
        seed=options.seed,
        criterion=options.criterion,
    )
    is_json = options.format == "json" or (
        options.format is None and options.out is not None and options.out.suffix == ".json"
    )
    if not is_json:
        points = space.rounded(points, taken=[*known.points, *known.pending])
    text = written(space, points, is_json)
    if options.out is None:
        print(text, end="")
    else:
        is_marked = not is_json and not text.isascii()  # spreadsheets need the mark of UTF-8
        options.out.write_text(text, encoding="utf-8-sig" if is_marked else "utf-8")


def _report(options: argparse.Namespace) -> None:
    pending: Sequence[Any] = ()
    if options.storage is None:
        optimizer, known = _of_table(options)
        subject, value_name, pending = options.data.name, known.value_name, known.pending
        remark = f'Run numbers are lines of {subject}, or its column "{NUMBER}" if it has one.'
    else:
        optimizer = _of_study(options)
        (value_name,) = optimizer.study.metric_names or ["objective"]
        subject, remark = f"study {optimizer.study.study_name}", "Run numbers are trial numbers."
    with _log_lines():
        path = write_report(
            optimizer,
            options.out,
            title=options.title or f"Report on {subject}",
            num_suggestions=options.n,
            pending=pending,
            value_name=value_name,
            remark=remark,
        )
    print(f"wrote {path}")


def _of_table(options: argparse.Namespace) -> tuple[Optimizer, TableRows]:
    """An optimizer that was told a table, and the table."""
    if options.study is not None:
        raise ValueError("--study is for --storage; a table has one run.")
    if options.space is None:
        space, column = guess_space(options.data, options.value, options.sem)
        warnings.warn(
            "no --space is given: parameters and ranges are guessed from the table; the last "
            "section of the report lists them.",
            stacklevel=1,
        )
    else:
        space, column = read_space(options.space), options.value
    known = read_evaluations(options.data, space, column, options.sem)
    direction: Direction = options.direction or "minimize"
    return TableOptimizer(space, direction, known, seed=options.seed), known


def _of_study(options: argparse.Namespace) -> Any:
    if any(given is not None for given in (options.value, options.sem, options.direction)):
        raise ValueError("--value, --sem and --direction are for tables; a study has its own.")
    space = None if options.space is None else read_space(options.space)
    return read_study(options.storage, options.study, space, seed=options.seed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="structbo",
        description="Bayesian optimization that learns the structure of the objective.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    wide = argparse.RawDescriptionHelpFormatter

    next_points = commands.add_parser(
        "suggest",
        help="propose the next points to evaluate",
        description="Proposes the next points to evaluate, from a table of evaluations.",
        epilog=SPACE_HELP,
        formatter_class=wide,
    )
    next_points.add_argument("--space", type=Path, required=True, help="YAML or JSON file")
    next_points.add_argument("--data", type=Path, help="CSV file of evaluations; by default none")
    next_points.add_argument("-n", type=int, default=1, help="how many points (default: 1)")
    next_points.add_argument("--criterion", choices=[*CRITERIA], default=DEFAULT_CRITERION)
    next_points.add_argument(
        "--out",
        type=Path,
        help="CSV or JSON file; by default stdout. CSV rounds numbers, JSON does not",
    )
    next_points.add_argument(
        "--format", choices=("csv", "json"), help="default: the format of --out"
    )
    next_points.set_defaults(run=_suggest)

    report = commands.add_parser(
        "report",
        help="write an HTML report on a table of evaluations, or an Optuna study",
        description="Writes an HTML report on a table of evaluations, or an Optuna study of any "
        "sampler:\nprogress, best points, which parameters matter and interact, effects in units, "
        "whether\nthe model can be trusted, and what to try next. The report is one "
        "self-contained file.",
        epilog=SPACE_HELP,
        formatter_class=wide,
    )
    source = report.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="CSV file")
    source.add_argument(
        "--storage", metavar="URL", help="Optuna storage, such as sqlite:///runs.db"
    )
    report.add_argument("--study", metavar="NAME", help="if the storage has several")
    report.add_argument("--space", type=Path, help="YAML or JSON file; by default guessed")
    report.add_argument("--out", type=Path, required=True, help="HTML file")
    report.add_argument("--title", help="of the page")
    report.add_argument("-n", type=int, default=4, help="how many points to propose (default: 4)")
    report.set_defaults(run=_report)

    demo = commands.add_parser(
        "demo",
        help="minimize a small function and print what was learned",
        description="Minimizes a function of five parameters, two pairs of which interact, and "
        "prints what was learned.",
    )
    demo.add_argument("--trials", type=int, default=40, help="how many evaluations (default: 40)")
    demo.add_argument("--out", type=Path, help="HTML file for a report; by default none")
    demo.set_defaults(run=lambda options: demonstrate(options.trials, options.seed, options.out))

    for command in (next_points, report):
        _add_options_of_tables(command)
    report.set_defaults(direction=None)
    for command in (next_points, report, demo):
        command.add_argument("--seed", type=int, default=0, help="seed of all random choices")
        command.add_argument(
            "--cache",
            metavar="FOLDER",
            help=f"where compiled programs are kept (default: {CACHE}); '' keeps none",
        )
    return parser


def _add_options_of_tables(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--direction",
        choices=("minimize", "maximize"),
        default="minimize",
        help="whether small or large values are good (default: minimize)",
    )
    command.add_argument("--value", metavar="COLUMN", help="the column of the values")
    command.add_argument(
        "--sem",
        metavar="COLUMN",
        help='the column of standard errors of the values (default: "sem", if there is one)',
    )


@contextlib.contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Prints warnings as single lines, without a location in the code."""

    def show(message: Warning | str, *details: Any, **more: Any) -> None:
        print(f"structbo: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def _log_lines() -> Iterator[None]:
    """Shows what the library logs as lines of the command."""
    logger, handler = logging.getLogger("structbo"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("structbo: %(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
