"""Numbers in table cells, with decimal points or commas."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from structbo.data import as_float

SIGN = "[-+\N{MINUS SIGN}]?"
BETWEEN_THOUSANDS = ".,'\N{RIGHT SINGLE QUOTATION MARK}\\s"
DECIMAL_COMMA = re.compile(rf"{SIGN}(\d+,\d*|,\d+)(e{SIGN}\d+)?", re.IGNORECASE)
GROUPED = re.compile(
    rf"{SIGN}[1-9]\d{{0,2}}(?P<sign>[{BETWEEN_THOUSANDS}])\d{{3}}((?P=sign)\d{{3}})*([.,]\d*)?"
)
"""A number with separators between thousands."""


class Numerals(NamedTuple):
    """The numbers of a table, from which its decimal sign is inferred.

    Args:
        commas: texts that may have a decimal comma.
        points: texts with a decimal point.
        is_point_usual: whether decimal points are expected.
    """

    commas: Sequence[str]
    points: Sequence[str]
    is_point_usual: bool

    @classmethod
    def of(cls, texts: Iterable[str], *, is_point_usual: bool = True) -> "Numerals":
        """Finds the numbers among stripped texts."""
        given = set(texts)
        commas = sorted(text for text in given if DECIMAL_COMMA.fullmatch(text))
        points = sorted(text for text in given if "." in text and as_float(text) is not None)
        return cls(commas, points, is_point_usual)

    def number(self, text: str) -> float:
        """The value of a text.

        Raises:
            ValueError: if it is not a number, or ambiguous; the message continues the name of its
                cell.

        Example:
            >>> Numerals.of(["0,5", "1,234"]).number("1,234")
            1.234
        """
        found = as_float(text)
        if found is not None:
            if not self.is_point_usual and self._is_ambiguous(text, self.points):
                raise ValueError(_AMBIGUOUS.format(text=text))
        elif text in self.commas and not self.points:
            if self._is_ambiguous(text, self.commas):
                raise ValueError(_AMBIGUOUS.format(text=text))
            found = as_float(text.replace(",", "."))
        if found is None:
            raise ValueError(self._fault(text))
        return found

    @staticmethod
    def _is_ambiguous(text: str, alike: Sequence[str]) -> bool:
        """Whether the sign in this and all similar numbers may separate thousands."""
        return text in alike and all(GROUPED.fullmatch(other) for other in alike)

    def _fault(self, text: str) -> str:
        if not text:
            return "is empty"
        if "%" in text:
            return f"has a percent sign, {text!r}: format the column as plain numbers"
        if text.startswith("#"):
            return f"has a spreadsheet error, {text!r}: correct or empty the cell"
        if text in self.commas:
            return (
                f"has a comma, {text!r}, and other numbers have points, such as "
                f"{self.points[0]!r}: use one decimal sign and no thousands separator"
            )
        if GROUPED.fullmatch(text):
            return f"has a thousands separator, {text!r}: format the column without it"
        return f"must be a number, got {text!r}"


_AMBIGUOUS = (
    "is ambiguous, {text!r}: decimals or thousands? Format the column with more decimals and no "
    "thousands separator"
)


def readings(text: str) -> list[float]:
    """All possible values of a text.

    Example:
        >>> readings("1,000"), readings("0.5"), readings("relu")
        ([1.0, 1000.0], [0.5], [])
    """
    found = [as_float(text)]
    if DECIMAL_COMMA.fullmatch(text):
        found.append(as_float(text.replace(",", ".")))
    if (grouped := GROUPED.fullmatch(text)) and not grouped[3]:
        found.append(as_float(re.sub(f"[{BETWEEN_THOUSANDS}]", "", text)))
    return [number for number in found if number is not None]
