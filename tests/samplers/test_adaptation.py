"""The metric and the step that trajectories teach."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC

from structbo.samplers import Hamiltonian
from structbo.samplers.adaptation import (
    FIRST_STEP_SIZE,
    GRADIENTS_PER_VALUE,
    NUM_EARLY,
    Adaptation,
)
from structbo.samplers.composition import composed


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


def metric(adaptation: Adaptation, implied: np.ndarray, factors: Sequence[int] = ()) -> np.ndarray:
    """The metric if gradients have the covariance that values with this one imply."""
    factor = adaptation._replace(curvature=jnp.linalg.inv(implied)).stretch(factors)(
        jnp.eye(len(adaptation.mean))
    )
    return np.asarray(factor @ factor.T)


def test_correlations_of_few_values_are_not_believed() -> None:
    """Two values are on a line. Deviations are what they are."""
    adaptation = Adaptation.first(3, is_dense=True)
    for k in range(NUM_EARLY + 2):
        position = jnp.full(3, float(k % 2))
        adaptation = adaptation.learned(
            position, adaptation.curvature, jnp.array(1.0), jnp.ones(3, bool)
        )
    learned, share = np.asarray(adaptation.covariance), 2.0 / (2.0 + 3.0)
    expected = np.where(np.eye(3, dtype=bool), learned, share * learned)
    np.testing.assert_allclose(metric(adaptation, expected), expected, rtol=1e-12)


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
    learned, share = np.asarray(adaptation.covariance), 40.0 / (40.0 + size + 1)
    explained = np.outer(learned[0], learned[0]) / learned[0, 0]
    is_kept = np.eye(size + 1, dtype=bool)
    is_kept[0] = is_kept[:, 0] = True
    expected = explained + np.where(is_kept, 1.0, share) * (learned - explained)
    np.testing.assert_allclose(metric(adaptation, expected, [0]), expected, rtol=1e-9)


def test_directions_without_gradients_are_not_taken_for_flat() -> None:
    """All gradients were along the first of five axes; values vary alike along all axes."""
    size, num_values = 5, 20.0
    adaptation = Adaptation.first(size, is_dense=True)._replace(
        curvature=jnp.zeros((size, size)).at[0, 0].set(7.0),
        num_values=jnp.array(NUM_EARLY + num_values),
    )
    steps = np.linalg.norm(adaptation.stretch()(jnp.eye(size)), axis=1)
    share = GRADIENTS_PER_VALUE * num_values / (GRADIENTS_PER_VALUE * num_values + size)
    flat = (1.0 - share) * 7.0 / size
    np.testing.assert_allclose(np.max(steps), flat**-0.25, rtol=1e-6)
    np.testing.assert_allclose(np.min(steps), (7.0 * share + flat) ** -0.25, rtol=1e-6)


def test_a_warm_up_of_as_many_steps_as_parameters_suffices() -> None:
    """Trajectories of independent numbers with different scales need no small steps."""
    scales = np.exp(np.random.default_rng(1).normal(size=200))

    def model(X: object, y: object = None) -> None:
        numpyro.sample("a", dist.Normal(0.0, scales).to_event(1))

    kernel = composed(Hamiltonian(model), model, 2)
    chain = MCMC(kernel, num_warmup=200, num_samples=200, progress_bar=False)
    chain.run(jax.random.key(0), np.zeros((2, 2)), np.zeros(2), extra_fields=["info"])
    assert chain.get_extra_fields()["info"]["step_size"][-1] > 0.2
    draws = np.asarray(chain.get_samples()["a"])
    np.testing.assert_allclose(draws.std(0) / scales, 1.0, atol=0.5)


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
