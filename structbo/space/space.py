"""The search space: named parameters, and the maps to and from the unit cube.

Every parameter takes exactly one coordinate of the cube. A `Parameter` maps single values; `Space`
names parameters and maps whole tables.
"""

import contextlib
import math
import numbers
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike, NDArray

from structbo.models.foundation.arguments import is_integer
from structbo.models.foundation.precision import double_precision
from structbo.space.choices import Fixed
from structbo.space.constraints import LinearConstraint, check_names, half_spaces, slack_of
from structbo.space.half_spaces import HalfSpaces, pulled_in
from structbo.space.levels import Levels
from structbo.space.numeric import Real
from structbo.space.parameters import Discrete, Parameter, nearest_level
from structbo.space.rows import rows_of
from structbo.space.scalars import ROUND_OFF, plain

Points: TypeAlias = list[dict[str, Any]] | Float[np.ndarray, "n D"]
"""Points by name, or an array for a plain box."""
RESOLUTION = 1e-4
"""Resolution of rounded numbers, as a fraction of the range on its scale."""


@dataclass(frozen=True, init=False, repr=False)
class Space:
    """Named parameters, and the maps between their values and the unit cube [0, 1]^D.

    Args:
        spec: `{name: parameter}`; or a list of parameters, named x0, x1, ...; or an array (D, 2)
            of bounds, as in `Space.box`; or a `Space`. A parameter is (low, high),
            (low, high, "log"), `Real`, `Integer`, `Ordinal` or `Categorical`; or `Fixed`, for a
            value that all points share. A parameter with a single value is treated like `Fixed`.
            Integer bounds (low, high) other than (0, 1) make a real parameter, with a warning.
        constraints: one or more linear constraints on real parameters, in addition to a given
            `Space`'s own.

    Attributes:
        is_box: whether points are arrays (n, D) rather than dicts.
        constraints: all constraints, a tuple.

    Raises:
        TypeError, ValueError: if spec is invalid; the message names the parameter.

    >>> from structbo import Categorical
    >>> space = Space({"lr": (1e-4, 1.0, "log"), "act": Categorical(["relu", "gelu"])})
    >>> space.to_unit({"lr": 0.01, "act": "gelu"})
    array([[0.5, 1. ]])
    >>> space.from_unit([[0.0, 0.2]])
    [{'lr': 0.0001, 'act': 'relu'}]
    """

    _spec: tuple[tuple[str, Parameter | Fixed], ...]
    is_box: bool
    constraints: tuple[LinearConstraint, ...]

    def __init__(
        self,
        spec: "Mapping[str, Any] | Sequence[Any] | NDArray[Any] | Space",
        constraints: LinearConstraint | Iterable[LinearConstraint] = (),
    ) -> None:
        if hasattr(spec, "ndim"):
            spec = Space.box(np.asarray(spec))
        named = _named(spec)
        made = tuple((name, _parameter(name, short)) for name, short in named.items())
        object.__setattr__(self, "_spec", made)
        if not self.parameters:
            raise ValueError(f"spec must hold a parameter that varies, got {named}")
        object.__setattr__(self, "is_box", isinstance(spec, Space) and spec.is_box)
        inherited = spec.constraints if isinstance(spec, Space) else ()
        more = constraints if isinstance(constraints, Iterable) else (constraints,)
        object.__setattr__(self, "constraints", (*inherited, *more))
        for constraint in self.constraints:
            check_names(constraint, self.spec)
        _ = self.half_spaces  # an error now, if the constraints leave no room
        _warn_of_integers(named)

    @classmethod
    def box(cls, bounds: ArrayLike) -> "Space":
        """A box, whose points are arrays (n, D).

        Args:
            bounds: one row [low, high] per dimension, shape (D, 2).

        Raises:
            TypeError, ValueError: if bounds have another shape, or are not finite or not ordered.

        >>> Space.box([[0, 1], [-5, 10]]).from_unit([[0.5, 0.5]])
        array([[0.5, 2.5]])
        """
        try:
            array = np.asarray(bounds, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"bounds must be numbers of shape (D, 2), got {bounds!r}") from None
        if array.ndim != 2 or array.shape[1] != 2:
            raise ValueError(
                f"bounds must have shape (D, 2), one row [low, high] per dimension, got "
                f"{array.shape}"
            )
        space = cls(array.tolist())
        object.__setattr__(space, "is_box", True)
        return space

    @property
    def spec(self) -> dict[str, Parameter | Fixed]:
        """The parameters and fixed values by name, in the given order."""
        return dict(self._spec)

    @cached_property
    def _varying(self) -> dict[str, Parameter]:
        return {
            name: made
            for name, made in self._spec
            if isinstance(made, Parameter) and not _has_one_value(made)
        }

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The D names of the parameters with more than one value."""
        return tuple(self._varying)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The D parameters with more than one value."""
        return tuple(self._varying.values())

    @cached_property
    def fixed(self) -> dict[str, Any]:
        """The values that all points share, by name."""
        return {
            name: made.value if isinstance(made, Fixed) else made.from_unit(0.0)
            for name, made in self._spec
            if name not in self._varying
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of parameters and fixed values, in the given order."""
        return tuple(name for name, _ in self._spec)

    @property
    def num_dims(self) -> int:
        """D, the number of parameters."""
        return len(self.names)

    @cached_property
    def levels(self) -> tuple[Float[np.ndarray, " _L"] | None, ...]:
        """The legal coordinates of every dimension, ascending; None for a real one."""
        return tuple(parameter.levels for parameter in self.parameters)

    @cached_property
    def categorical(self) -> tuple[int, ...]:
        """Indices of the categorical dimensions."""
        return tuple(d for d, parameter in enumerate(self.parameters) if parameter.is_categorical)

    def legal_coordinates(self, conditions: Bool[np.ndarray, "D D M"] | None = None) -> Levels:
        """The legal coordinates of the unit cube, for searches; in the current precision of JAX.

        Args:
            conditions: conditions on which parameters exist, see `Levels`; None if all always
                exist.
        """
        return Levels.of(self.levels, self.half_spaces, conditions, self.categorical)

    @cached_property
    def half_spaces(self) -> HalfSpaces | None:
        """The constraints in the unit cube, or None."""
        if not self.constraints:
            return None
        return half_spaces(self.constraints, self.names, self._reals)

    @property
    def _reals(self) -> dict[str, Real]:
        pairs = zip(self.names, self.parameters, strict=True)
        return {name: made for name, made in pairs if isinstance(made, Real)}

    @property
    def num_points(self) -> int | None:
        """The number of points; None if infinite."""
        sizes = [len(levels) for levels in self.levels if levels is not None]
        return math.prod(sizes) if len(sizes) == self.num_dims else None

    def to_unit(self, points: Any, *, name: str = "points") -> Float[np.ndarray, "n D"]:
        """Maps points to the unit cube.

        Args:
            points: a dict by name, a list of dicts, a DataFrame, or an array (n, D) or (D,) (or
                nested list) of values in the order of `names`. Fixed values are optional, and not
                in an array.
            name: what to call them in messages.

        Returns:
            Coordinates, exactly on the levels of discrete parameters.

        Raises:
            TypeError, ValueError: naming the point and the parameter at fault.
        """
        rows = self._mapped(name, points, lambda parameter, value: parameter.to_unit(value))
        return np.array(rows, np.float64).reshape(-1, self.num_dims)

    def as_legal(self, points: Any, *, name: str = "points") -> Points:
        """Points in the format of `from_unit`, with their original values.

        Args:
            points: as in `to_unit`.
            name: what to call them in messages.

        Returns:
            n dicts by name, or an array if the space is a box.

        Raises:
            TypeError, ValueError: naming the point and the parameter at fault.

        >>> Space({"x": (-1.0, 1.0)}).as_legal([[0.1]])
        [{'x': 0.1}]
        """
        return self._points(self._mapped(name, points, lambda p, value: p.as_legal(value)))

    def from_unit(self, unit: ArrayLike) -> Points:
        """Maps points of the unit cube to the nearest legal points.

        Args:
            unit: coordinates, shape (n, D) or (D,), clipped to [0, 1].

        Returns:
            n dicts by name, or an array if the space is a box.

        Raises:
            ValueError: for another shape, or NaN.
        """
        coordinates = np.atleast_2d(self._coordinates(unit))
        if coordinates.ndim != 2:
            raise ValueError(f"unit must have shape (n, D) or (D,), got {coordinates.shape}")
        if self.constraints:
            coordinates = self.snap(coordinates)
        rows = [
            [parameter.from_unit(u) for parameter, u in zip(self.parameters, row, strict=True)]
            for row in coordinates.tolist()
        ]
        return self._points(rows)

    def rounded(self, points: Any, *, taken: Any = ()) -> Points:
        """Points with few digits.

        A number gets the fewest digits for which its coordinate changes by at most half of
        `RESOLUTION`. It gets more digits if the point would break a constraint or equal a taken
        one.

        Args:
            points: as in `to_unit`.
            taken: points that the rounded ones must differ from, in the same format.

        Returns:
            n legal dicts by name, or an array if the space is a box.

        Raises:
            TypeError, ValueError: naming the point and the parameter at fault.

        >>> Space({"t": (20.0, 80.0), "k": (1e-4, 1.0, "log")}).rounded([[45.380417, 1 / 3]])
        [{'t': 45.38, 'k': 0.3333}]
        """
        exact = self._mapped("points", points, lambda p, value: p.as_legal(value))
        used = {tuple(row) for row in self.to_unit(taken, name="taken").tolist()}
        found = []
        for row in exact:
            found.append(next(self._shorter(row, used), row))
            used.update(map(tuple, self.to_unit([found[-1]]).tolist()))
        return self._points(found)

    def _shorter(self, row: list[Any], used: set[tuple[float, ...]]) -> Iterator[list[Any]]:
        """Legal unused rows with fewer digits, the shortest first."""
        for resolution in (RESOLUTION, RESOLUTION / 10.0, RESOLUTION / 100.0):
            pairs = zip(self.parameters, row, strict=True)
            short = [parameter.rounded(value, resolution) for parameter, value in pairs]
            with contextlib.suppress(ValueError):  # a constraint is broken
                (coordinates,) = self.to_unit([short]).tolist()
                if tuple(coordinates) not in used:
                    yield short

    def same(self, unit: ArrayLike, others: ArrayLike) -> Bool[np.ndarray, " m"]:
        """Which points equal a given point up to rounding.

        Args:
            unit: a point of the unit cube, shape (D,).
            others: points of the unit cube, shape (m, D).

        >>> Space({"x": (0.0, 1.0)}).same([0.12345], [[0.1234], [0.12]])
        array([ True, False])
        """
        slack = [RESOLUTION / 2 + ROUND_OFF if level is None else 0.0 for level in self.levels]
        distances: Float[np.ndarray, "m D"] = np.abs(np.asarray(others) - np.asarray(unit))
        return np.logical_and.reduce(distances <= np.array(slack), axis=1)

    def _points(self, rows: list[list[Any]]) -> Points:
        """Rows of values as points."""
        if self.is_box:
            return np.array(rows).reshape(-1, self.num_dims)
        points = [self.fixed | dict(zip(self.names, row, strict=True)) for row in rows]
        return [{name: point[name] for name in self.columns} for point in points]

    def by_name(self, point: Any) -> dict[str, Any]:
        """One point of `from_unit` as a dict, even for a box."""
        if isinstance(point, dict):
            return point
        return dict(zip(self.names, point.tolist(), strict=True))

    def snap(self, unit: ArrayLike) -> Float[np.ndarray, "*m D"]:
        """Moves points of the unit cube to the nearest legal ones.

        Args:
            unit: coordinates, shape (..., D).

        Returns:
            Reals clipped to [0, 1], other parameters at their nearest level. A point that breaks
            constraints moves towards the center of the allowed part until it breaks none.

        Raises:
            ValueError: for another shape, or NaN.

        >>> from structbo import Integer
        >>> Space([(0, 1), Integer(0, 2)]).snap([1.1, 0.6])
        array([1. , 0.5])
        """
        snapped = np.clip(self._coordinates(unit), 0.0, 1.0)
        for d, levels in enumerate(self.levels):
            if levels is not None:
                snapped[..., d] = levels[nearest_level(levels, snapped[..., d])]
        if self.half_spaces is None:
            return snapped
        with double_precision():
            rows = snapped.reshape(-1, self.num_dims)
            return np.asarray(pulled_in(self.half_spaces, rows)).reshape(snapped.shape)

    def __repr__(self) -> str:
        if self.is_box and not self.constraints:
            return f"Space.box({[[p.low, p.high] for p in self.parameters if isinstance(p, Real)]})"
        lines = [f"    {name!r}: {made!r},\n" for name, made in self._spec]
        constraints = f", constraints={list(self.constraints)!r}" if self.constraints else ""
        return "Space({\n" + "".join(lines) + "}" + constraints + ")"

    def _coordinates(self, unit: ArrayLike) -> Float[np.ndarray, "*m D"]:
        coordinates = np.asarray(unit, dtype=np.float64)
        if coordinates.ndim == 0 or coordinates.shape[-1] != self.num_dims:
            raise ValueError(
                f"unit must have shape (..., {self.num_dims}), got {coordinates.shape}"
            )
        if np.isnan(coordinates).any():
            raise ValueError("unit must not hold NaN")
        return coordinates

    def _mapped(
        self, name: str, points: Any, function: Callable[[Parameter, Any], Any]
    ) -> list[list[Any]]:
        """The results of a function applied to every value of points."""
        slacks = [slack_of(constraint, self._reals) for constraint in self.constraints]
        mapped = []
        for where, row in rows_of(points, self.names, self.fixed, name):
            values = list(row)
            for d, parameter in enumerate(self.parameters):
                try:
                    row[d] = function(parameter, values[d])
                except (TypeError, ValueError) as error:
                    raise type(error)(f"{where}[{self.names[d]!r}]: {error}") from None
            for constraint, slack in zip(self.constraints, slacks, strict=True):
                constraint.check(where, dict(zip(self.names, values, strict=True)), slack)
            mapped.append(row)
        return mapped


SpaceLike: TypeAlias = Space | Mapping[str, Any] | Sequence[Any] | NDArray[Any]
"""A space, or what `Space` accepts."""


def _named(spec: Any) -> dict[str, Any]:
    """The argument of `Space`, as parameters or their short forms by name."""
    if isinstance(spec, Space):
        return spec.spec
    if isinstance(spec, str) or not isinstance(spec, Mapping | Sequence):
        raise TypeError(f"spec must be a dict, a list, an array (D, 2) or a Space, got {spec!r}")
    named = dict(spec) if isinstance(spec, Mapping) else {f"x{d}": s for d, s in enumerate(spec)}
    if not named:
        raise ValueError("spec must hold at least one parameter, got none")
    for name in named:
        if not isinstance(name, str) or not name:
            raise TypeError(f"spec must have non-empty strings as names, got {name!r}")
    return named


def _warn_of_integers(named: Mapping[str, Any]) -> None:
    """Warns about integer bounds, which may be meant for an `Integer`, except for (0, 1)."""
    for name, spec in named.items():
        match spec:
            case (low, high) | (low, high, "log") if is_integer(low) and is_integer(high):
                if (low, high) != (0, 1):
                    warnings.warn(
                        f"parameter {name!r} takes all real numbers from {low} to {high}: write "
                        f"Integer({low}, {high}) for whole numbers, or ({low}.0, {high}.0) for "
                        "real ones.",
                        stacklevel=3,
                    )


def _has_one_value(parameter: Parameter) -> bool:
    return isinstance(parameter, Discrete) and len(parameter.values) == 1


def _parameter(name: str, spec: Any) -> Parameter | Fixed:
    bounds = tuple(map(plain, spec)) if isinstance(spec, tuple | list) else spec
    try:
        match bounds:
            case Parameter() | Fixed():
                return bounds
            case (numbers.Real() | Decimal() as low, numbers.Real() | Decimal() as high):
                return Real(low, high)  # type: ignore[arg-type]
            case (numbers.Real() | Decimal() as low, numbers.Real() | Decimal() as high, "log"):
                return Real(low, high, log=True)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise type(error)(f"parameter {name!r}: {error}") from None
    raise TypeError(
        f"parameter {name!r} must be (low, high), (low, high, 'log'), Real, Integer, Ordinal, "
        f"Categorical or Fixed, got {spec!r}; for choices write Categorical([...])"
    )
