"""Search spaces in files, as YAML or JSON."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structbo.space import Categorical, Fixed, Integer, Ordinal, Parameter, Real, Space
from structbo.space.spelling import did_you_mean

TYPES: dict[str, type[Parameter | Fixed]] = {
    "real": Real,
    "integer": Integer,
    "ordinal": Ordinal,
    "categorical": Categorical,
    "fixed": Fixed,
}


def read_space(path: Path) -> Space:
    """Reads a search space: a mapping from names to parameters.

    A parameter is a mapping, too: its ``type``, a key of `TYPES`, and the arguments of that class,
    for example ``{type: real, low: 0.001, high: 1, log: true}``.

    Args:
        path: of a YAML or JSON file.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is no such mapping, naming the parameter that is at fault.
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
    return Space({str(name): _parameter(f"{path}: {name}", spec) for name, spec in found.items()})


def _parameter(where: str, spec: Any) -> Parameter | Fixed:
    if not isinstance(spec, Mapping) or "type" not in spec:
        raise ValueError(
            f"{where} must have a type and its arguments, such as "
            f"{{type: real, low: 0.001, high: 1, log: true}}, got {spec!r}."
        )
    kind, arguments = (
        str(spec["type"]),
        {key: _number(v) for key, v in spec.items() if key != "type"},
    )
    if kind not in TYPES:
        raise ValueError(
            f"{where}: type must be one of {', '.join(TYPES)}, got {kind!r}"
            f"{did_you_mean(kind, TYPES)}."
        )
    try:
        return TYPES[kind](**arguments)
    except (TypeError, ValueError) as error:
        message = str(error).replace(f"{TYPES[kind].__name__}.__init__() ", "")
        raise ValueError(f"{where}: {message}") from None


def _number(value: Any) -> Any:
    """A number that YAML takes for a text: it wants 1.0e-5, and people write 1e-5."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
