"""Parallel tempering: replicas at higher temperatures help a chain to move between modes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array
from jaxtyping import Bool, Float, Int
from numpyro import handlers

from structbo.models.foundation.arguments import checked_count, is_integer
from structbo.models.foundation.arrays import RandomKey
from structbo.models.likelihood import Model
from structbo.samplers.composition import SamplerFactory, composed, kernel_of
from structbo.samplers.conditional import trace_log_density
from structbo.samplers.default import default_sampler
from structbo.samplers.sampler import Arguments, Info, Sampler, Stage, State, Values

NUM_TEMPERATURES = 6
FIRST_FALL = 0.1
"""Initial difference between the log inverse temperatures of neighbors."""
MOST_FALL = 2.0
"""Maximum difference of neighbors. Without it, temperatures diverge if the data say little."""
TARGET_SWAPS = 0.3
FORGETTING = 0.6
"""Decay of the adaptation: the t-th step has a weight of t to the power of minus this."""
_KWARG = "_inverse_temperature"


class Ladder(NamedTuple):
    """The memory of parallel tempering.

    Args:
        replicas: states of the sampler at all inverse temperatures, stacked.
        inverse_temperatures: the ladder; the first is one.
        swap_probs: probability of the last swap of each pair of neighbors.
        num_steps: number of steps so far.
    """

    replicas: State
    inverse_temperatures: Float[Array, " K"]
    swap_probs: Float[Array, " K-1"]
    num_steps: Int[Array, ""]


class ParallelTempering(Sampler):
    """Runs one sampler at several temperatures, and swaps values between neighboring replicas.

    Replica k targets the prior times the likelihood to the power ``beta_k``. Hotter replicas have
    flatter posteriors, and move more easily between structures that explain the data. After a sweep
    of all replicas, neighbors are swapped with the probability that leaves their joint distribution
    invariant: even pairs after even steps, odd pairs after odd steps. Only the draws at ``beta_1 =
    1``, which target the posterior, are reported.

    *The ladder* is learned during warm-up. The higher temperature of a pair moves closer if its
    swap rate is below 0.3, and away if it is above. More observations give a finer ladder, so the
    number of replicas determines the highest temperature. There, the sampler must move freely
    between structures. A step costs one sweep of the sampler per replica. `structbo.fit` keeps the
    ladder as ``inverse_temperature`` and the swap rates as ``swap_rate``.

    Args:
        model: the NumPyro model. Its observed sites are the likelihood; factors count as prior.
        sampler: function from a model to the kernel of each replica. NumPyro kernels must implement
            ``refresh``, like `numpyro.infer.Gibbs`, `HMC` and `NUTS`.
        inverse_temperatures: number of inverse temperatures to learn, or their decreasing values,
            starting at one.
        num_dims: a number of columns of X that the model accepts, passed to the sampler.

    Raises:
        ValueError: if the inverse temperatures do not decrease strictly from one to a positive
            number, or are empty.

    References:
        Geyer 1991, "Markov chain Monte Carlo maximum likelihood"; Syed et al. 2022,
        "Non-reversible parallel tempering", for the alternation of pairs; Miasojedow, Moulines and
        Vihola 2013, "An adaptive parallel tempering algorithm", for learning the ladder.

    Example:
        >>> from structbo.models import AdditiveGP
        >>> kernel = ParallelTempering(AdditiveGP(), inverse_temperatures=[1.0, 0.5, 0.2])
        >>> type(kernel.sampler).__name__
        'BlockGibbs'
    """

    def __init__(
        self,
        model: Model,
        sampler: SamplerFactory = default_sampler,
        inverse_temperatures: int | Sequence[float] = NUM_TEMPERATURES,
        *,
        num_dims: int = 2,
    ) -> None:
        super().__init__(model)
        self._is_learned = is_integer(inverse_temperatures)
        self._first_ladder = _first_ladder(inverse_temperatures)
        tempered = partial(_tempered, model)
        self.sampler = composed(kernel_of(sampler, tempered, num_dims), tempered, num_dims)
        if not self.sampler.follows_data:
            raise ValueError(
                f"the kernel of {sampler!r} does not implement NumPyro's refresh, so its replicas "
                "cannot exchange their values: use one that does, such as numpyro.infer.NUTS."
            )

    def initial(self, key: RandomKey, values: Values, stage: Stage, arguments: Arguments) -> State:
        """Starts the replicas from independent values, unless initial values are given."""
        betas = jnp.asarray(self._first_ladder)

        def begun(start: tuple[RandomKey, Float[Array, ""]]) -> State:
            key, beta = start
            return self.sampler.initial(key, values, stage, _at(beta, arguments))

        replicas = jax.lax.map(begun, (jax.random.split(key, len(betas)), betas))
        ladder = Ladder(replicas, betas, jnp.zeros(len(betas) - 1), jnp.array(0))
        return State(_first(replicas.values), ladder, stage)

    def step(self, key: RandomKey, state: State, arguments: Arguments) -> tuple[State, Info]:
        ladder, stage = state.memory, state.stage
        betas = ladder.inverse_temperatures
        key_swap, key_sweeps = jax.random.split(key)

        def sweep(
            replica: tuple[RandomKey, State, Float[Array, ""]],
        ) -> tuple[State, Info, Float[Array, ""]]:
            key, before, beta = replica
            before = before._replace(stage=stage)
            after, info = self.sampler.step(key, before, _at(beta, arguments))
            return after, info, log_likelihood(self.model, after.values, arguments)

        # Replicas run in sequence: batches of factorizations can deadlock, see
        # `structbo.models.outer_box.each_matrix`.
        keys = jax.random.split(key_sweeps, len(betas))
        replicas, info, heights = jax.lax.map(sweep, (keys, self._current(state), betas))
        source, probs, is_tried = swaps(key_swap, betas, heights, ladder.num_steps)
        values = jax.tree.map(lambda leaf: leaf[source], replicas.values)
        if self._is_learned:
            learns = stage.learns & is_tried
            size = jnp.where(learns, (ladder.num_steps + 1.0) ** -FORGETTING, 0.0)
            betas = moved_ladder(betas, size * (probs - TARGET_SWAPS))
        ladder = Ladder(
            replicas._replace(values=values),
            betas,
            jnp.where(is_tried, probs, ladder.swap_probs),
            ladder.num_steps + 1,
        )
        return State(_first(values), ladder, stage.next()), _first(info) | _own_info(ladder)

    def postprocess_fn(
        self, model_args: tuple[Any, ...], model_kwargs: dict[str, Any] | None
    ) -> Callable[[Values], Values]:
        return self.sampler.postprocess_fn(model_args, model_kwargs)

    def no_info(self, state: State) -> Info:
        """The ladder, the swap rates, and the info of the sampler at temperature one."""
        return self.sampler.no_info(_first(state.memory.replicas)) | _own_info(state.memory)

    def _current(self, state: State) -> State:
        """The replicas, with the values of the state in the first."""
        replicas = state.memory.replicas
        values = jax.tree.map(lambda all_, own: all_.at[0].set(own), replicas.values, state.values)
        return replicas._replace(values=values)


def _own_info(ladder: Ladder) -> Info:
    return {"inverse_temperature": ladder.inverse_temperatures, "swap_rate": ladder.swap_probs}


def _first(stacked: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[0], stacked)


def _first_ladder(inverse_temperatures: int | Sequence[float]) -> Float[np.ndarray, " K"]:
    """The initial ladder for a number of temperatures, or the given ladder if valid."""
    if is_integer(inverse_temperatures):
        number = checked_count("inverse_temperatures", inverse_temperatures)
        return np.exp(-FIRST_FALL * np.arange(number))
    ladder = np.asarray(inverse_temperatures, float)
    starts_at_one = ladder.ndim == 1 and bool((ladder[:1] == 1.0).all()) and len(ladder) > 0
    if not (starts_at_one and ladder[-1] > 0.0 and (np.diff(ladder) < 0.0).all()):
        raise ValueError(
            "inverse_temperatures must decrease strictly from 1.0 to a positive number, or be an "
            f"integer, got {inverse_temperatures}: pass for example numpy.geomspace(1.0, 0.5, 6)."
        )
    return ladder


def _is_likelihood(site: dict[str, Any]) -> bool:
    """Whether a site is observed and not a factor, such as NumPyro's for a change of variables.

    The power of the likelihood and the swap ratio share this definition.
    """
    is_observed = site["type"] == "sample" and site["is_observed"]
    return is_observed and not isinstance(site["fn"], dist.Unit)


class _LikelihoodPower(handlers.scale):
    """Scales the log densities of the likelihood sites only."""

    def process_message(self, msg: dict[str, Any]) -> None:
        if _is_likelihood(msg):
            super().process_message(msg)


def _tempered(model: Model, *args: Any, **kwargs: Any) -> Any:
    """Runs a model with its likelihood to the power given as a keyword argument."""
    beta = kwargs.pop(_KWARG, 1.0)
    with _LikelihoodPower(scale=beta):
        return model(*args, **kwargs)


def _at(beta: Float[Array, ""], arguments: Arguments) -> Arguments:
    return arguments._replace(kwargs={**arguments.kwargs, _KWARG: beta})


def log_likelihood(model: Model, values: Values, arguments: Arguments) -> Float[Array, ""]:
    """Log density of the observed sites of a model, given values of all latent sites."""
    run = handlers.trace(handlers.substitute(handlers.seed(model, 0), data=values))
    trace = run.get_trace(*arguments.args, **arguments.kwargs)
    return trace_log_density({name: s for name, s in trace.items() if _is_likelihood(s)})


def moved_ladder(betas: Float[Array, " K"], changes: Float[Array, " K-1"]) -> Float[Array, " K"]:
    """The ladder after a change of the distances between neighbors.

    Args:
        betas: inverse temperatures, starting at one.
        changes: increments of the log differences of neighboring ``log beta``.

    Example:
        >>> ladder = moved_ladder(jnp.array([1.0, 0.5, 0.25]), jnp.log(jnp.array([0.5, 1.0])))
        >>> [round(float(beta), 4) for beta in ladder]
        [1.0, 0.7071, 0.3536]
    """
    falls = jnp.minimum(-jnp.diff(jnp.log(betas)) * jnp.exp(changes), MOST_FALL)
    return betas.at[1:].set(jnp.exp(-jnp.cumsum(falls)))


def swaps(
    key: RandomKey,
    betas: Float[Array, " K"],
    log_likelihoods: Float[Array, " K"],
    step: Int[Array, ""],
) -> tuple[Int[Array, " K"], Float[Array, " K-1"], Bool[Array, " K-1"]]:
    """Swaps disjoint pairs of neighboring replicas.

    Args:
        key: a JAX random key.
        betas: inverse temperatures.
        log_likelihoods: log likelihoods of the replicas' values at temperature one.
        step: number of the step; even steps try even pairs, odd steps odd pairs.

    Returns:
        The replica from which each one takes its values; the probability of each swap, and whether
        it was tried.
    """
    # The prior densities cancel.
    log_ratios = (betas[:-1] - betas[1:]) * (log_likelihoods[1:] - log_likelihoods[:-1])
    probs = jnp.exp(jnp.minimum(jnp.nan_to_num(log_ratios, nan=-jnp.inf), 0.0))
    is_tried = jnp.arange(len(probs)) % 2 == step % 2
    accept = is_tried & (jax.random.uniform(key, probs.shape) < probs)
    source = jnp.arange(len(betas)) + jnp.append(accept, False) - jnp.append(False, accept)
    return source, probs, is_tried
