"""Posterior draws for inference rather than search, with NumPyro's own MCMC."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from numpyro.infer import MCMC
from numpyro.infer.mcmc import MCMCKernel

from structbo.data import checked_data
from structbo.models import Model
from structbo.models.precision import double_precision
from structbo.posterior.posterior import Posterior
from structbo.samplers import Sampler, default_sampler, kernel_of
from structbo.samplers.statistics import statistics_of


def fit(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    *,
    num_warmup: int = 200,
    num_samples: int = 250,
    num_chains: int = 2,
    sampler: MCMCKernel | Sampler = default_sampler,
    seed: int = 0,
    show_progress_bar: bool = True,
    names: Sequence[str] = (),
) -> Posterior:
    """Draws from the posterior of a model with NumPyro's MCMC, for inference rather than search.

    Nothing is scaled: the priors of `AdditiveGP` expect standardized observations, so standardize
    y first if it is not. Nothing is padded either: every call compiles anew anyway, and fewer rows
    are faster.

    Args:
        model: a NumPyro model, ``model(X, y=None, mask=None)``.
        X: points of the unit cube, shape (n, D).
        y: observations, shape (n,).
        num_warmup: steps of each chain that adapt the sampler and are thrown away.
        num_samples: draws of each chain.
        num_chains: how many chains to run, one after the other.
        sampler: a kernel for `numpyro.infer.MCMC`, or a function from the model to one, such as
            `numpyro.infer.NUTS`.
        seed: for all chains.
        show_progress_bar: whether to show progress.
        names: of the D dimensions; by default x0, x1, ...

    Returns:
        The draws, with the sampler's statistics.

    Raises:
        ValueError: if shapes do not match, X leaves the unit cube, or a value is not finite.
    """
    X, y = checked_data(X, y)
    if y.size == 0:
        raise ValueError("y must have at least one value; Posterior.prior draws without data.")
    kernel = sampler if isinstance(sampler, MCMCKernel) else kernel_of(sampler, model, X.shape[1])
    statistics = statistics_of(kernel)
    with double_precision():
        mcmc = MCMC(
            kernel,
            num_warmup=num_warmup,
            num_samples=num_samples,
            num_chains=num_chains,
            chain_method="sequential",
            progress_bar=show_progress_bar,
        )
        fields = tuple(statistics.values())
        mcmc.run(jax.random.key(seed), jnp.asarray(X), jnp.asarray(y), extra_fields=fields)
        draws = jax.tree.map(np.asarray, mcmc.get_samples(group_by_chain=True))
        extra = mcmc.get_extra_fields(group_by_chain=True)
        stats = {name: np.asarray(extra[path]) for name, path in statistics.items()}
    return Posterior(model, X, y, draws, stats, tuple(names))
