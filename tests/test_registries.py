"""The registries of the tests include all shipped classes."""

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest
from parameter_registry import PARAMETERS
from structure_registry import STRUCTURES

from structbo import acquisition, batches, maximizers, models, space
from structbo.acquisition import CRITERIA, UCB, Criterion, as_criterion
from structbo.batches import BATCH_STRATEGIES, BatchProblem, DPPSample, as_strategy
from structbo.maximizers import MAXIMIZERS, Direct, Maximizer, as_maximizer
from structbo.models import KERNELS, Decomposition, Kernel
from structbo.space import Parameter


def is_concrete(value: type) -> bool:
    return not (inspect.isabstract(value) or getattr(value, "_is_protocol", False))


def is_a(kind: type) -> Callable[[type], bool]:
    return lambda value: issubclass(value, kind)


def hints(value: type) -> dict[str, Any]:
    """The type hints of calls of an instance."""
    call = value.__dict__.get("__call__")
    return {} if call is None else get_type_hints(call)


def is_structure(value: type) -> bool:
    return hints(value).get("return") is Decomposition


def is_strategy(value: type) -> bool:
    return hints(value).get("problem") is BatchProblem and "q" in hints(value)


ROWS = {
    "structures": (models, is_structure, {type(make()) for make in STRUCTURES.values()}),
    "kernels": (models, is_a(Kernel), {*map(type, KERNELS.values())}),
    "criteria": (acquisition, is_a(Criterion), {*map(type, CRITERIA.values())}),
    "batch strategies": (batches, is_strategy, {*map(type, BATCH_STRATEGIES.values())}),
    "maximizers": (maximizers, is_a(Maximizer), {*map(type, MAXIMIZERS.values())}),
    "parameter types": (space, is_a(Parameter), set(PARAMETERS)),
}


@pytest.mark.parametrize("kind", ROWS)
def test_everything_that_ships_has_a_row(kind: str):
    package, is_of_the_kind, enrolled = ROWS[kind]
    shipped = {
        value
        for value in vars(package).values()
        if inspect.isclass(value) and is_of_the_kind(value) and is_concrete(value)
    }
    assert shipped == enrolled


def test_every_kernel_with_a_name_of_its_own_has_a_row():
    named = {value for value in vars(models).values() if isinstance(value, Kernel)}
    assert len(named) > 2 and named <= set(KERNELS.values())


@pytest.mark.parametrize(
    ("registry", "found", "name", "new"),
    [
        (CRITERIA, as_criterion, "ucb", UCB(9.0)),
        (MAXIMIZERS, as_maximizer, "direct", Direct(max_evaluations=3)),
        (BATCH_STRATEGIES, as_strategy, "dpp_sample", DPPSample(accuracy=0.5)),
    ],
    ids=["criteria", "maximizers", "batch strategies"],
)
def test_an_entry_that_replaces_another_counts_from_then_on(
    registry, found, name, new, monkeypatch
):
    """Names become instances before compilation, and instances are keys of programs."""
    before = found(name)
    monkeypatch.setitem(registry, name, new)
    assert found(name) == new != before
