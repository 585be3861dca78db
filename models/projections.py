"""Projections: components act along directions ``z = W^T x`` that are random variables too.

A *near-identity* projection keeps the box that just holds all z small: its volume over that of the
projected cube is at most ``1 + delta``, so that maximizing over the box wastes little. On a ray
from the identity, ``(1 - alpha) W + alpha I`` (Li et al. 2016, eq. 7), the ratio falls to 1 as
alpha goes to 1; the prior below moves along these rays, which makes the constraint hold by
construction, for gradients as for draws.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.typing import ArrayLike
from numpyro.distributions import biject_to, constraints
from numpyro.distributions.transforms import Transform

from structbo.models.arguments import check_positive
from structbo.models.decomposition import Decomposition
from structbo.models.edges import Structure

STEP_RATIO = 1.2
FAR = 1e6
"""A ray that meets no bound up to here, in units of where it would to first order, is endless."""
NUM_BISECTIONS, NUM_NEWTON_STEPS = 10, 3
TINY = 1e-30


def projected(decomposition: Decomposition, W: ArrayLike) -> Decomposition:
    """The decomposition of a function of ``z = W^T x``.

    Sign, order and scale of the columns of W are not identified by the data alone: a near-identity
    prior fixes them, an unrestricted one leaves them to the other priors, and then only what does
    not depend on them - components, predictions - is comparable between draws.

    Args:
        decomposition: components over the P columns of W, as any structure gives them for P
            dimensions.
        W: the directions, shape (D, P); the identity leaves the model as it is, fewer columns than
            rows embed the function into fewer dimensions.

    Returns:
        The decomposition with its projection.

    Raises:
        ValueError: if the number of columns is not that of the decomposition's dimensions.

    References:
        Li et al. 2016, eq. (6); Wang et al. 2013, "Bayesian optimization in high dimensions via
        random embeddings", for fixed random W with P < D.

    Example:
        >>> one_dimensional = Decomposition.of(jnp.eye(2, dtype=bool))
        >>> projected(one_dimensional, jnp.ones((5, 2))).projection.shape
        (5, 2)
    """
    W = jnp.asarray(W)
    num_dims = decomposition.members.shape[1]
    if W.ndim != 2 or W.shape[1] != num_dims:
        raise ValueError(
            f"W must have one column for each of the {num_dims} dimensions of the decomposition, "
            f"got shape {W.shape}."
        )
    return replace(decomposition, projection=W)


def projections(prior: Callable[[int], dist.Distribution], structure: Structure) -> Structure:
    """The structure along random directions, site ``W``.

    Args:
        prior: from the number of parameters D to a distribution over matrices of shape (D, P), for
            example `NearIdentity`, or with P < D an embedding into fewer dimensions.
        structure: of the P projections.

    Returns:
        A structure for `AdditiveGP`.

    References:
        Li et al. 2016, section 4.

    Example:
        >>> def normal(num_dims):
        ...     return dist.Normal(jnp.zeros((num_dims, 2)), 1.0).to_event(2)
        >>> structure = projections(normal, lambda num_dims: Decomposition.of(jnp.eye(2) == 1))
        >>> with numpyro.handlers.seed(rng_seed=0):
        ...     structure(5).projection.shape
        (5, 2)
    """

    def projected_structure(num_dims: int) -> Decomposition:
        W = numpyro.sample("W", prior(num_dims))
        return projected(structure(W.shape[1]), W)

    return projected_structure


def outer_box_ratio(W: Array) -> Array:
    """Volume of the smallest box around the projected unit cube, over the volume of that.

    Args:
        W: square, shape (D, D).

    Returns:
        ``prod_d |w_d|_1 / |det W|`` with w_d the columns of W, a scalar of at least 1.

    References:
        Li et al. 2016, eq. (8).

    Example:
        >>> float(outer_box_ratio(jnp.array([[1.0, 0.0], [1.0, 1.0]])))
        2.0
    """
    return jnp.exp(_log_ratio(W))


def _log_ratio(W: Array) -> Array:
    return jnp.log(jnp.abs(W).sum(0)).sum() - jnp.linalg.slogdet(W)[1]


def _each(function: Callable[[Array], Array], matrices: Array) -> Array:
    """A function of every matrix of a batch, shape (..., D, D), one after the other.

    Batched factorizations inside compiled loops can wait for each other forever on a CPU.
    """
    values = jax.lax.map(function, matrices.reshape(-1, *matrices.shape[-2:]))
    return values.reshape(*matrices.shape[:-2], *values.shape[1:])


class OuterBox(NamedTuple):
    """The smallest box around the projected unit cube, scaled to a unit cube of its own.

    Args:
        W: the directions, shape (D, P).

    References:
        Li et al. 2016, section 4.1 and figure 2.
    """

    W: Array

    @property
    def low(self) -> Array:
        """The least value of every projection, shape (P,)."""
        return jnp.minimum(self.W, 0.0).sum(0)

    @property
    def width(self) -> Array:
        """The range of every projection, shape (P,)."""
        return jnp.abs(self.W).sum(0)

    def to_unit(self, x: Array) -> Array:
        """Coordinates in the box of points of the unit cube, shape (n, D) to (n, P)."""
        return (x @ self.W - self.low) / self.width

    def from_unit(self, u: Array) -> tuple[Array, Array]:
        """Points of the unit cube near those of the box.

        Of all points with the same projections, that nearest to the center of the cube is taken,
        and clipped into the cube.

        Args:
            u: coordinates in the box, shape (n, P).

        Returns:
            Points, shape (n, D), and by how much clipping moved each of them, shape (n,).
        """
        center = jnp.full(self.W.shape[0], 0.5)
        z = self.low + u * self.width
        free = center + (z - center @ self.W) @ jnp.linalg.pinv(self.W)
        x = jnp.clip(free, 0.0, 1.0)
        return x, jnp.linalg.norm(x - free, axis=-1)


class _NearIdentityMatrix(constraints.Constraint):
    """Square matrices around the identity whose outer box is at most 1 + delta times too large."""

    event_dim = 2

    def __init__(self, delta: ArrayLike) -> None:
        self.delta = delta

    def __call__(self, x: ArrayLike) -> Array:
        ratio = _each(outer_box_ratio, jnp.asarray(x))
        return ratio <= (1.0 + jnp.asarray(self.delta)) * (1.0 + 1e-9)

    def feasible_like(self, prototype: ArrayLike) -> Array:
        prototype = jnp.asarray(prototype)
        return jnp.broadcast_to(jnp.eye(prototype.shape[-1]), prototype.shape)

    def tree_flatten(self) -> tuple[tuple[ArrayLike], tuple[tuple[str], dict[str, object]]]:
        return (self.delta,), (("delta",), {})


class NearIdentityTransform(Transform):
    """Pulls matrices towards the identity until the outer box is small enough.

    The ray from the identity through ``I + V`` is left at a distance ``t``, where the ratio first
    reaches ``1 + delta``. A point at distance r goes to ``r t / (t + r)``: those near the identity
    hardly move, and none gets beyond t. It is ``(1 - alpha) (I + V) + alpha I`` with
    ``alpha = r / (t + r)``.

    Args:
        delta: the bound; infinity moves nothing, zero moves everything without a diagonal
            deviation onto the identity.
    """

    domain = constraints.real_matrix

    def __init__(self, delta: ArrayLike) -> None:
        self.delta = delta

    @property
    def codomain(self) -> constraints.Constraint:
        return _NearIdentityMatrix(self.delta)

    def __call__(self, x: Array) -> Array:
        def one(x: Array) -> Array:
            deviation, distance, limit = self._on_ray(x)
            return jnp.eye(len(x)) + deviation / (1.0 + distance / limit)

        return _each(one, x)

    def _inverse(self, y: Array) -> Array:
        def one(y: Array) -> Array:
            deviation, distance, limit = self._on_ray(y)
            return jnp.eye(len(y)) + deviation / (1.0 - distance / limit)

        return _each(one, y)

    def log_abs_det_jacobian(
        self, x: Array, y: Array, intermediates: object | None = None
    ) -> Array:
        """Along the ray the map is ``r t / (t + r)``; across it, everything scales alike."""

        def one(x: Array) -> Array:
            _, distance, limit = self._on_ray(x)
            return -(x.size + 1) * jnp.log1p(distance / limit)

        return _each(one, x)

    def _on_ray(self, x: Array) -> tuple[Array, Array, Array]:
        """The deviation from the identity, its norm, and the norm at which its ray must end."""
        deviation = x - jnp.eye(len(x))
        distance = jnp.sqrt(jnp.square(deviation).sum() + TINY)
        return deviation, distance, _ray_length(deviation / distance, jnp.asarray(self.delta))

    def tree_flatten(self) -> tuple[tuple[ArrayLike], tuple[tuple[str], dict[str, object]]]:
        return (self.delta,), (("delta",), {})


def least_alpha(W: ArrayLike, delta: float) -> Array:
    """How far a matrix must be pulled towards the identity to meet the delta-ratio constraint.

    Args:
        W: square, shape (D, D).
        delta: the bound, positive.

    Returns:
        The least alpha in [0, 1] such that ``(1 - a) W + a I`` has an `outer_box_ratio` of at most
        ``1 + delta`` for every a from there to 1.

    References:
        Li et al. 2016, eq. (7) and (8).

    Example:
        >>> round(float(least_alpha(jnp.array([[1.0, 1.0], [0.0, 1.0]]), 0.25)), 6)
        0.75
    """
    _, distance, limit = NearIdentityTransform(delta)._on_ray(jnp.asarray(W))
    return jnp.maximum(1.0 - limit / distance, 0.0)


@jax.jit
def _ray_length(direction: Array, delta: Array) -> Array:
    """The distance from the identity at which the ratio first reaches 1 + delta."""
    identity, bound = jnp.eye(len(direction)), jnp.log1p(delta)

    def excess(length: Array, direction: Array) -> Array:
        return _log_ratio(identity + length * direction) - bound

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
    # What is not used must be finite too, or its derivative spoils the other's.
    length = jax.lax.stop_gradient(jnp.where(is_endless, 1.0, length))
    direction = jnp.where(is_endless, jnp.ones_like(direction), direction)
    bound = jnp.where(jnp.isinf(bound), 1.0, bound)
    for _ in range(NUM_NEWTON_STEPS):
        # These also carry the root's derivative by the direction.
        by_length = jax.lax.stop_gradient(jax.grad(excess)(length, fixed))
        length = length - excess(length, direction) / by_length
    return jnp.where(is_endless, jnp.inf, length)


class NearIdentity(dist.TransformedDistribution):
    """Square matrices near the identity that all meet the delta-ratio constraint.

    Elements deviate from the identity independently, with a normal distribution, and are pulled
    back along the ray to the identity as far as the constraint demands.

    Args:
        num_dims: the number of rows and of columns D.
        scale: standard deviation of the elements before they are pulled back.
        delta: every draw has ``outer_box_ratio(W) <= 1 + delta``; infinity for no constraint.

    Raises:
        ValueError: if the scale or delta is (where known) not positive.

    References:
        Li et al. 2016, section 4.1.

    Example:
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


@biject_to.register(_NearIdentityMatrix)
def _unconstrained(constraint: _NearIdentityMatrix) -> Transform:
    return NearIdentityTransform(constraint.delta)
