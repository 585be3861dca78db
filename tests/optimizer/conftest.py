"""An optimizer that needs no model, and counting what is compiled."""

import logging
import re
from collections.abc import Callable

import jax
import pytest
from short_runs import BOX, MANY

from structbo import Optimizer


@pytest.fixture
def compiled(caplog: pytest.LogCaptureFixture) -> Callable[[Callable[[], object]], list[str]]:
    """Runs something; gives the names of functions that were given to XLA meanwhile."""

    def names(run: Callable[[], object]) -> list[str]:
        caplog.clear()
        with caplog.at_level(logging.WARNING, "jax"), jax.log_compiles(True):
            run()
        pattern = r"Compiling jit\((.*)\) with"
        found = (re.match(pattern, record.message) for record in caplog.records)
        return [match[1] for match in found if match]

    return names


@pytest.fixture
def optimizer() -> Optimizer:
    return Optimizer(BOX, num_initial=MANY)
