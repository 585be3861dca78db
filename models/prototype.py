"""One run of a model with concrete values, to find its sites."""

from typing import Any

import jax
import numpy as np
from numpyro import handlers

from structbo.models.foundation.compilation import remembered
from structbo.models.foundation.precision import double_precision
from structbo.models.foundation.program import Program, one_trace
from structbo.models.foundation.upstream import latent_sample_sites, prototype_trace
from structbo.models.likelihood import Model

SEED = 2**31 - 1
"""Seed of arbitrary values; not 0, the default seed of real runs."""


@remembered
def prior_trace(model: Model, num_dims: int) -> dict[str, Any]:
    """Runs a model on two points, with draws from the priors of its latent sites.

    One compiled program makes the draws. The run itself is not traced, so that values of a
    structure can be checked, and supports of discrete sites enumerated. Equal models share the
    trace, which must not be changed.

    Args:
        model: a NumPyro model, ``model(X, y=None)``.
        num_dims: the number of columns of X.

    Returns:
        The trace.

    Example:
        >>> from structbo.models import AdditiveGP
        >>> [*prior_trace(AdditiveGP(), 3)]
        ['Z', 'lengthscale', 'outputscale', 'noise', 'y']
    """
    points, y = np.full((2, num_dims), 0.5), np.zeros(2)

    def drawn(key: jax.Array) -> dict[str, jax.Array]:
        trace = prototype_trace(model, key, (points, y), None)
        return {name: trace[name]["value"] for name in latent_sample_sites(trace)}

    program: Program[[jax.Array], dict[str, jax.Array]]
    with double_precision(), one_trace:
        program = Program(drawn, made_of=(model, num_dims))
        values = program(jax.random.key(SEED))
        fixed = handlers.seed(handlers.substitute(model, values), SEED)
        trace: dict[str, Any] = handlers.trace(fixed).get_trace(points, y)
    return trace
