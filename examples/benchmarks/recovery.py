"""Recovery of main effects and interactions whose shares of variance are known.

    python examples/benchmarks/recovery.py --factorials FOLDER [--half report]

Problems are complete factorial experiments and functions with known shares, see
recovery_problems.py. Settings are chosen on the development half; the reporting half evaluates
them. Data are random points, or the points that a search chose. Every run is a line of
results/recovery.jsonl, and is skipped the next time. The table has means over seeds with standard
errors, in the last rows over all problems:

- AP: average precision of pairs whose share is above a threshold, ranked by the probability of the
  edge or by the estimated share
- called: how many edges with a probability of at least 90 % are true, above 0.5 %
- found, none: how many calls by the 90 % interval of the share, above or below 0.5 %, are right
- strongest: whether the pair with the largest estimate has the largest share
- error: mean absolute error of shares; higher is all that main effects and pairs leave
- cover: fraction of 90 % intervals that hold the truth to within 0.1 %; edges are the pairs above
  0.5 %
- correlation, log density: of observations at unseen points, in units of the true deviation
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from recovery_answers import Answer, Method
from recovery_data import DATA, DataSet, data_set
from recovery_forests import FORESTS
from recovery_functions import Function
from recovery_models import STRUCTBO
from recovery_peers import PEERS
from recovery_problems import HALVES, problem_of
from recovery_records import Key, Records, Run
from recovery_scores import log_density
from recovery_table import show
from runs import parser

METHODS: dict[str, Method] = {**STRUCTBO, **FORESTS, **PEERS}
COMPARED = ["structbo", "fit", *FORESTS, "fanova", "ped_anova"]
SIZES = (50, 100, 150, 300)


def run_of(problem: Function, data: DataSet, answer: Answer) -> Run:
    """The truth, the answer of a method and its predictions, as numbers for JSON."""
    upper = np.triu_indices(len(problem.truth.main), 1)
    mean, variance = answer.predict(data.test_x)
    deviation = np.sqrt(problem.variance)
    return {
        "main": {"true": problem.truth.main, **answer.main._asdict()},
        "pairs": {
            "true": problem.truth.pairs[upper],
            "probability": answer.edges[upper],
            **{name: values[upper] for name, values in answer.pairs._asdict().items()},
        },
        "correlation": np.corrcoef(mean, data.test_y)[0, 1],
        "log density": log_density(
            data.test_y / deviation, mean / deviation, variance / problem.variance
        ),
        "CPU s": answer.seconds,
        "R-hat": answer.r_hat,
    }


def measure(keys: Sequence[Key], folder: Path, records: Records) -> None:
    """Runs several methods on the same data."""
    if not keys:
        return
    name, data, noise, n, _, seed = keys[0]
    problem = problem_of(name, seed, folder)
    told = data_set(problem, data, n, noise, seed)
    for key in keys:
        answer = METHODS[key.method](problem.space, told.x, told.y, seed)
        records.add(key, run_of(problem, told, answer))


def main() -> None:
    every = [name for half in HALVES.values() for name in half]
    options = parser(__doc__.splitlines()[0], "recovery.jsonl", [], every, folder="factorials")
    options.add_argument("--half", choices=HALVES, default="development")
    options.add_argument("--methods", nargs="+", choices=METHODS, default=COMPARED)
    options.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    options.add_argument("--data", nargs="+", choices=DATA, default=["random"])
    options.add_argument("--noise", type=float, default=0.01)
    given = options.parse_args()
    problems = given.problems or HALVES[given.half]
    if others := sorted({*problems} - {*HALVES[given.half]}):
        options.error(f"{others} are not in the {given.half} half; see --half.")
    records = Records(given.results)
    for data, n in product(given.data, given.sizes):
        cases = [
            [Key(name, data, given.noise, n, method, seed) for method in given.methods]
            for name, seed in product(problems, given.seeds)
        ]
        for keys in cases:
            measure([key for key in keys if key not in records.runs], given.factorials, records)
        show(records, f"{data}, {n}", given.methods, [keys[0] for keys in cases])


if __name__ == "__main__":
    main()
