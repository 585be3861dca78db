"""The parameter types: a row enrols a type in all tests of common properties."""

from hypothesis import settings
from hypothesis import strategies as st

from structbo.space import Categorical, Integer, Ordinal, Parameter, Real

NUMBERS = st.floats(-1e6, 1e6)
LABELS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.text(max_size=3)
    | st.tuples(st.booleans() | st.integers(0, 2), st.text(max_size=1))
)


@st.composite
def reals(draw):
    log = draw(st.booleans())
    low = draw(st.floats(1e-8, 1e3) if log else NUMBERS)
    factor = draw(st.floats(1.001, 1e6))
    return Real(low, low * factor if log else low + factor, log)


@st.composite
def stepped(draw):
    low = draw(st.integers(-50, 50))
    step = draw(st.sampled_from([0.1, 0.25, 0.3, 7.0]))
    return Real(low, round(low + draw(st.integers(1, 200)) * step, 9), step=step)


@st.composite
def integers(draw):
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -(2**52), 2**52) | st.integers(1, 5))
    step = 1 if log else draw(st.integers(1, 50))
    return Integer(low, low + step * draw(st.integers(0, 300)), log, step)


def choices(kind):
    distinct = st.lists(LABELS, min_size=1, max_size=8, unique_by=repr)
    return distinct.map(kind)


PARAMETERS: dict[type[Parameter], st.SearchStrategy[Parameter]] = {
    Real: reals() | stepped(),
    Integer: integers(),
    Ordinal: choices(Ordinal),
    Categorical: choices(Categorical),
}
"""Random parameters of every type."""
COORDINATES = st.floats(-0.5, 1.5)
"""Coordinates in and slightly outside of the unit interval."""

quick = settings(max_examples=60, deadline=None, derandomize=True)
