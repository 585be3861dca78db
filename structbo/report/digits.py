"""Numbers as texts: one number of decimals for a whole column."""

import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

MAX_DECIMALS = 6
LARGE = 1e6
"""Columns with numbers of at least this size have powers of ten."""


def column_texts(values: Iterable[float], digits: int = 4) -> list[str]:
    """Texts of numbers, all with the same number of decimals, so that a column is aligned.

    Args:
        values: of one column.
        digits: significant digits of its largest number; zeros that all numbers end with are left
            out. Numbers of one sign have as many significant digits each, where a fixed number of
            decimals would hide small ones.

    Example:
        >>> column_texts([87.3, 67.0, -0.5]), column_texts([81.40898, 9.428, 120.0])
        (['87.3', '67.0', '-0.5'], ['81.4', '9.4', '120.0'])
        >>> column_texts([0.1, 3.2e-5], digits=3)
        ['0.1', '3.2e-05']
    """
    given = list(values)
    sizes = [abs(value) for value in given if math.isfinite(value) and value != 0.0]
    if not sizes:
        return [f"{value:g}" for value in given]
    decimals = max(0, digits - 1 - math.floor(math.log10(max(sizes))))
    is_one_sign = len({value > 0.0 for value in given}) == 1
    hides_small = is_one_sign and min(sizes) < 10.0 ** (1 - decimals)
    if hides_small or decimals > MAX_DECIMALS or max(sizes) >= LARGE:
        return [f"{value:.{digits}g}" for value in given]
    while decimals and all(round(v, decimals - 1) == round(v, decimals) for v in given):
        decimals -= 1
    return [f"{value:.{decimals}f}" for value in given]


def parameter_texts(values: Sequence[Any]) -> list[str]:
    """Texts of values of one parameter: numbers as a column, anything else as Python writes it.

    Example:
        >>> parameter_texts([0.5, 24.0]), parameter_texts([8, 16]), parameter_texts(["relu", None])
        (['0.5', '24.0'], ['8', '16'], ['relu', 'None'])
    """
    if all(isinstance(value, numbers.Integral) or not _is_number(value) for value in values):
        return [str(value) for value in values]
    if all(_is_number(value) for value in values):
        return column_texts([float(value) for value in values])
    return [f"{value:.4g}" if isinstance(value, float) else str(value) for value in values]


def percent(share: float) -> str:
    """A share in percent.

    Example:
        >>> percent(0.905)
        '90\\xa0%'
    """
    return f"{100.0 * share:.0f}\N{NO-BREAK SPACE}%"


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
