"""Two of six parameters interact, two act alone, two do nothing; the study finds out which."""

import math

import optuna
import optunahub

package = optunahub.load_module(package="samplers/structbo")


def objective(trial: optuna.Trial) -> float:
    x = [trial.suggest_float(f"x{k}", 0.0, 1.0) for k in range(6)]
    return math.sin(6.0 * x[0]) * math.cos(5.0 * x[1]) + (x[2] - 0.3) ** 2 + 0.3 * x[3]


study = optuna.create_study(sampler=package.StructboSampler(seed=0))
study.optimize(objective, n_trials=30)
print(study.best_params, study.best_value)

evaluator = package.StructboImportanceEvaluator()
print(optuna.importance.get_param_importances(study, evaluator=evaluator))
