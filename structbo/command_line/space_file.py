"""Search spaces in YAML or JSON files."""

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

from structbo.command_line.text_file import read_text
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
"""Key of the list of constraints, unless a parameter has this name."""
Made = TypeVar("Made")


def read_space(path: Path) -> Space:
    """Reads a search space: a mapping from names to parameters.

    A parameter is a mapping with its ``type``, a key of `TYPES`, and the arguments of the class,
    for example ``{type: real, low: 0.001, high: 1, log: true}``. An optional key ``constraints``
    holds a list of mappings with the arguments of `LinearConstraint`, for example ``[{weights: {a:
    1, b: 1}, high: 1}]``.

    Args:
        path: path of a YAML or JSON file.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is not such a mapping; the message names the faulty part.
    """
    try:
        found = _parsed(read_text(path), is_json=path.suffix == ".json")
    except (json.JSONDecodeError, yaml.YAMLError) as error:
        raise ValueError(
            f"{path} is neither YAML nor JSON: {' '.join(str(error).split())}."
        ) from None
    except _RepeatedKey as error:
        raise ValueError(f"{path} has {error} twice: rename or remove one.") from None
    if not isinstance(found, Mapping) or not found:
        raise ValueError(f"{path} must map names to parameters, got {found!r}.")
    specs = {str(name): spec for name, spec in found.items()}
    if len(specs) < len(found):
        raise ValueError(f"{path} has names that differ by quotes only: {', '.join(specs)}.")
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
        weights = {str(name): weight for name, weight in spec["weights"].items()}
        made.append(_made(one, LinearConstraint, {**spec, "weights": weights}))
    return made


def _made(where: str, kind: type[Made], arguments: Mapping[Any, Any]) -> Made:
    """An instance of a class with arguments from a file."""
    known = inspect.signature(kind).parameters
    for key in arguments:
        if key not in known:
            hint = did_you_mean(key, known)
            raise ValueError(
                f"{where} has an unknown {key!r}{hint}; it may have {', '.join(known)}."
            )
    needed = [name for name, one in known.items() if one.default is one.empty]
    if missing := [name for name in needed if name not in arguments]:
        raise ValueError(f"{where} has no {missing[0]!r}; it must have {', '.join(needed)}.")
    try:
        return kind(**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None


class _RepeatedKey(Exception):
    """A mapping has a key twice."""


def _parsed(text: str, *, is_json: bool) -> Any:
    if is_json:
        return json.loads(text, object_pairs_hook=_mapping)
    return yaml.load(text, _Loader)


def _mapping(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    _check_keys([key for key, _ in pairs])
    return dict(pairs)


def _check_keys(keys: Sequence[Any]) -> None:
    for i, key in enumerate(keys):
        if key in keys[:i]:
            raise _RepeatedKey(repr(key))


class _Loader(yaml.SafeLoader):
    """Reads YAML 1.2: yes, no, on, off and dates are texts, and 1e-5 is a number.

    Texts in a table therefore match the choices in the space file.
    """

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        own = [key for key, _ in node.value if key.tag != MERGE]
        _check_keys([self.construct_object(key, deep=True) for key in own])
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


MERGE = "tag:yaml.org,2002:merge"
RESOLVERS = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    "int": (r"[-+]?(0|[1-9]\d*)", [*"-+0123456789"]),
    "float": (
        r"[-+]?(\.\d+|\d+\.\d*|\d+(?=[eE]))([eE][-+]?\d+)?|[-+]?\.inf|\.nan",
        [*"-+.0123456789"],
    ),
    "merge": ("<<", ["<"]),
}
"""Unquoted texts that YAML 1.2 reads as other values, and their possible first characters."""
_Loader.yaml_implicit_resolvers = {}
for _kind, (_pattern, _first) in RESOLVERS.items():
    _tag = f"tag:yaml.org,2002:{_kind}"
    _Loader.add_implicit_resolver(_tag, re.compile(f"({_pattern})$", re.ASCII), _first)
