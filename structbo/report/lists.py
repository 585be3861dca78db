"""Lists of names in sentences."""

from collections.abc import Sequence


def listed(words: Sequence[str]) -> str:
    """Words as in a sentence.

    Example:
        >>> listed(["a", "b", "c"]), listed(["a"])
        ('a, b and c', 'a')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def some(names: Sequence[str], number: int = 4) -> str:
    """The first names of a list, and how many more there are.

    Example:
        >>> some(["a", "b", "c", "d"], 2)
        'a, b and 2 more'
    """
    rest = len(names) - number
    return listed([*names[:number], f"{rest} more"] if rest > 0 else names)
