"""Parallel tempering: replicas at higher temperatures carry a chain from mode to mode."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array
from numpy.typing import NDArray
from numpyro import handlers
from numpyro.infer.mcmc import MCMCKernel

from structbo.models.foundation.arguments import checked_count, is_integer
from structbo.models.likelihood import Model
from structbo.samplers.conditional import trace_log_density
from structbo.samplers.default import default_sampler
from structbo.samplers.relocation import relocated
from structbo.samplers.sampler import Sampler, kernel_of
from structbo.samplers.statistics import inside

NUM_TEMPERATURES = 6
FIRST_FALL = 0.1
"""By how much the logarithm falls from one to the next, before that is learned."""
MOST_FALL = 2.0
"""Without this, temperatures would rise forever where observations say little."""
TARGET_SWAPS = 0.3
FORGETTING = 0.6
"""The t-th step of a warm-up changes the ladder by t to the power of minus this."""
_KWARG = "_inverse_temperature"


class TemperingState(NamedTuple):
    """State of parallel tempering.

    Args:
        z: values of all latent sites at inverse temperature one.
        replicas: the state of the sampler at every inverse temperature.
        inverse_temperatures: the ladder, shape (K,); its first is one.
        swap_probs: for each pair of neighbors, the probability with which it was last swapped,
            shape (K - 1,).
        step: how many steps were taken.
        rng_key: for the next step.
    """

    z: dict[str, Array]
    replicas: tuple[Any, ...]
    inverse_temperatures: Array
    swap_probs: Array
    step: Array
    rng_key: Array


class ParallelTempering(MCMCKernel):
    """Runs one sampler at several temperatures, whose replicas exchange their places.

    Replica k draws from the prior times the likelihood to the power ``beta_k``. The hotter a
    replica, the flatter its posterior, and the more easily it moves from one structure that
    explains the data to another. After a sweep of all replicas, neighbors are swapped with the
    probability that leaves their joint distribution invariant: even pairs after even steps, odd
    pairs after odd ones. Only the draws at ``beta_1 = 1`` are reported, and these are draws from
    the posterior itself.

    *The ladder* is learned during the warm-up: the temperature above moves closer where a pair is
    swapped in less than three of ten trials, and away where it is in more. The more observations
    there are, the finer it gets. How far up it reaches is then a matter of how many replicas there
    are, and a step costs as many sweeps of the sampler. The last one must move freely between
    structures. `structbo.fit` keeps the ladder as ``inverse_temperature`` and the rates of swaps as
    ``swap_rate``.

    Args:
        model: the NumPyro model. Its observed sites are the likelihood; factors count as prior.
        sampler: from a model to the kernel that is run at every temperature; it must implement
            NumPyro's ``refresh``, as `numpyro.infer.Gibbs`, `HMC` and `NUTS` do.
        inverse_temperatures: how many, to be learned, or the numbers themselves, from one
            downwards.
        num_dims: a number of columns of X that the model accepts, which the sampler is told.

    Raises:
        ValueError: if the inverse temperatures do not fall strictly from one to a positive number,
            or if there is none.

    References:
        Geyer 1991, "Markov chain Monte Carlo maximum likelihood"; Syed et al. 2022,
        "Non-reversible parallel tempering", for the alternation of pairs; Miasojedow, Moulines and
        Vihola 2013, "An adaptive parallel tempering algorithm", for learning the ladder.

    Example:
        >>> from structbo.models import AdditiveGP
        >>> kernel = ParallelTempering(AdditiveGP(), inverse_temperatures=[1.0, 0.5, 0.2])
        >>> type(kernel.sampler).__name__
        'Gibbs'
    """

    def __init__(
        self,
        model: Model,
        sampler: Sampler = default_sampler,
        inverse_temperatures: int | Sequence[float] = NUM_TEMPERATURES,
        *,
        num_dims: int = 2,
    ) -> None:
        self._model = model
        self._is_learned, self._num_warmup = is_integer(inverse_temperatures), 0
        self._first_ladder = _first_ladder(inverse_temperatures)
        self._sampler = kernel_of(sampler, partial(_tempered, model), num_dims)

    @property
    def model(self) -> Model:
        return self._model

    @property
    def sampler(self) -> MCMCKernel:
        """The kernel that is run at every temperature."""
        return self._sampler

    @property
    def statistics(self) -> dict[str, str]:
        """The ladder, the rates of swaps, and the statistics of the sampler at temperature one."""
        own = {"inverse_temperature": "inverse_temperatures", "swap_rate": "swap_probs"}
        return own | inside("replicas.0", self._sampler)

    @property
    def sample_field(self) -> str:
        return "z"

    @property
    def default_fields(self) -> tuple[str, ...]:
        return ("z",)

    def get_diagnostics_str(self, state: TemperingState) -> str:
        inner = self._sampler.get_diagnostics_str(state.replicas[0])
        return f"swap prob={state.swap_probs.mean():.2f} | {inner}"

    def init(
        self,
        rng_key: Array,
        num_warmup: int,
        init_params: dict[str, Array] | None,
        model_args: tuple[Any, ...],
        model_kwargs: dict[str, Any] | None,
    ) -> TemperingState:
        """Starts every replica from values of its own, unless initial values are given."""
        self._num_warmup = num_warmup
        betas = jnp.asarray(self._first_ladder)
        rng_key, *keys = jax.random.split(rng_key, len(betas) + 1)
        replicas = tuple(
            self._sampler.init(key, num_warmup, init_params, model_args, _at(beta, model_kwargs))
            for key, beta in zip(keys, betas, strict=True)
        )
        nothing, zero = jnp.zeros(len(replicas) - 1), jnp.array(0)
        return TemperingState(self._values(replicas[0]), replicas, betas, nothing, zero, rng_key)

    def sample(
        self,
        state: TemperingState,
        model_args: tuple[Any, ...],
        model_kwargs: dict[str, Any] | None,
    ) -> TemperingState:
        rng_key, key_swap = jax.random.split(state.rng_key)
        betas = state.inverse_temperatures

        def sweep(replica_and_beta: tuple[Any, Array]) -> tuple[Any, Array]:
            replica, beta = replica_and_beta
            replica = self._sampler.sample(replica, model_args, _at(beta, model_kwargs))
            constrain = self._sampler.get_constrain_fn(model_args, _at(beta, model_kwargs))
            values = constrain(self._values(replica))
            return replica, log_likelihood(self._model, values, model_args, model_kwargs or {})

        def exchange(arrival: tuple[Any, Any, Array, Array]) -> Any:
            replica, z, is_new, beta = arrival
            kwargs = _at(beta, model_kwargs)
            return jax.lax.cond(
                is_new,
                lambda r: relocated(self._sampler, r, z, model_args, kwargs),
                lambda r: r,
                replica,
            )

        # One after the other: batches of factorizations can wait for each other forever, see
        # `structbo.models.outer_box.each_matrix`.
        stacked = jax.tree.map(_stack, *state.replicas)
        stacked, heights = jax.lax.map(sweep, (stacked, betas))
        source, probs, is_tried = swaps(key_swap, betas, heights, state.step)
        z = jax.tree.map(lambda leaf: leaf[source], self._values(stacked))
        is_new = source != jnp.arange(len(betas))
        if self._is_learned:
            learns = state.step < self._num_warmup
            size = jnp.where(learns & is_tried, (state.step + 1.0) ** -FORGETTING, 0.0)
            betas = moved_ladder(betas, size * (probs - TARGET_SWAPS))
            # What a replica has stored depends on its temperature.
            is_new |= learns
        stacked = jax.lax.map(exchange, (stacked, z, is_new, betas))
        replicas = _unstacked(stacked, len(betas))
        return TemperingState(
            self._values(replicas[0]),
            replicas,
            betas,
            jnp.where(is_tried, probs, state.swap_probs),
            state.step + 1,
            rng_key,
        )

    def refresh(
        self,
        state: TemperingState,
        model_args: tuple[Any, ...],
        model_kwargs: dict[str, Any] | None,
    ) -> TemperingState:
        """Recomputes what depends on the data; the first replica takes the values of the state."""

        def at_its_values(arrival: tuple[Any, dict[str, Array], Array]) -> Any:
            replica, z, beta = arrival
            return relocated(self._sampler, replica, z, model_args, _at(beta, model_kwargs))

        values = [state.z, *map(self._values, state.replicas[1:])]
        replicas, z = (jax.tree.map(_stack, *parts) for parts in (state.replicas, values))
        betas = state.inverse_temperatures
        return state._replace(
            replicas=_unstacked(jax.lax.map(at_its_values, (replicas, z, betas)), len(betas))
        )

    def get_constrain_fn(
        self, model_args: tuple[Any, ...], model_kwargs: dict[str, Any] | None
    ) -> Callable[[Any], Any]:
        return self._sampler.get_constrain_fn(model_args, model_kwargs)

    def postprocess_fn(
        self, model_args: tuple[Any, ...], model_kwargs: dict[str, Any] | None
    ) -> Callable[[Any], Any]:
        """With deterministic sites, where the model has them."""
        return self._sampler.postprocess_fn(model_args, model_kwargs)

    def _values(self, replica: Any) -> dict[str, Array]:
        return getattr(replica, self._sampler.sample_field)


def _first_ladder(inverse_temperatures: int | Sequence[float]) -> NDArray[np.float64]:
    """So many numbers that fall from one, or the given ones if they do."""
    if is_integer(inverse_temperatures):
        number = checked_count("inverse_temperatures", inverse_temperatures)
        return np.exp(-FIRST_FALL * np.arange(number))
    ladder = np.asarray(inverse_temperatures, float)
    starts_at_one = ladder.ndim == 1 and bool((ladder[:1] == 1.0).all()) and len(ladder) > 0
    if not (starts_at_one and ladder[-1] > 0.0 and (np.diff(ladder) < 0.0).all()):
        raise ValueError(
            "inverse_temperatures must fall strictly from 1.0 to a positive number, or be how many "
            f"there are, got {inverse_temperatures}; for example numpy.geomspace(1.0, 0.5, 6)."
        )
    return ladder


def _stack(*leaves: Array) -> Array:
    return jnp.stack(leaves)


def _unstacked(replicas: Any, number: int) -> tuple[Any, ...]:
    return tuple(jax.tree.map(lambda leaf, k=k: leaf[k], replicas) for k in range(number))


def _is_likelihood(site: dict[str, Any]) -> bool:
    """Whether a site is observed and not a factor, as NumPyro's own for a change of variables.

    Both the powers of the likelihood and the ratio of a swap follow this one definition.
    """
    is_observed = site["type"] == "sample" and site["is_observed"]
    return is_observed and not isinstance(site["fn"], dist.Unit)


class _LikelihoodPower(handlers.scale):
    """Scales the log densities of observed sites, and no others."""

    def process_message(self, msg: dict[str, Any]) -> None:
        if _is_likelihood(msg):
            super().process_message(msg)


def _tempered(model: Model, *args: Any, **kwargs: Any) -> Any:
    """Runs a model, its likelihood to the power that is among the keyword arguments."""
    beta = kwargs.pop(_KWARG, 1.0)
    with _LikelihoodPower(scale=beta):
        return model(*args, **kwargs)


def _at(beta: Array, model_kwargs: dict[str, Any] | None) -> dict[str, Any]:
    return {**(model_kwargs or {}), _KWARG: beta}


def log_likelihood(
    model: Model,
    values: dict[str, Array],
    model_args: tuple[Any, ...],
    model_kwargs: dict[str, Any],
) -> Array:
    """Log density of the observed sites of a model, given values of all latent ones."""
    run = handlers.trace(handlers.substitute(handlers.seed(model, 0), data=values))
    trace = run.get_trace(*model_args, **model_kwargs)
    return trace_log_density({name: s for name, s in trace.items() if _is_likelihood(s)})


def moved_ladder(betas: Array, changes: Array) -> Array:
    """The ladder with other distances between neighbors.

    Args:
        betas: inverse temperatures, shape (K,), the first being one.
        changes: of the logarithms of how far ``log beta`` falls from one to the next, (K - 1,).

    Example:
        >>> ladder = moved_ladder(jnp.array([1.0, 0.5, 0.25]), jnp.log(jnp.array([0.5, 1.0])))
        >>> [round(float(beta), 4) for beta in ladder]
        [1.0, 0.7071, 0.3536]
    """
    falls = jnp.minimum(-jnp.diff(jnp.log(betas)) * jnp.exp(changes), MOST_FALL)
    return betas.at[1:].set(jnp.exp(-jnp.cumsum(falls)))


def swaps(
    key: Array, betas: Array, log_likelihoods: Array, step: Array
) -> tuple[Array, Array, Array]:
    """Swaps disjoint pairs of neighboring replicas, even ones after even steps.

    Args:
        key: a JAX random key.
        betas: inverse temperatures, shape (K,).
        log_likelihoods: of the values that the replicas have, at temperature one, shape (K,).
        step: its parity is that of the pairs that are tried.

    Returns:
        From which replica each one takes its values, shape (K,); the probability of each swap, and
        whether it was tried, shape (K - 1,).
    """
    # The prior densities of the two cancel, and so do equal powers of their likelihoods.
    log_ratios = (betas[:-1] - betas[1:]) * (log_likelihoods[1:] - log_likelihoods[:-1])
    probs = jnp.exp(jnp.minimum(jnp.nan_to_num(log_ratios, nan=-jnp.inf), 0.0))
    is_tried = jnp.arange(len(probs)) % 2 == step % 2
    accept = is_tried & (jax.random.uniform(key, probs.shape) < probs)
    source = jnp.arange(len(betas)) + jnp.append(accept, False) - jnp.append(False, accept)
    return source, probs, is_tried
