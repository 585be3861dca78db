"""Maximization over variables that exist conditionally."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from structbo.maximizers import Imputed
from structbo.maximizers.ascent import coordinate_ascent, gradient_ascent
from structbo.space import NEUTRAL, Levels


def either() -> Levels:
    """The second variable exists at level 0 of the first, the third at level 1."""
    allowed = np.ones((3, 3, 2), bool)
    allowed[1, 0] = [True, False]
    allowed[2, 0] = [False, True]
    return Levels.of([np.array([0.0, 1.0]), None, None], conditions=allowed)


def deceptive(x: Array) -> Array:
    """Level 1 of the first variable is worse, but only level 1 has the third variable."""
    return -x[:, 0] - jnp.square(x[:, 1] - 0.9) - 20.0 * jnp.square(x[:, 2] - 0.8)


def test_values_do_not_depend_on_missing_variables() -> None:
    function = Imputed(deceptive, either())
    x = jnp.array([[0.0, 0.3, 0.1], [0.0, 0.3, 0.8], [1.0, 0.9, 0.7], [1.0, 0.1, 0.7]])
    legal = jnp.array([[0.0, 0.3, NEUTRAL], [1.0, NEUTRAL, 0.7]])
    np.testing.assert_allclose(function(x), np.repeat(deceptive(legal), 2), rtol=1e-6)
    slopes = np.asarray(jax.grad(lambda x: function(x).sum())(x))
    assert (slopes[[0, 1, 2, 3], [2, 2, 1, 1]] == 0.0).all()
    assert (slopes[[0, 1, 2, 3], [1, 1, 2, 2]] != 0.0).all()


def test_the_maximum_is_that_of_legal_points() -> None:
    """If all coordinates were free, level 0 with the best third variable would be better."""
    assert deceptive(jnp.array([[0.0, 0.9, 0.8]])) > deceptive(jnp.array([[1.0, 0.9, 0.8]]))
    function, levels = Imputed(deceptive, either()), either()
    starts = jax.vmap(levels.nearest)(jnp.array(np.random.default_rng(0).random((8, 3))))
    moved = coordinate_ascent(function, starts, levels, jax.random.key(0), 17)

    def value_and_gradient(x: np.ndarray) -> tuple[Array, Array]:
        points = jnp.asarray(x)
        return function(points), jax.grad(lambda x: function(x).sum())(points)

    points, values = gradient_ascent(
        value_and_gradient, np.array(moved), np.array([False, True, True])
    )
    best = levels.imputed(jnp.asarray(points[values.argmax()]))
    np.testing.assert_allclose(best, [1.0, NEUTRAL, 0.8], atol=1e-3)
