"""Importances compared with fANOVA, on evaluations of a function with known importances.

    python examples/benchmarks/importances.py --evaluations 50 100 --seeds 0 1

Three of ten parameters matter to Ishigami's function: the third only together with the first.
The script prints first-order shares of the three, by structbo with 90 % intervals and by Optuna's
evaluator, a random forest without intervals (Hutter, Hoos and Leyton-Brown 2014). It also prints
mean absolute errors over all ten parameters. Optuna is needed: pip install optuna.
"""

import argparse

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.importance import FanovaImportanceEvaluator, get_param_importances

import structbo as sb

NUM_DIMS, NOISE = 10, 0.01
NAMES = tuple(f"x{d}" for d in range(NUM_DIMS))
TRUTH = np.array([0.3139, 0.4424, 0.0] + [0.0] * (NUM_DIMS - 3))
TRUE_PAIR = 0.2437


def ishigami(X: np.ndarray) -> np.ndarray:
    x = np.pi * (2.0 * X - 1.0)
    return np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


def fanova(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """First-order shares by Optuna."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study()
    space: dict[str, BaseDistribution] = {name: FloatDistribution(0.0, 1.0) for name in NAMES}
    for x, value in zip(X, y, strict=True):
        params = dict(zip(NAMES, x.tolist(), strict=True))
        study.add_trial(
            optuna.trial.create_trial(params=params, distributions=space, value=float(value))
        )
    evaluator = FanovaImportanceEvaluator(seed=seed)
    found = get_param_importances(study, evaluator=evaluator, normalize=False)
    return np.array([found[name] for name in NAMES])


def run(num_evaluations: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((num_evaluations, NUM_DIMS))
    y = ishigami(X)
    y = (y - y.mean()) / y.std() + NOISE * rng.standard_normal(len(y))
    posterior = sb.fit(sb.default_model(), X, y, seed=seed, names=NAMES, show_progress_bar=False)
    found = posterior.importances()
    first = found.first_order
    forest = fanova(X, y, seed)
    print(f"{num_evaluations} evaluations, seed {seed}")
    for d in range(3):
        print(
            f"  {NAMES[d]}: truth {TRUTH[d]:.3f}, structbo {first.mean[d]:.3f} "
            f"[{first.lower[d]:.3f}, {first.upper[d]:.3f}], fANOVA {forest[d]:.3f}"
        )
    pair = [float(value[0, 2]) for value in found.pairs]
    print(f"  x0,x2: truth {TRUE_PAIR:.3f}, structbo {pair[0]:.3f} [{pair[1]:.3f}, {pair[2]:.3f}]")
    errors = [np.abs(shares - TRUTH).mean() for shares in (first.mean, forest)]
    print(f"  mean absolute error: structbo {errors[0]:.4f}, fANOVA {errors[1]:.4f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evaluations", type=int, nargs="+", default=[100])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    arguments = parser.parse_args()
    for num_evaluations in arguments.evaluations:
        for seed in arguments.seeds:
            run(num_evaluations, seed)
