"""Search spaces in files, as YAML or JSON."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from structbo.space import (
    Categorical,
    Fixed,
    Integer,
    LinearConstraint,
    Ordinal,
    Parameter,
    Real,
    Space,
)
from structbo.space.spelling import did_you_mean

TYPES: dict[str, type[Parameter | Fixed]] = {
    "real": Real,
    "integer": Integer,
    "ordinal": Ordinal,
    "categorical": Categorical,
    "fixed": Fixed,
}
CONSTRAINTS = "constraints"
"""The key of the list of constraints, unless a parameter has this name."""
Made = TypeVar("Made")


def read_space(path: Path) -> Space:
    """Reads a search space: a mapping from names to parameters.

    A parameter is a mapping, too: its ``type``, a key of `TYPES`, and the arguments of that class,
    for example ``{type: real, low: 0.001, high: 1, log: true}``. Beside the parameters there may be
    ``constraints``, a list of mappings with the arguments of `LinearConstraint`, for example
    ``[{weights: {a: 1, b: 1}, high: 1}]``.

    Args:
        path: of a YAML or JSON file.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is no such mapping, naming what is at fault.
    """
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is neither YAML nor JSON: {' '.join(str(error).split())}."
        ) from None
    if not isinstance(found, Mapping) or not found:
        raise ValueError(f"{path} must map names to parameters, got {found!r}.")
    specs = {str(name): spec for name, spec in found.items()}
    listed = [] if _is_parameter(specs.get(CONSTRAINTS)) else specs.pop(CONSTRAINTS, [])
    parameters = {name: _parameter(f"{path}: {name}", spec) for name, spec in specs.items()}
    constraints = _constraints(f"{path}: {CONSTRAINTS}", listed)
    try:
        return Space(parameters, constraints)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def _is_parameter(spec: Any) -> bool:
    return isinstance(spec, Mapping) and "type" in spec


def _parameter(where: str, spec: Any) -> Parameter | Fixed:
    if not _is_parameter(spec):
        raise ValueError(
            f"{where} must have a type and its arguments, such as "
            f"{{type: real, low: 0.001, high: 1, log: true}}, got {spec!r}."
        )
    kind = str(spec["type"])
    if kind not in TYPES:
        raise ValueError(
            f"{where}: type must be one of {', '.join(TYPES)}, got {kind!r}"
            f"{did_you_mean(kind, TYPES)}."
        )
    return _made(where, TYPES[kind], {key: v for key, v in spec.items() if key != "type"})


def _constraints(where: str, specs: Any) -> list[LinearConstraint]:
    example = "{weights: {a: 1, b: 1}, high: 1}"
    if not isinstance(specs, list):
        raise ValueError(f"{where} must be a list, such as [{example}], got {specs!r}.")
    made = []
    for number, spec in enumerate(specs):
        one = f"{where}[{number}]"
        if not isinstance(spec, Mapping) or not isinstance(spec.get("weights"), Mapping):
            raise ValueError(
                f"{one} must have weights and bounds, such as {example}, got {spec!r}."
            )
        weights = {str(name): _number(weight) for name, weight in spec["weights"].items()}
        made.append(_made(one, LinearConstraint, {**spec, "weights": weights}))
    return made


def _made(where: str, kind: type[Made], arguments: Mapping[Any, Any]) -> Made:
    """What a class makes of the arguments in a file."""
    known = inspect.signature(kind).parameters
    for key in arguments:
        if key not in known:
            hint = did_you_mean(key, known)
            raise ValueError(
                f"{where} has an unknown {key!r}{hint}; it may have {', '.join(known)}."
            )
    try:
        return kind(**{key: _number(value) for key, value in arguments.items()})
    except (TypeError, ValueError) as error:
        message = str(error).replace(f"{kind.__name__}.__init__() ", "")
        raise ValueError(f"{where}: {message}") from None


def _number(value: Any) -> Any:
    """A number that YAML takes for a text: it wants 1.0e-5, and people write 1e-5."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
