"""Forests of trees, as methods of recovery.py."""

import time
from functools import partial

import numpy as np
from recovery_anova import population
from recovery_answers import Answer, Intervals, Method
from recovery_trees import Columns, Leaves

import structbo as sb

NUM_TREES = 500


def forest(kind: str, space: sb.Space, x: np.ndarray, y: np.ndarray, seed: int) -> Answer:
    """A forest and the analysis of its predictions.

    Their variance is the mean squared error in cross-validation.

    Args:
        kind: name of an estimator of scikit-learn's ensembles.
        space: the space of the points.
        x: points of the unit cube.
        y: observations.
        seed: seed of the trees.
    """
    from sklearn import ensemble
    from sklearn.model_selection import cross_val_predict

    columns, start = Columns.of(space), time.process_time()
    seen = columns.of_points(x)
    grown = getattr(ensemble, kind)(NUM_TREES, random_state=seed).fit(seen, y)
    seconds = time.process_time() - start
    errors = cross_val_predict(grown, seen, y) - y

    def predict(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return grown.predict(columns.of_points(points)), np.full(len(points), (errors**2).mean())

    variance = grown.predict(columns.of_points(population(space))).var()
    shares = Leaves.of([tree.tree_ for tree in grown.estimators_], columns).shares(variance)
    edges = np.full(shares.pairs.shape, np.nan)
    return Answer(
        predict, Intervals.none(shares.main), Intervals.none(shares.pairs), edges, seconds
    )


FORESTS: dict[str, Method] = {
    "random_forest": partial(forest, "RandomForestRegressor"),
    "extra_trees": partial(forest, "ExtraTreesRegressor"),
}
