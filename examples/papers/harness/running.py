"""Runs what is missing of an experiment, in this process or in several."""

import multiprocessing
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from pathlib import Path

from papers.harness.experiment import Experiment, Kind, Values
from papers.harness.records import Key, Records, keys_of, rounded
from tqdm import tqdm

Outcome = tuple[Values, float]
"""The values of a run, and the CPU seconds of its process."""


def run_missing(experiment: Experiment, results: Path, data: Path | None, jobs: int) -> int:
    """Runs an experiment except for the runs in its file.

    Args:
        experiment: the row of the registry.
        results: the folder of the files.
        data: the folder of the real tasks.
        jobs: number of processes.

    Returns:
        The number of runs that failed; each is reported, and the others go on.
    """
    records = Records(results / experiment.file_name, experiment.kind, experiment.others)
    keys = [key for key in keys_of(experiment) if key not in records.runs]
    failures = 0
    with tqdm(total=len(keys), desc=experiment.name, unit="run") as bar:
        for key, future in _finished(experiment.kind, keys, data, jobs):
            try:
                values, seconds = future.result()
            except ModuleNotFoundError as error:
                failures += 1
                tqdm.write(f"{experiment.name}, {key}: needs {error.name}.", file=sys.stderr)
            except Exception:
                failures += 1
                tqdm.write(f"{experiment.name}, {key}:\n{traceback.format_exc()}", file=sys.stderr)
            else:
                records.add(key, values, seconds)
            bar.update()
    return failures


def _finished(
    kind: Kind, keys: list[Key], data: Path | None, jobs: int
) -> Iterator[tuple[Key, "Future[Outcome]"]]:
    """The runs as they finish."""
    if jobs == 1:
        for key in keys:
            future: Future[Outcome] = Future()
            try:
                future.set_result(_run(kind, key, data))
            except Exception as error:
                future.set_exception(error)
            yield key, future
        return
    with _processes(jobs) as pool:
        futures = {pool.submit(_run, kind, key, data): key for key in keys}
        for future in as_completed(futures):
            yield futures[future], future


def _run(kind: Kind, key: Key, data: Path | None) -> Outcome:
    start = time.process_time()
    values = kind.run(*key, data)
    return rounded(values), time.process_time() - start


def _processes(jobs: int) -> Executor:
    return ProcessPoolExecutor(
        jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_parent
    )


def _end_with_parent() -> None:
    """Ends this process when its parent is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
