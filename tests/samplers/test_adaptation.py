"""The metric and the step that trajectories teach."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from structbo.samplers.adaptation import FIRST_STEP_SIZE, NUM_EARLY, Adaptation


def test_values_seen_through_the_metric_vary_as_derivatives_do() -> None:
    """The metric is the geometric mean of the covariance and the inverse of the curvature."""
    root, other = np.random.default_rng(0).normal(size=(2, 4, 4))
    covariance, curvature = jnp.asarray(root @ root.T), jnp.asarray(other @ other.T)
    dense = Adaptation.first(4, is_dense=True)._replace(
        covariance=covariance, curvature=curvature, num_values=jnp.array(1e15)
    )
    factor = np.asarray(dense.stretch()(jnp.eye(4)))
    values = np.linalg.inv(factor) @ covariance @ np.linalg.inv(factor).T
    np.testing.assert_allclose(values, factor.T @ curvature @ factor, rtol=1e-9, atol=1e-9)


def seen_covariance(adaptation: Adaptation, factors: Sequence[int] = ()) -> np.ndarray:
    """The covariance of values that a metric is made for, where the curvature is one."""
    factor = adaptation.stretch(factors)(jnp.eye(len(adaptation.mean)))
    metric = np.asarray(factor @ factor.T)
    return np.asarray(metric @ adaptation.curvature @ metric)


def test_correlations_of_few_values_are_not_believed() -> None:
    """Two values are on a line. Deviations are what they are."""
    adaptation = Adaptation.first(3, is_dense=True)
    for k in range(NUM_EARLY + 2):
        position = jnp.full(3, float(k % 2))
        adaptation = adaptation.learned(
            position, adaptation.curvature, jnp.array(1.0), jnp.ones(3, bool)
        )
    metric, learned = seen_covariance(adaptation), np.asarray(adaptation.covariance)
    np.testing.assert_allclose(np.diag(metric), np.diag(learned), rtol=1e-12)
    share = 2.0 / (2.0 + 3.0)
    np.testing.assert_allclose(metric[0, 1], share * learned[0, 1], rtol=1e-12)


def test_few_values_of_numbers_and_their_factor_are_taken_for_independent_given_it() -> None:
    """Covariances with the factor are used at once; other covariances are shrunk."""
    rng, size = np.random.default_rng(0), 30
    factor, shared = rng.normal(size=(2, 40, 1))
    numbers = -factor + 0.01 * (shared + rng.normal(size=(40, size)))
    adaptation = Adaptation.first(size + 1, is_dense=True)
    for position in [*np.zeros((NUM_EARLY, size + 1)), *np.hstack([factor, numbers])]:
        everything = jnp.ones(size + 1, bool)
        adaptation = adaptation.learned(
            jnp.asarray(position), adaptation.curvature, jnp.array(1.0), everything
        )
    metric, learned = seen_covariance(adaptation, [0]), np.asarray(adaptation.covariance)
    np.testing.assert_allclose(metric[0], learned[0], rtol=1e-9)
    np.testing.assert_allclose(np.diag(metric), np.diag(learned), rtol=1e-9)

    def left(covariance: np.ndarray) -> np.ndarray:
        """The covariance of the numbers given the factor."""
        return (
            covariance[1:, 1:] - np.outer(covariance[0, 1:], covariance[0, 1:]) / covariance[0, 0]
        )

    off_diagonal = ~np.eye(size, dtype=bool)
    share = 40.0 / (40.0 + size + 1)
    np.testing.assert_allclose(
        left(metric)[off_diagonal], share * left(learned)[off_diagonal], rtol=1e-6
    )


def test_the_step_shrinks_where_trajectories_diverge() -> None:
    after = {}
    for prob in (0.0, 1.0):
        after[prob] = Adaptation.first(1, is_dense=True)
        for _ in range(10):
            after[prob] = after[prob].learned(
                jnp.zeros(1), jnp.eye(1), jnp.array(prob), jnp.array([True])
            )
    assert after[0.0].trial < after[0.0].step_size < FIRST_STEP_SIZE
    assert after[1.0].trial > FIRST_STEP_SIZE and after[1.0].step_size > FIRST_STEP_SIZE
