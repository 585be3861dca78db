"""Runs that are kept in a storage: the hook of the room that knows storages.

Only `structbo.integrations` knows them, and it builds on this room; so it announces itself here.
"""

from collections.abc import Callable
from typing import Any

from structbo.data import Direction
from structbo.optimizer.optimizer import Optimizer
from structbo.optimizer.settings import Settings
from structbo.space import SpaceLike

Opener = Callable[[Any, str | None, bool, SpaceLike, Direction, Settings], Optimizer]
"""From storage, name, whether a run may exist, space, direction and settings to an optimizer."""

_openers: list[Opener] = []


def opens_storages(opener: Opener) -> Opener:
    """Makes a function the one that opens storages."""
    _openers[:] = [opener]
    return opener


def opened(
    storage: Any,
    study_name: str | None,
    load_if_exists: bool,
    space: SpaceLike,
    direction: Direction,
    settings: Settings,
) -> Optimizer:
    """An optimizer whose trials are in a storage, a new one or one to continue."""
    (opener,) = _openers
    return opener(storage, study_name, load_if_exists, space, direction, settings)
