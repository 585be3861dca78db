"""Other libraries, as methods of recovery.py: pip install optuna scikit-learn botorch."""

import time
from functools import partial
from typing import Any

import numpy as np
from recovery_anova import population
from recovery_answers import Answer, Intervals, Method

import structbo as sb

FANOVA = "FanovaImportanceEvaluator"
"""The evaluator whose importances are shares of variance."""
CHUNK = 128
"""Points whose components are computed at once."""


def optuna_study(space: sb.Space, x: np.ndarray, y: np.ndarray) -> Any:
    """An Optuna study of the points: coordinates, and indices of categories."""
    import optuna
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize")
    levels = {d: np.array(space.parameters[d].levels) for d in space.categorical}
    distributions: dict[str, BaseDistribution] = {
        name: CategoricalDistribution(range(len(levels[d])))
        if d in levels
        else FloatDistribution(0, 1)
        for d, name in enumerate(space.names)
    }
    for point, value in zip(x, y, strict=True):
        params = {
            name: int(np.argmin(np.abs(levels[d] - point[d]))) if d in levels else float(point[d])
            for d, name in enumerate(space.names)
        }
        study.add_trial(
            optuna.trial.create_trial(
                params=params, distributions=distributions, value=float(value)
            )
        )
    return study


def optuna_importances(
    kind: str, space: sb.Space, x: np.ndarray, y: np.ndarray, seed: int
) -> Answer:
    """Main effects by one of Optuna's evaluators, which predict nothing and know no pairs.

    PED-ANOVA says how much a parameter matters for the best values, as fractions of one.

    Args:
        kind: name of an evaluator.
        space: the space of the points.
        x: points of the unit cube.
        y: observations.
        seed: seed of the evaluator, if it is random.
    """
    from optuna import importance

    study, start = optuna_study(space, x, y), time.process_time()
    evaluator = getattr(importance, kind)(**({"seed": seed} if kind == FANOVA else {}))
    found = evaluator.evaluate(study)
    seconds = time.process_time() - start
    main = np.array([found[name] for name in space.names])
    main = main if kind == FANOVA else main / main.sum()
    missing = np.full((len(main), len(main)), np.nan)
    nothing = lambda points: (np.full(len(points), np.nan),) * 2  # noqa: E731
    return Answer(nothing, Intervals.none(main), Intervals.none(missing), missing, seconds)


def botorch_additive(space: sb.Space, x: np.ndarray, y: np.ndarray, seed: int) -> Answer:
    """BoTorch's `OrthogonalAdditiveGP` of main effects and pairs; levels are numbers to it."""
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models.additive_gp import OrthogonalAdditiveGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(seed)
    start, num_dims = time.process_time(), x.shape[1]
    values = torch.tensor(y).double()[:, None]
    model = OrthogonalAdditiveGP(torch.tensor(_spread(space, x)), values, second_order=True)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    seconds = time.process_time() - start

    def predict(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            found = model.posterior(torch.tensor(_spread(space, points)), observation_noise=True)
            return found.mean[:, 0].numpy(), found.variance[:, 0].numpy()

    points = torch.tensor(_spread(space, population(space)))
    with torch.no_grad():
        chunks = [model.posterior(p, infer_all_components=True).mean for p in points.split(CHUNK)]
    variances = torch.cat(chunks, 1)[1:, :, 0].var(1).numpy()
    variances = variances / variances.sum()
    pairs = np.zeros((num_dims, num_dims))
    pairs[np.triu_indices(num_dims, 1)] = variances[num_dims:]
    edges = np.full(pairs.shape, np.nan)
    main = Intervals.none(variances[:num_dims])
    return Answer(predict, main, Intervals.none(pairs + pairs.T), edges, seconds)


def _spread(space: sb.Space, x: np.ndarray) -> np.ndarray:
    """Points with each of k levels in the middle of one of k equal parts of the unit interval."""
    sizes = [0 if p.levels is None else len(p.levels) for p in space.parameters]
    spread = [(np.rint(u * (k - 1)) + 0.5) / k if k else u for u, k in zip(x.T, sizes, strict=True)]
    return np.column_stack(spread)


PEERS: dict[str, Method] = {
    "fanova": partial(optuna_importances, FANOVA),
    "ped_anova": partial(optuna_importances, "PedAnovaImportanceEvaluator"),
    "botorch": botorch_additive,
}
