"""What only tables of pandas have: names of columns, and an index by which rows belong together."""

from typing import Any


def column_names(table: Any) -> tuple[str, ...]:
    """The names of the columns of a table, none if it has none or they are not strings."""
    names = tuple(getattr(table, "columns", ()))
    return names if all(isinstance(name, str) for name in names) else ()


def in_order_of(X: Any, y: Any) -> Any:
    """Values in the order of the points that they belong to by their index.

    Args:
        X: points; if they have no index, values are taken in their own order.
        y: their values; if they have no index, they are taken in their own order.

    Raises:
        ValueError: if both have an index, and a row of one has none or several in the other.

    Example:
        >>> import pandas as pd
        >>> X, y = pd.DataFrame({"a": [0.1, 0.2]}), pd.Series([2.0, 1.0], index=[1, 0])
        >>> in_order_of(X, y).tolist()
        [1.0, 2.0]
    """
    if not all(hasattr(table, "index") and hasattr(table, "reindex") for table in (X, y)):
        return y
    if X.index.equals(y.index):
        return y
    for name, one, other in (("X", X.index, y.index), ("y", y.index, X.index)):
        if not one.is_unique:
            label, fault = one[one.duplicated()][0], f"is twice in that of {name}"
        elif not one.isin(other).all():
            label, fault = one[~one.isin(other)][0], f"is only in that of {name}"
        else:
            continue
        raise ValueError(
            f"X and y must have the same index, as rows are matched by it: {label!r} {fault}; pass "
            "y.to_numpy() to match rows by their order."
        )
    return y.loc[X.index]
