"""Spaces for tests: random ones, and one with a parameter of every type."""

from hypothesis import strategies as st
from parameter_registry import PARAMETERS

from structbo import Categorical, Integer, Ordinal, Real, Space


def vary(parameters):
    """Whether one of the parameters has more than one value."""
    return any(isinstance(made, Real) or len(made.values) > 1 for made in parameters)


SPACES = st.lists(st.one_of(PARAMETERS.values()), min_size=1, max_size=4).filter(vary).map(Space)


def mixed_space():
    return Space(
        {
            "lr": (1e-5, 1e-1, "log"),
            "x": (0.0, 1.0),
            "layers": Integer(1, 8),
            "width": Integer(8, 1024, log=True),
            "batch": Ordinal([64, 16, 32]),
            "act": Categorical(["relu", "gelu", None]),
        }
    )


POINT = {"lr": 1e-3, "x": 0.25, "layers": 8, "width": 1024, "batch": 16, "act": None}
