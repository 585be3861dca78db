"""The texts of lists in messages, which show the first entries of many."""

from collections.abc import Sequence
from typing import Any

MOST_SHOWN = 20
"""Number of entries up to which a text shows all of them."""


def first_of(texts: Sequence[str]) -> str:
    """Entries separated by commas; of many, only the first, and how many there are.

    Example:
        >>> first_of(["'a'", "'b'"])
        "'a', 'b'"
        >>> first_of(["a"] * 300)[-22:]
        'a, a, ... (300 in all)'
    """
    if len(texts) <= MOST_SHOWN:
        return ", ".join(texts)
    return f"{', '.join(texts[:MOST_SHOWN])}, ... ({len(texts)} in all)"


def first_names(names: Sequence[Any]) -> str:
    """Names as a list in brackets; of many, only the first, and how many there are.

    Example:
        >>> first_names(("a", "b"))
        "['a', 'b']"
    """
    return f"[{first_of([repr(name) for name in names])}]"
