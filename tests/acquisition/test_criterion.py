"""Properties of the acquisition of every criterion: finite values, gradients and errors."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from acquisition_case import NUM_DRAWS, Case

from structbo.acquisition import (
    CRITERIA,
    MES,
    UCB,
    Acquisition,
    AdditiveCriterion,
    Criterion,
    LogPI,
    Thompson,
)
from structbo.maximizers.maximizer import values_on_lines

FAST = ("ucb", "additive_ucb")
SLOW = [criterion for name, criterion in CRITERIA.items() if name not in FAST]


@pytest.mark.parametrize(
    "criterion",
    [
        *(CRITERIA[name] for name in FAST),
        *(pytest.param(c, marks=pytest.mark.nightly) for c in (*SLOW, MES(maxima="gumbel"))),
    ],
    ids=repr,
)
def test_values_and_gradients_are_finite_everywhere(case: Case, criterion: Criterion) -> None:
    """Observed points, with nearly zero deviations, are included."""
    observed = np.asarray(case.posteriors.x)[0, :7]
    points = jnp.asarray(np.concatenate([case.points[::97], observed]))

    @jax.jit
    def both(posteriors: Any, search: Any) -> Any:
        acquisition = criterion.of(posteriors, search)
        gradient = jax.grad(lambda x: acquisition(x).sum())(points)
        return acquisition(points), gradient, acquisition.standard_error(points)

    values, gradients, errors = both(case.posteriors, case.search)
    assert np.isfinite(values).all() and np.isfinite(gradients).all()
    assert np.ptp(values) > 0.0
    assert (np.asarray(errors) > 0.0).all()
    assert np.isfinite(errors).all() != isinstance(criterion, Thompson)
    assert isinstance(criterion, AdditiveCriterion) == hasattr(criterion, "on_grid")


@pytest.mark.parametrize("name", CRITERIA)
def test_a_line_is_its_points(case: Case, name: str) -> None:
    """Joint criteria share most of the computation along a line; the others evaluate each point."""
    x = np.repeat(case.points[::97][:3, None], 4, axis=1)
    x[:, 1:, 0] = np.random.default_rng(0).random((3, 3))

    @jax.jit
    def both(posteriors: Any, search: Any) -> tuple[Any, Any]:
        acquisition = CRITERIA[name].of(posteriors, search)
        on_lines = values_on_lines(acquisition, jnp.asarray(x), jnp.array(0))
        return acquisition(jnp.asarray(x.reshape(12, -1))), on_lines

    by_points, on_lines = both(case.posteriors, case.search)
    assert on_lines.shape == (3, 4) and np.ptp(by_points) > 0.0
    np.testing.assert_allclose(on_lines.ravel(), by_points, rtol=1e-9, atol=1e-9)


def test_the_standard_error_is_that_of_the_mean_over_draws(acquire: Any, moments: Any) -> None:
    points, mean, _, _, _ = moments
    standard_error = jax.jit(Acquisition.standard_error)
    errors = standard_error(acquire(UCB(0.0)), points)
    assert np.allclose(errors, mean.std(0, ddof=1) / np.sqrt(NUM_DRAWS), atol=1e-6)
    acquisition = acquire(LogPI())
    probability = np.exp(np.asarray(jax.jit(Acquisition.by_draw)(acquisition, points)))
    relative = probability.std(0, ddof=1) / np.sqrt(NUM_DRAWS) / probability.mean(0)
    assert np.allclose(standard_error(acquisition, points), relative, rtol=1e-6)
