"""A table that prints all columns, without the ellipsis of pandas."""

import pandas as pd


class WideTable(pd.DataFrame):
    """A DataFrame that prints every column with three digits; values keep their precision.

    A ``note`` in its `attrs` is printed below the table.

    Example:
        >>> table = WideTable({f"column_{k}": [1 / 3, 1234.5] for k in range(3)})
        >>> table
           column_0  column_1  column_2
        0     0.333     0.333     0.333
        1      1234      1234      1234
    """

    @property
    def _constructor(self) -> "type[WideTable]":
        """The class of slices and copies of the table."""
        return WideTable

    def __repr__(self) -> str:
        with pd.option_context(
            "display.max_columns", None, "display.width", None, "display.float_format", _digits
        ):
            note = self.attrs.get("note")
            return super().__repr__() + (f"\n{note}" if note else "")


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}"
