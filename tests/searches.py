"""A search with a given posterior, and with names and labels that look like markup."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from structbo import Categorical, Integer, Optimizer, Space
from structbo.data import Standardized, Transform
from structbo.models import AdditiveGP, edges, pairs
from structbo.posterior import Posterior, Units

NAMES = ("<script>alert(1)</script>", "a$_{$b", '"onload="x', "act")
LABELS = ("<b>bold</b>", "re&lu")
SPACE = Space(
    dict(
        zip(
            NAMES, [(1e-4, 1.0, "log"), (0.0, 2.0), Integer(1, 8), Categorical(LABELS)], strict=True
        )
    )
)
CHAINS, DRAWS = 2, 8


def _values(X: np.ndarray) -> np.ndarray:
    return np.cos(3.0 * X[:, 0]) * (1.0 - X[:, 1]) + 0.3 * X[:, 2] - 0.2 * X[:, 3]


@contextmanager
def given_search(*, disagree: bool = False) -> Iterator[Optimizer]:
    """A search of 26 trials with one failure, in which only the first edge is certain.

    Args:
        disagree: whether the chains disagree about the last edge.
    """
    rng = np.random.default_rng(0)
    optimizer = Optimizer(SPACE, num_initial=100)  # all suggestions are quasi-random
    X = SPACE.snap(rng.random((26, 4)))
    X[0] = SPACE.snap([0.99, 1.0, 0.0, 1.0])
    y = _values(X)
    y[0] = y.min() - 0.1
    for k, point in enumerate(SPACE.from_unit(X)):
        optimizer.tell(point, np.nan if k == 3 else y[k])
    y[3] = y.max()
    upper = np.triu(rng.random((CHAINS, DRAWS, 4, 4)) < 0.25, 1)
    upper[..., 0, 1] = True
    if disagree:
        upper[:, :, 2, 3] = [[True], [False]]
    draws = {
        "Z": (upper | np.swapaxes(upper, -1, -2)).astype(int),
        "lengthscale": rng.uniform(0.5, 1.0, (CHAINS, DRAWS, 4)),
        "noise": rng.uniform(1e-2, 2e-2, (CHAINS, DRAWS)),
        "outputscale": rng.uniform(1.0, 2.0, (CHAINS, DRAWS)),
    }
    values, location, scale = Standardized.of(-y)
    units = Units(SPACE, Transform(-1.0, location, scale))
    model = AdditiveGP(edges(0.25, pairs))
    posterior = Posterior(model, X, values, draws, names=NAMES, units=units)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Optimizer, "posterior", property(lambda self: posterior))
        yield optimizer
