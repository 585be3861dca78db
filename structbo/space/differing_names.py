"""The texts of messages about names that differ from the required ones."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from structbo.space.long_lists import first_of
from structbo.space.spelling import did_you_mean


def faults_of(
    given: Collection[Any], required: Collection[str], optional: Iterable[str] = ()
) -> list[str]:
    """Texts of the names that are unknown, missing or repeated, whatever their order.

    Example:
        >>> faults_of(["rat", "size", "size"], ["rate", "size"])
        ["unknown 'rat' (did you mean 'rate'?)", "missing 'rate'", "repeated 'size'"]
    """
    counts, known = Counter(given), dict.fromkeys([*required, *optional])
    return [
        *(f"unknown {name!r}{did_you_mean(name, known)}" for name in given if name not in known),
        *(f"missing {name!r}" for name in required if name not in counts),
        *(f"repeated {name!r}" for name in known if counts[name] > 1),
    ]


def difference(given: Sequence[str], required: Sequence[str]) -> str:
    """How names differ from the required ones, in names or in their order.

    Example:
        >>> difference(["size", "rate"], ["rate", "size"])
        "'size' stands where 'rate' must"
    """
    faults = faults_of(given, required)
    if faults:
        return first_of(faults)
    swapped = next(pair for pair in zip(given, required, strict=True) if pair[0] != pair[1])
    return "{!r} stands where {!r} must".format(*swapped)
