"""Search over partitions with maximized hyper-parameters, as a baseline for comparisons.

Every visited partition is fitted by maximum likelihood. The partitions are a Markov chain (Gardner
et al. 2017, "model MCMC") or a random bag (Kandasamy et al. 2015). `fit` instead samples partitions
and hyper-parameters jointly.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Float, Int, Int32, Key
from numpyro.distributions import Distribution

from structbo.draws.evidence import Fit, maximum_likelihood
from structbo.models.foundation.precision import double_precision
from structbo.models.likelihood import Model
from structbo.models.prototype import prior_trace
from structbo.models.supports import Partition, canonical
from structbo.samplers.split_merge import propose
from structbo.samplers.structure_block import sites_with_support

_propose = jax.jit(propose)

ParameterCount = Callable[[Int[np.ndarray, " D"]], int]
"""Maps the labels of a partition to a number of parameters."""


class ModelSearch(NamedTuple):
    """The models that a search visited.

    Args:
        labels: partitions in order; a chain repeats its state after a rejection.
        fits: fits of the partitions, in the same order.
        num_evaluations: number of evaluations of the likelihood, rejected proposals included.
    """

    labels: Int[np.ndarray, "S D"]
    fits: tuple[Fit, ...]
    num_evaluations: int

    @property
    def log_evidence(self) -> Float[np.ndarray, " S"]:
        """The evidence of every model."""
        return np.array([fit.log_evidence for fit in self.fits])

    @property
    def best(self) -> Fit:
        """The model with the largest evidence."""
        return self.fits[int(np.argmax(self.log_evidence))]


def model_mcmc(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    *,
    num_models: int = 50,
    start: ArrayLike | None = None,
    num_parameters: ParameterCount | None = None,
    seed: int = 0,
) -> ModelSearch:
    """A Markov chain over partitions that targets the BIC evidence times the prior.

    The moves are Metropolis-Hastings splits and merges. Every partition is fitted once, and its fit
    is reused when the chain returns to it.

    Args:
        model: a NumPyro model, ``model(X, y=None, mask=None)``, with one site of partitions.
        X: points of the unit cube, shape (n, D).
        y: standardized observations, shape (n,).
        num_models: number of proposals, and length of the chain.
        start: labels of the initial partition, shape (D,); by default one block of all dimensions.
            The chain is a random walk while its density is zero.
        num_parameters: the number of parameters that the BIC counts, a function of labels, such as
            `BlockGP.num_parameters`; by default all free parameters of the model, whose number is
            the same for all partitions.
        seed: seed of the chain.

    Returns:
        The chain without its start.

    References:
        Gardner et al. 2017, sections 4 and 5, with the proposal ratio of `SplitMerge`.
    """
    space = _Partitions(model, np.asarray(X, float), np.asarray(y, float), num_parameters)
    num_dims = space.X.shape[1]
    labels = np.zeros(num_dims, np.int32) if start is None else np.asarray(canonical(start))
    rng, keys = np.random.default_rng(seed), jax.random.split(jax.random.key(seed), num_models)
    visited = []
    for key in keys if num_dims > 1 else ():
        with double_precision():
            proposal, log_ratio = map(np.asarray, _propose(key, jnp.asarray(labels)))
        here = space.log_density(labels)
        log_accept = space.log_density(proposal) - here + log_ratio if np.isfinite(here) else 0.0
        if np.log(rng.random()) < log_accept:
            labels = proposal
        visited.append(labels)
    return space.search(visited or [labels])


def bag_of_models(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    *,
    num_models: int = 50,
    group_size: int | None = None,
    num_parameters: ParameterCount | None = None,
    seed: int = 0,
) -> ModelSearch:
    """Fits random partitions; the result's ``best`` has the largest evidence.

    Args:
        model: a NumPyro model, ``model(X, y=None, mask=None)``, with one site of partitions.
        X: points of the unit cube, shape (n, D).
        y: standardized observations, shape (n,).
        num_models: number of partitions to draw.
        group_size: size of the blocks, except for a smaller last one if it does not divide D; None
            draws from the model's prior.
        num_parameters: the number of parameters that the BIC counts, a function of labels, such as
            `BlockGP.num_parameters`; by default all free parameters of the model, whose number is
            the same for all partitions.
        seed: seed of the partitions.

    Returns:
        The fitted partitions.

    Raises:
        ValueError: if the group size is not at least 1.

    References:
        Kandasamy, Schneider and Poczos 2015, "High dimensional Bayesian optimisation and bandits
        via additive models".
    """
    space = _Partitions(model, np.asarray(X, float), np.asarray(y, float), num_parameters)
    keys = jax.random.split(jax.random.key(seed), num_models)
    with double_precision():
        bag = (
            np.asarray(_drawn(space.prior, keys))
            if group_size is None
            else random_groups(keys, space.X.shape[1], group_size)
        )
    return space.search(list(bag))


@jax.jit
def _drawn(prior: Distribution, keys: Key[Array, " S"]) -> Int[Array, "S D"]:
    return jax.vmap(prior.sample)(keys)


def random_groups(
    keys: Key[Array, " S"], num_dims: int, group_size: int
) -> Int32[np.ndarray, "S D"]:
    """Random partitions into groups of equal size, except for a smaller last one.

    Args:
        keys: JAX random keys.
        num_dims: the number of dimensions D.
        group_size: size of the groups.

    Returns:
        The labels of every partition.

    Raises:
        ValueError: if the group size is not at least 1.

    Example:
        >>> random_groups(jax.random.split(jax.random.key(0), 2), 3, group_size=3).tolist()
        [[0, 0, 0], [0, 0, 0]]
    """
    if group_size < 1:
        raise ValueError(f"group_size must be at least 1, got {group_size}.")
    groups = jnp.arange(num_dims) // group_size
    return np.asarray(canonical(jax.vmap(jax.random.permutation, (0, None))(keys, groups)))


class _Partitions:
    """Partitions under one model and its data, each fitted at most once."""

    def __init__(
        self,
        model: Model,
        X: Float[np.ndarray, "n D"],
        y: Float[np.ndarray, " n"],
        num_parameters: ParameterCount | None,
    ) -> None:
        self.model, self.X, self.y = model, X, y
        self._num_parameters = num_parameters
        self._fits: dict[bytes, Fit] = {}
        trace = prior_trace(model, X.shape[1])
        sites = sites_with_support(Partition)(trace)
        if len(sites) != 1:
            raise ValueError(f"model must have exactly one site of partitions, got {sites}.")
        self.site = sites[0]
        self.prior = trace[self.site]["fn"]

    def fit(self, labels: Int[np.ndarray, " D"]) -> Fit:
        name = np.asarray(labels, np.int32).tobytes()
        if name not in self._fits:
            structure = {self.site: np.asarray(labels, np.int32)}
            fit = maximum_likelihood(self.model, self.X, self.y, structure)
            if self._num_parameters is not None:
                fit = fit._replace(num_parameters=self._num_parameters(labels))
            self._fits[name] = fit
        return self._fits[name]

    def log_density(self, labels: Int[np.ndarray, " D"]) -> float:
        fit = self.fit(labels)
        return fit.log_evidence + fit.log_prior

    def search(self, labels: list[Int[np.ndarray, " D"]]) -> ModelSearch:
        fits = tuple(map(self.fit, labels))
        num_evaluations = sum(fit.num_evaluations for fit in self._fits.values())
        return ModelSearch(np.stack(labels), fits, num_evaluations)
