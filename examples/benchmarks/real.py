"""Real tuning tasks: the best value of structbo, Optuna's samplers and BoTorch's default.

    pip install -e ".[optuna]" botorch lightgbm scikit-learn scikit-image "opencv-python-headless<5"
    python examples/benchmarks/real.py --data ../shared/data

Each folder of the data has a ``task.py``. Every run starts from the same 20 Sobol points. It is
written to results/real.csv as it ends, and is skipped the next time. Settings may be chosen on the
tasks in DEVELOPMENT; the tasks in REPORTING evaluate them.
"""

from itertools import product

import numpy as np
import optuna
from methods import BoTorch
from optuna.trial import create_trial
from real_samplers import SAMPLERS
from real_tasks import Task
from runs import Runs, parser
from scipy.stats import qmc, rankdata

DEVELOPMENT = ("svr", "lightgbm", "cascade")
REPORTING = ("mlp", "boosting", "abalone", "completion")
TASKS = (*DEVELOPMENT, *REPORTING)
NUM_INITIAL = 20
COUNTS = (50, 100)
COMPARED = ["structbo", "gp", "tpe", "botorch"]


def initial_points(task: Task, seed: int) -> np.ndarray:
    """Points of the unit cube, which all methods start from."""
    return np.asarray(qmc.Sobol(len(task.kinds), seed=seed).random(32)[:NUM_INITIAL])


def run_botorch(task: Task, seed: int) -> np.ndarray:
    """The best value of BoTorch's default after each evaluation, with rounded parameters."""
    running, values = BoTorch(len(task.kinds), seed=seed), []
    points = list(initial_points(task, seed))
    for n in range(max(COUNTS)):
        if n >= NUM_INITIAL:
            points += running.ask(1)
        values.append(task(task.params(points[n])))
        running.tell(points[n], values[n])
    return np.maximum.accumulate(np.array(values, float))


def run(task: Task, sampler: optuna.samplers.BaseSampler, seed: int) -> np.ndarray:
    """The best value after each evaluation."""
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for unit in initial_points(task, seed):
        params = task.params(unit)
        value = task(params)
        study.add_trial(create_trial(params=params, distributions=task.distributions, value=value))
    for _ in range(NUM_INITIAL, max(COUNTS)):
        trial = study.ask(task.distributions)
        study.tell(trial, task(trial.params))
    return np.maximum.accumulate(np.array([trial.value for trial in study.trials], float))


def ranks(
    runs: Runs, tasks: tuple[str, ...], samplers: list[str], column: int
) -> dict[str, tuple[float, int]]:
    """Mean rank of every sampler over tasks and seeds run by all; 1 is best."""
    values = {key: row[column] for key, row in runs.rows.items()}
    cases = [(task, seed) for task, _, seed in values if task in tasks]
    complete = [
        [values[task, sampler, seed] for sampler in samplers]
        for task, seed in dict.fromkeys(cases)
        if all((task, sampler, seed) in values for sampler in samplers)
    ]
    if not complete:
        return {}
    mean = rankdata(-np.array(complete), axis=1).mean(0)
    return {name: (float(rank), len(complete)) for name, rank in zip(samplers, mean, strict=True)}


def main() -> None:
    options = parser(__doc__.splitlines()[0], "real.csv", TASKS, folder="data")
    options.add_argument("--samplers", nargs="+", choices=[*SAMPLERS, "botorch"], default=COMPARED)
    arguments = options.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    runs = Runs(arguments.results, ("task", "sampler", "seed"), tuple(map(str, COUNTS)))
    for name, sampler, seed in product(arguments.problems, arguments.samplers, arguments.seeds):
        if (name, sampler, seed) not in runs:
            task = Task.load(arguments.data, name)
            if sampler == "botorch":
                best = run_botorch(task, seed)
            else:
                best = run(task, SAMPLERS[sampler](task, seed), seed)
            runs.add((name, sampler, seed), [best[n - 1] for n in COUNTS])
    print(f"\n{'median best value':<24}", *(f"{n:>8}" for n in COUNTS))
    for name, sampler in product(arguments.problems, arguments.samplers):
        found = [runs.rows[name, sampler, str(seed)] for seed in arguments.seeds]
        print(f"{name:<13}{sampler:<11}", *(f"{v:>8.4g}" for v in np.median(found, axis=0)))
    for half, tasks in {"development": DEVELOPMENT, "reporting": REPORTING}.items():
        for column, count in enumerate(COUNTS):
            for sampler, (rank, cases) in ranks(runs, tasks, arguments.samplers, column).items():
                print(f"mean rank, {half}, {count}: {sampler:<9} {rank:.2f} of {cases} runs")


if __name__ == "__main__":
    main()
