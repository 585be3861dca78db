"""Near-identity projections: random matrices that all meet the delta-ratio constraint.

The smallest box around the projected cube has at most ``1 + delta`` times the volume of the
projected cube. On a ray from the identity, ``(1 - alpha) W + alpha I`` (Li et al. 2016, eq. 7),
the ratio of the volumes falls to 1 as alpha goes to 1. The prior below moves along these rays,
which makes the constraint hold by construction, for gradients as for draws.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float
from numpyro.distributions import biject_to, constraints
from numpyro.distributions.transforms import Transform

from structbo.models.foundation.arguments import check_positive
from structbo.models.outer_box import each_matrix, log_outer_box_ratio
from structbo.models.supports import NearIdentityMatrix

STEP_RATIO = 1.2
FAR = 1e6
"""Rays that meet no bound within this multiple of the first-order distance are unbounded."""
NUM_BISECTIONS, NUM_NEWTON_STEPS = 10, 3
TINY = 1e-30


class NearIdentityTransform(Transform):
    """Pulls matrices towards the identity until the outer box is small enough.

    On the ray from the identity through ``I + V``, the ratio first reaches ``1 + delta`` at a
    distance ``t``. A point at distance r maps to ``r t / (t + r)``: points near the identity hardly
    move, and all stay within t. It is ``(1 - alpha) (I + V) + alpha I`` with ``alpha = r / (t +
    r)``.

    Args:
        delta: the bound; infinity is the identity map, zero maps matrices without diagonal
            deviation to the identity matrix.
    """

    domain = constraints.real_matrix

    def __init__(self, delta: ArrayLike) -> None:
        self.delta = delta

    @property
    def codomain(self) -> constraints.Constraint:
        return NearIdentityMatrix(self.delta)

    def __call__(self, x: Float[Array, "*S D D"]) -> Float[Array, "*S D D"]:
        def one(x: Array) -> Array:
            deviation, distance, limit = self._on_ray(x)
            return jnp.eye(len(x)) + deviation / (1.0 + distance / limit)

        return each_matrix(one, x)

    def _inverse(self, y: Float[Array, "*S D D"]) -> Float[Array, "*S D D"]:
        def one(y: Array) -> Array:
            deviation, distance, limit = self._on_ray(y)
            return jnp.eye(len(y)) + deviation / (1.0 - distance / limit)

        return each_matrix(one, y)

    def log_abs_det_jacobian(
        self,
        x: Float[Array, "*S D D"],
        y: Float[Array, "*S D D"],
        intermediates: object | None = None,
    ) -> Float[Array, "*S"]:
        """The map is ``r t / (t + r)`` along the ray, and a scaling across it."""

        def one(x: Array) -> Array:
            _, distance, limit = self._on_ray(x)
            return -(x.size + 1) * jnp.log1p(distance / limit)

        return each_matrix(one, x)

    def _on_ray(
        self, x: Float[Array, "D D"]
    ) -> tuple[Float[Array, "D D"], Float[Array, ""], Float[Array, ""]]:
        """The deviation from the identity, its norm, and the norm at which its ray must end."""
        deviation = x - jnp.eye(len(x))
        distance = jnp.sqrt(jnp.square(deviation).sum() + TINY)
        return deviation, distance, _ray_length(deviation / distance, jnp.asarray(self.delta))

    def tree_flatten(self) -> tuple[tuple[ArrayLike], tuple[tuple[str], dict[str, object]]]:
        return (self.delta,), (("delta",), {})


def least_alpha(W: ArrayLike, delta: float) -> Float[Array, ""]:
    """The smallest pull of a matrix towards the identity that meets the delta-ratio constraint.

    Args:
        W: square matrix, shape (D, D).
        delta: the bound, positive.

    Returns:
        The smallest alpha in [0, 1] such that ``(1 - a) W + a I`` has an `outer_box_ratio` of at
        most ``1 + delta`` for every a from there to 1.

    References:
        Li et al. 2016, eq. (7) and (8).

    Example:
        >>> round(float(least_alpha(jnp.array([[1.0, 1.0], [0.0, 1.0]]), 0.25)), 6)
        0.75
    """
    _, distance, limit = NearIdentityTransform(delta)._on_ray(jnp.asarray(W))
    return jnp.maximum(1.0 - limit / distance, 0.0)


@jax.jit
def _ray_length(direction: Float[Array, "D D"], delta: Float[Array, ""]) -> Float[Array, ""]:
    """The distance from the identity at which the ratio first reaches 1 + delta."""
    identity, bound = jnp.eye(len(direction)), jnp.log1p(delta)

    def excess(length: Array, direction: Float[Array, "D D"]) -> Array:
        return log_outer_box_ratio(identity + length * direction) - bound

    fixed = jax.lax.stop_gradient(direction)
    # Near the identity the log ratio grows with the sum of the off-diagonal elements.
    slope = jnp.abs(fixed * (1.0 - identity)).sum()
    start = 0.1 * bound / jnp.maximum(slope, TINY)

    def is_inside(state: tuple[Array, Array]) -> Array:
        _, outside = state
        return (excess(outside, fixed) < 0.0) & (outside < FAR * start)

    def outwards(state: tuple[Array, Array]) -> tuple[Array, Array]:
        _, outside = state
        return outside, STEP_RATIO * outside

    def bisect(_: int, state: tuple[Array, Array]) -> tuple[Array, Array]:
        inside, outside = state
        middle = 0.5 * (inside + outside)
        is_low = excess(middle, fixed) < 0.0
        return jnp.where(is_low, middle, inside), jnp.where(is_low, outside, middle)

    bracket = jax.lax.while_loop(is_inside, outwards, (jnp.zeros_like(start), start))
    is_endless = bracket[1] >= FAR * start
    length = jax.lax.fori_loop(0, NUM_BISECTIONS, bisect, bracket)[0]
    # The unused branch must be finite too, or its derivative makes the other one NaN.
    length = jax.lax.stop_gradient(jnp.where(is_endless, 1.0, length))
    direction = jnp.where(is_endless, jnp.ones_like(direction), direction)
    bound = jnp.where(jnp.isinf(bound), 1.0, bound)
    for _ in range(NUM_NEWTON_STEPS):
        # These also give the derivative of the root by the direction.
        by_length = jax.lax.stop_gradient(jax.grad(excess)(length, fixed))
        length = length - excess(length, direction) / by_length
    return jnp.where(is_endless, jnp.inf, length)


class NearIdentity(dist.TransformedDistribution):
    """Square matrices near the identity that all meet the delta-ratio constraint.

    Deviations of elements from the identity are independent and normal, and are pulled back along
    the ray to the identity as far as the constraint requires.

    Args:
        num_dims: the number of rows and of columns D.
        scale: standard deviation of the elements before they are pulled back.
        delta: every draw has ``outer_box_ratio(W) <= 1 + delta``; infinity for no constraint.

    Raises:
        ValueError: if the scale or delta is not positive (unless traced).

    References:
        Li et al. 2016, section 4.1.

    Example:
        >>> from structbo.models import outer_box_ratio
        >>> W = NearIdentity(4, 0.5, delta=0.1).sample(jax.random.key(0))
        >>> bool(outer_box_ratio(W) <= 1.1)
        True
    """

    def __init__(
        self,
        num_dims: int,
        scale: ArrayLike = 0.3,
        delta: float = 0.1,
        *,
        validate_args: bool | None = None,
    ) -> None:
        check_positive("scale", scale)
        check_positive("delta", delta, largest=np.inf)
        base = dist.Normal(jnp.eye(num_dims), scale).to_event(2)
        super().__init__(base, NearIdentityTransform(delta), validate_args=validate_args)


@biject_to.register(NearIdentityMatrix)
def _unconstrained(constraint: NearIdentityMatrix) -> Transform:
    return NearIdentityTransform(constraint.delta)
