"""The search space of a study: all parameters of its trials, and their conditions."""

from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

from structbo.models.foundation.arrays import BoolArray, FloatArray
from structbo.space import Space

NUM_RECENT = 10
"""If this many latest trials agree on a range or a condition, earlier trials are ignored."""
MAX_LEVELS = 64
"""Maximum number of values of a parameter in conditions."""
SAME = 1e-9
"""Tolerance for the number of steps between two bounds."""


def union_search_space(trials: Iterable[FrozenTrial]) -> dict[str, BaseDistribution]:
    """All parameters of trials, by name, without single-valued ones.

    Args:
        trials: complete trials, by number. A varying range becomes the span of all ranges, unless
            the latest `NUM_RECENT` trials with the parameter agree on one.

    Example:
        >>> from optuna import create_trial
        >>> spaces = [{"x": IntDistribution(1, 4)}, {"x": IntDistribution(3, 8)}]
        >>> points = [{"x": 3}, {"x": 3}]
        >>> union_search_space(
        ...     create_trial(params=point, distributions=space, value=0.0)
        ...     for point, space in zip(points, spaces)
        ... )
        {'x': IntDistribution(high=8, log=False, low=1, step=1)}
    """
    found: dict[str, list[BaseDistribution]] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            found.setdefault(name, []).append(distribution)
    spans = {name: _span(_current(found[name])) for name in sorted(found)}
    return {name: span for name, span in spans.items() if span is not None and not span.single()}


def common_search_space(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """The parameters of all complete trials, by name, with single-valued ones.

    Args:
        trials: trials of a study. A varying range becomes the span of the ranges in all of them,
            which contains the points of all.

    Example:
        >>> from optuna import create_trial
        >>> spaces = [{"x": IntDistribution(1, 4)}, {"x": IntDistribution(3, 8)}]
        >>> common_search_space(
        ...     [create_trial(params={"x": 3}, distributions=one, value=0.0) for one in spaces]
        ... )
        {'x': IntDistribution(high=8, log=False, low=1, step=1)}
    """
    complete = [t.distributions for t in trials if t.state == TrialState.COMPLETE]
    names = set(complete[0]).intersection(*complete[1:]) if complete else set()
    spans = {
        name: _span([t.distributions[name] for t in trials if name in t.distributions])
        for name in sorted(names)
    }
    return {name: span for name, span in spans.items() if span is not None}


def _current(distributions: Sequence[BaseDistribution]) -> Sequence[BaseDistribution]:
    """The latest distributions if they agree, otherwise all."""
    recent = distributions[-NUM_RECENT:]
    return recent if all(one == recent[0] for one in recent) else distributions


def _span(distributions: Sequence[BaseDistribution]) -> BaseDistribution | None:
    """The smallest range that contains all given ones; None if they differ in kind."""
    last = distributions[-1]
    if all(one == last for one in distributions):
        return last
    numeric = [d for d in distributions if isinstance(d, FloatDistribution | IntDistribution)]
    if len({type(d) for d in distributions}) > 1 or len({d.log for d in numeric}) != 1:
        return None
    low, high = min(d.low for d in numeric), max(d.high for d in numeric)
    step = _common_step(numeric, low)
    if isinstance(last, IntDistribution):
        return IntDistribution(int(low), int(high), numeric[0].log, int(step or 1))
    return FloatDistribution(low, high, numeric[0].log, step)


def _common_step(
    distributions: Sequence[FloatDistribution | IntDistribution], low: float
) -> float | None:
    """The step of a grid from `low` that contains all ranges; None if no grid does."""
    steps = {d.step for d in distributions}
    step = steps.pop()
    if steps or step is None:
        return None
    counts = [(d.low - low) / step for d in distributions]
    return step if all(abs(count - round(count)) < SAME for count in counts) else None


def conditions(x: FloatArray, space: Space) -> BoolArray | None:
    """The conditions on which parameters exist, as in `Levels`, learned from points.

    A parameter exists if every parent has a value observed together with the parameter. Parents are
    a small set of discrete parameters that exist in all points with the parameter and that separate
    these points from all others. An ordered parent also allows values between and beyond the
    observed ones, up to the first value observed without the parameter. If neither all points nor
    the latest `NUM_RECENT` have such parents, the parameter exists nowhere.

    Args:
        x: points of the unit cube, the latest last, shape (m, D); NaN where a parameter is missing.
        space: the search space.

    Returns:
        Shape (D, D, M); None if every point has all parameters.
    """
    if not np.isnan(x).any():
        return None
    discrete = {
        dim: levels
        for dim, levels in enumerate(space.levels)
        if levels is not None and len(levels) <= MAX_LEVELS
    }
    width = max(map(len, discrete.values()), default=1)
    allowed = np.ones((space.num_dims, space.num_dims, width), bool)
    for dim in range(space.num_dims):
        parents = _parents(x, dim, discrete, space.categorical)
        if parents is None:
            parents = _parents(x[-NUM_RECENT:], dim, discrete, space.categorical)
        if parents is None:
            allowed[dim] = False
        else:
            for parent, values in parents.items():
                allowed[dim, parent, : len(values)] = values
    return allowed


def _parents(
    x: FloatArray, dim: int, discrete: Mapping[int, FloatArray], categorical: Container[int]
) -> dict[int, BoolArray] | None:
    """The parents of a parameter, with the levels that allow it; None without such parents.

    Parents are chosen greedily by the number of points that they separate.
    """
    has = ~np.isnan(x[:, dim])
    if not has.any():
        return None
    present, missing = x[has], x[~has]
    allowed = {
        parent: _allowed(levels, present[:, parent], missing[:, parent], parent in categorical)
        for parent, levels in discrete.items()
        if not np.isnan(present[:, parent]).any()
    }
    found: dict[int, BoolArray] = {}
    while len(missing):
        separated = {
            parent: np.isin(missing[:, parent], discrete[parent][~values])
            for parent, values in allowed.items()
        }
        best = max(
            allowed,
            key=lambda parent: (
                separated[parent].sum(),
                parent in categorical,
                -len(discrete[parent]),
            ),
            default=None,
        )
        if best is None or not separated[best].any():
            return None
        found[best] = allowed[best]
        missing = missing[~separated[best]]
    return found


def _allowed(
    levels: FloatArray, present: FloatArray, missing: FloatArray, is_categorical: bool
) -> BoolArray:
    """The levels of a parent that allow a parameter.

    Args:
        levels: the levels of the parent.
        present: its coordinates in points with the parameter.
        missing: its coordinates in the other points; NaN if the parent is missing too.
        is_categorical: whether its levels have no order.
    """
    if is_categorical:
        return np.isin(levels, present)
    low = missing[missing < present.min()].max(initial=-np.inf)
    high = missing[missing > present.max()].min(initial=np.inf)
    allowed: BoolArray = (low < levels) & (levels < high)
    return allowed
