"""A table that prints all of its columns, where pandas would leave out those in the middle."""

import pandas as pd


class WideTable(pd.DataFrame):
    """A DataFrame that prints every column, with three digits; its values are as exact as ever.

    A ``note`` among its `attrs` is printed below.

    Example:
        >>> table = WideTable({f"column_{k}": [1 / 3, 1234.5] for k in range(3)})
        >>> table
           column_0  column_1  column_2
        0     0.333     0.333     0.333
        1      1234      1234      1234
    """

    @property
    def _constructor(self) -> "type[WideTable]":
        """What pandas makes of a part of the table."""
        return WideTable

    def __repr__(self) -> str:
        with pd.option_context(
            "display.max_columns", None, "display.width", None, "display.float_format", _digits
        ):
            note = self.attrs.get("note")
            return super().__repr__() + (f"\n{note}" if note else "")


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}"
