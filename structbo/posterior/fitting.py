"""Posterior draws for inference rather than search."""

from collections.abc import Sequence

import jax
from numpy.typing import ArrayLike
from numpyro.infer.mcmc import MCMCKernel

from structbo.data import (
    checked_data,
    checked_errors,
    column_names,
    inducing_first,
    known_noise_argument,
)
from structbo.draws import check_known_noise, check_run, run_chains
from structbo.models import Model
from structbo.models.foundation.arguments import check_model, checked_count, checked_seed
from structbo.models.foundation.compilation import return_freed_memory
from structbo.models.foundation.precision import double_precision
from structbo.posterior.convergence import warn_unless_converged
from structbo.posterior.draws import checked_names
from structbo.posterior.posterior import Posterior
from structbo.samplers import Sampler, default_sampler


def fit(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    *,
    sem: ArrayLike | None = None,
    num_warmup: int = 200,
    num_samples: int = 250,
    num_chains: int = 4,
    sampler: MCMCKernel | Sampler = default_sampler,
    seed: int = 0,
    show_progress_bar: bool = True,
    names: Sequence[str] = (),
) -> Posterior:
    """Draws from the posterior of a model with a NumPyro kernel, for inference rather than search.

    Nothing is scaled: the priors of `AdditiveGP` expect standardized observations, so standardize
    y first if it is not. Predictions and effects of the posterior are then on that scale, too,
    unless it is told other units, see `Posterior`. Nothing is padded either, as fewer rows are
    faster: an equal model and sampler compile once for every shape of X. With more than 1,024
    observations the likelihood is a bound of the exact one, see `MarginalGP`.

    Args:
        model: a NumPyro model, ``model(X, y=None, mask=None)``.
        X: points of the unit cube, shape (n, D), an array or a DataFrame.
        y: observations, shape (n,). Where X and y are tables of pandas, rows belong together by
            their index.
        sem: standard errors of the observations, shape (n,), where they are known, as of means
            over repeated evaluations. Their squares add to the noise of the model, which must take
            the argument ``known_noise`` and hand it to `MarginalGP`, as `AdditiveGP` does.
        num_warmup: steps of each chain that adapt the sampler and are thrown away.
        num_samples: draws of each chain.
        num_chains: how many chains to run, as many at once as there are processors.
        sampler: a NumPyro kernel, or a function from the model to one, such as
            `numpyro.infer.NUTS`.
        seed: for all chains.
        show_progress_bar: whether to show progress, once it has taken two seconds.
        names: of the D dimensions; by default the columns of a DataFrame, or x0, x1, ...

    Returns:
        The draws, with the sampler's statistics.

    Raises:
        ValueError: if shapes or indices do not match, X leaves the unit cube, a value is not
            finite, a number of steps or chains is out of range, or names do not fit.
        TypeError: if the model is none of NumPyro, its structure returns no decomposition, or it
            does not take known noise where there are standard errors.

    Warns:
        ConvergenceWarning: if R-hat of anything in `Posterior.summary` is above 1.05, or its
            effective sample size below 50.
    """
    check_model(model)
    columns = column_names(X)
    X, y = checked_data(X, y)
    errors = checked_errors(sem, y)
    if y.size == 0:
        raise ValueError("y must have at least one value; Posterior.prior draws without data.")
    names = checked_names(names, X.shape[1], columns)
    check_run(model, X.shape[1])
    if errors is not None:
        check_known_noise(model, X.shape[1])
    with double_precision():
        order = inducing_first(X, y)
        draws, statistics = run_chains(
            model,
            sampler,
            X[order],
            y[order],
            jax.random.key(checked_seed(seed)),
            options=known_noise_argument(None if errors is None else errors[order] ** 2),
            num_warmup=checked_count("num_warmup", num_warmup, least=0),
            num_samples=checked_count("num_samples", num_samples),
            num_chains=checked_count("num_chains", num_chains),
            show_progress_bar=show_progress_bar,
        )
    posterior = Posterior(model, X, y, draws, statistics, names, sem=errors)
    return_freed_memory()
    warn_unless_converged(posterior)
    return posterior
