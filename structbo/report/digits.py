"""Numbers as texts: one number of decimals for a whole column."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from structbo.space import Parameter, Real
from structbo.space.space import RESOLUTION

MAX_DECIMALS = 6
MAX_DIGITS = 12
"""Further digits may be round-off."""
LARGE = 1e6
"""Columns with numbers of at least this size have powers of ten."""


def column_texts(values: Iterable[float], digits: int = 4) -> list[str]:
    """Texts of numbers, all with the same number of decimals, so that a column is aligned.

    Args:
        values: of one column.
        digits: significant digits of its largest number, and of the difference between its largest
            and its smallest number; zeros that all numbers end with are left out. Numbers of one
            sign have as many significant digits each, where a fixed number of decimals would hide
            small ones.

    Example:
        >>> column_texts([87.3, 67.0, -0.5]), column_texts([81.40898, 9.428, 120.0])
        (['87.3', '67.0', '-0.5'], ['81.4', '9.4', '120.0'])
        >>> column_texts([0.1, 3.2e-5], digits=3), column_texts([-1234.5678, -1234.5123])
        (['0.1', '3.2e-05'], ['-1234.5678', '-1234.5123'])
    """
    given = [float(value) for value in values]
    sizes = [abs(value) for value in given if math.isfinite(value) and value != 0.0]
    if not sizes:
        return [f"{value:g}" for value in given]
    finite = [value for value in given if math.isfinite(value)]
    largest, spread = max(sizes), max(finite) - min(finite)
    is_one_sign = len({value > 0.0 for value in given}) == 1
    hides_small = is_one_sign and min(sizes) < 10.0 ** (1 - _decimals(largest, digits))
    if 0.0 < spread < largest:
        digits = min(digits + _exponent(largest) - _exponent(spread), MAX_DIGITS)
    decimals = _decimals(largest, digits)
    if hides_small or decimals > MAX_DECIMALS or largest >= LARGE:
        return [f"{value:.{digits}g}" for value in given]
    while decimals and all(round(v, decimals - 1) == round(v, decimals) for v in given):
        decimals -= 1
    return [f"{value:.{decimals}f}" for value in given]


def parameter_texts(
    parameter: Parameter, values: Sequence[Any], resolution: float = RESOLUTION
) -> list[str]:
    """Texts of values of one parameter: numbers as a column, anything else as Python writes it.

    Args:
        parameter: of the values.
        values: legal values.
        resolution: of numbers, see `Parameter.rounded`; 0 does not round them.

    Example:
        >>> parameter_texts(Real(1549.0, 1551.0), [1550.123456, 1549.8])
        ['1550.1235', '1549.8000']
        >>> parameter_texts(Real(1e-5, 1.0, log=True), [1e-5, 0.25])
        ['1e-05', '0.25']
    """
    short = [parameter.rounded(value, resolution) for value in values]
    texts = [f"{value:.15g}" if isinstance(value, float) else str(value) for value in short]
    is_linear = isinstance(parameter, Real) and not parameter.log
    if not is_linear or any("e" in text for text in texts):
        return texts
    decimals = max(len(text.partition(".")[2]) for text in texts)
    return [f"{value:.{decimals}f}" for value in short]


def percent(share: float) -> str:
    """A share in percent.

    Example:
        >>> percent(0.905)
        '90\\xa0%'
    """
    return f"{100.0 * share:.0f}\N{NO-BREAK SPACE}%"


def _exponent(number: float) -> int:
    """The power of ten of the first digit of a positive number."""
    return math.floor(math.log10(number))


def _decimals(largest: float, digits: int) -> int:
    """The decimals with which the largest number has some significant digits."""
    return max(0, digits - 1 - _exponent(largest))
