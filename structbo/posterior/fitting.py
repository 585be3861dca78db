"""Posterior draws for inference rather than search."""

from collections.abc import Sequence
from typing import Any

import jax
from numpy.typing import ArrayLike
from numpyro.infer.mcmc import MCMCKernel

from structbo.data import (
    Data,
    Standardized,
    Transform,
    checked_data,
    checked_errors,
    column_names,
    in_order_of,
)
from structbo.draws import check_known_noise, check_run, run_chains, with_categories
from structbo.models import Model
from structbo.models.foundation.arguments import checked_count, checked_model, checked_seed
from structbo.models.foundation.compilation import return_freed_memory
from structbo.models.foundation.device import AUTO, checked_device, on_device
from structbo.models.foundation.precision import double_precision
from structbo.posterior.convergence import warn_unless_converged
from structbo.posterior.draws import UNIT_CUBE, checked_names
from structbo.posterior.posterior import Posterior
from structbo.posterior.units import Units
from structbo.samplers import Arguments, SamplerFactory, default_sampler
from structbo.space import Space, SpaceLike
from structbo.space.long_lists import first_names

ROWS_AT_ONCE = 32
"""Observations are padded to a multiple of this. A search has fewer sizes, since it compiles each,
but a fit takes many more sweeps, whose cost is at least quadratic in the number of rows."""


def fit(
    model: Model,
    X: Any,
    y: ArrayLike,
    *,
    space: SpaceLike | None = None,
    sem: ArrayLike | None = None,
    num_warmup: int = 200,
    num_samples: int = 250,
    num_chains: int = 4,
    sampler: MCMCKernel | SamplerFactory = default_sampler,
    seed: int = 0,
    show_progress_bar: bool = True,
    names: Sequence[str] = (),
    device: str = AUTO,
) -> Posterior:
    """Draws from the posterior of a model with a NumPyro kernel, for inference rather than search.

    With a space, X is a table in the units of its parameters, y is standardized for the model, and
    predictions and effects of the posterior are in the units of both. Without a space, X is in the
    unit cube and y is not scaled: the priors of `AdditiveGP` expect standardized observations. The
    model gets the observations with padding, up to a multiple of 32 rows, and a mask, so fits of
    similar size share their compiled programs. Above 1,024 observations the likelihood is a lower
    bound, see `MarginalGP`.

    Args:
        model: a NumPyro model, ``model(X, y=None, mask=None)``.
        X: points of the unit cube, shape (n, D), an array or a DataFrame; with a space, points as a
            DataFrame, a list of dicts or an array, also with choices.
        y: observations, shape (n,). Rows of pandas objects X, y and sem are matched by index.
        space: the parameters of X, or what `Space` accepts. An `AdditiveGP` without categorical
            dimensions gets the categories of the space.
        sem: known standard errors of the observations, shape (n,), for example of means over
            repeated evaluations; 0 or NaN if one is unknown. Their squares add to the noise of the
            model, which must pass its argument ``known_noise`` to `MarginalGP`, as `AdditiveGP`
            does.
        num_warmup: steps of each chain that adapt the sampler and are discarded.
        num_samples: draws of each chain.
        num_chains: how many chains to run, in parallel up to the number of processors; an
            accelerator runs all at once.
        sampler: a NumPyro kernel, or a function from the model to one, such as
            `numpyro.infer.NUTS`.
        seed: seed of all chains.
        show_progress_bar: whether to show progress, once it has taken two seconds.
        names: names of the D dimensions; by default the names of the space, the columns of a
            DataFrame, or x0, x1, ...
        device: where the chains run: "cpu", or another kind of devices that JAX has, such as "gpu".
            With "auto", many chains or a large table run on an accelerator if there is one; the
            environment variable STRUCTBO_DEVICE replaces "auto".

    Returns:
        The draws, with the sampler's statistics.

    Raises:
        ValueError: if shapes or indices do not match, X leaves the unit cube or the space, a value
            is not finite, a number of steps or chains is out of range, or names do not fit.
        TypeError: if the model is not a NumPyro model, its structure returns no decomposition, or
            standard errors are given and it takes no known noise.

    Warns:
        ConvergenceWarning: if R-hat of a number in `Posterior.summary` is above 1.05, its effective
            sample size is below 50, or the Monte Carlo error of a probability is above .07.
    """
    checked_model(model)
    columns, y, sem = column_names(X), in_order_of(X, y), in_order_of(X, sem, "sem")
    if space is not None:
        space = Space(space)
        if names:
            raise ValueError(
                f"names come from the space, {first_names(space.names)}: leave out names."
            )
        columns, X = space.names, space.to_unit(X, name="X")
        model = with_categories(model, space)
    X, y = checked_data(X, y)
    errors = checked_errors(sem, y)
    if y.size == 0:
        raise ValueError("y must have at least one value; Posterior.prior draws without data.")
    names, units = checked_names(names, X.shape[1], columns), UNIT_CUBE
    if space is not None:
        y, location, scale = Standardized.of(y)
        errors = None if errors is None else errors / scale
        units = Units(space, Transform(1.0, location, scale))
    check_run(model, X.shape[1])
    if errors is not None:
        check_known_noise(model, X.shape[1])
    known, size = None if errors is None else errors**2, -(-len(y) // ROWS_AT_ONCE) * ROWS_AT_ONCE
    num_chains = checked_count("num_chains", num_chains)
    where = on_device(checked_device(device), len(y), X.shape[1], num_chains)
    with where, double_precision():
        draws, statistics = run_chains(
            model,
            sampler,
            Arguments(*Data.padded(X, y, known, size=size).arguments),
            jax.random.key(checked_seed(seed)),
            num_warmup=checked_count("num_warmup", num_warmup, least=0),
            num_samples=checked_count("num_samples", num_samples),
            num_chains=num_chains,
            show_progress_bar=show_progress_bar,
        )
    posterior = Posterior(model, X, y, draws, statistics, names, units, errors)
    return_freed_memory()
    warn_unless_converged(posterior)
    return posterior
