"""Moves between the families of a mixture, by annealing their structures in and out."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

from structbo.models.foundation.arrays import RandomKey
from structbo.models.foundation.upstream import latent_sample_sites, prototype_trace
from structbo.models.likelihood import Model, likelihood_site
from structbo.models.structures.families import DIVIDER
from structbo.models.supports import Family
from structbo.samplers.conditional import Conditional
from structbo.samplers.registry import BLOCKS, Blocks, block_of, is_reversible
from structbo.samplers.sampler import Arguments, Info, State, Values
from structbo.samplers.structure_block import (
    Block,
    StructureBlock,
    fixed,
    sites_with_support,
)


class FamilyGibbs(Block):
    """Draws the family of a mixture, and the structures inside its families.

    The structures of the other families follow their priors, and a prior draw rarely explains the
    data as well as the present structure. Each structure is therefore annealed first, from its
    prior to its posterior given its family. The structure of the present family is annealed in
    reverse. The product of the likelihood ratios along a path estimates the evidence of its family.
    The family is drawn with probability proportional to prior times estimate, which is an *exact*
    Gibbs step on the space of paths for any accuracy of the estimates. With one temperature, it is
    the step of Carlin and Chib.

    The block owns the sites that `family_sites` finds, and holds all others fixed. The chain
    therefore rarely moves between families with very different lengthscales or noise.

    Args:
        model: the NumPyro model; its likelihood must be a `MarginalGP`.
        num_temperatures: number of temperatures per path, with a few moves at each.
        blocks: blocks that move the structures, each satisfying detailed balance; by default
            `BLOCKS`.

    References:
        Carlin and Chib 1995, "Bayesian model choice via Markov chain Monte Carlo methods"; Neal
        2001, "Annealed importance sampling"; Karagiannis and Andrieu 2013, "Annealed importance
        sampling reversible jump MCMC algorithms".
    """

    def __init__(self, model: Model, num_temperatures: int = 8, blocks: Blocks = BLOCKS) -> None:
        super().__init__(model)
        self._num_temperatures = num_temperatures
        self._blocks = blocks

    def step(self, key: RandomKey, state: State, arguments: Arguments) -> tuple[State, Info]:
        """One step; the acceptance rate is the probability of leaving the present family."""
        key_trace, key_family, key_paths = jax.random.split(key, 3)
        trace = prototype_trace(self.model, key_trace, *arguments)
        likelihood_site(trace)
        (site,) = sites_with_support(Family)(trace)
        prior, family = trace[site]["fn"], state.values[site]

        paths: list[tuple[Values, Values, Float[Array, ""]]] = []
        keys = jax.random.split(key_paths, len(prior.names))
        for k, name in enumerate(prior.names):
            own = {s: v for s, v in state.values.items() if s.startswith(name + DIVIDER)}
            others = {s: v for s, v in state.values.items() if s not in own}
            model = fixed(self._model, others | {site: jnp.full_like(family, k)})
            paths.append(self._path(keys[k], model, own, family == k, arguments))

        log_weights = jnp.log(prior.probs) + jnp.stack([path[2] for path in paths])
        stay = jnp.where(jnp.arange(len(prior.names)) == family, 0.0, -jnp.inf)
        log_weights = jnp.where(jnp.isneginf(log_weights).all(), stay, log_weights)
        new = jax.random.categorical(key_family, log_weights).astype(family.dtype)
        values = {site: new}
        for k, (near, far, _) in enumerate(paths):
            stays = (family == k) == (new == k)
            values |= {s: jnp.where(stays, near[s], far[s]) for s in near}
        values = {s: values[s] for s in state.values}
        info = {self._statistic: 1.0 - jax.nn.softmax(log_weights)[family]}
        return State(values, (), state.stage.next()), info

    def _path(
        self,
        key: RandomKey,
        model: Model,
        start: Values,
        is_family: Bool[Array, ""],
        arguments: Arguments,
    ) -> tuple[Values, Values, Float[Array, ""]]:
        """Anneals the structure of one family.

        Args:
            key: a JAX random key.
            model: the model given this family and all sites outside the family.
            start: values of the family's sites.
            is_family: whether this is the present family, whose path starts at the posterior.
            arguments: arguments of the model.

        Returns:
            Values at the near end of the path after moves, values at the far end, and the log of
            the estimated evidence.
        """
        key_trace, key_moves = jax.random.split(key)

        def log_likelihood(values: Values) -> Float[Array, ""]:
            trace = prototype_trace(fixed(model, values), key_trace, *arguments)
            site = trace[likelihood_site(trace)]
            log_prob: Float[Array, ""] = site["fn"].log_prob(site["value"])
            return log_prob if site["scale"] is None else site["scale"] * log_prob

        if not start:
            return start, start, log_likelihood(start)
        trace = prototype_trace(model, key_trace, *arguments)
        blocks: list[tuple[StructureBlock, str]] = []
        for site in start:
            factory = block_of(site, trace[site]["fn"].support, self._blocks)
            block = None if factory is None else factory(model)
            if isinstance(block, StructureBlock):
                blocks.append((block, site))

        def moves(key: RandomKey, values: Values, power: Float[Array, ""]) -> Values:
            """All blocks in turn and in reverse order, so that the sweep is reversible."""
            visits = [*blocks, *blocks[-2::-1]]
            for (block, site), key_move in zip(
                visits, jax.random.split(key, len(visits)), strict=True
            ):
                others = {s: values[s] for s in values if s != site}
                conditional = Conditional(
                    fixed(model, others), site, values[site], *arguments, power
                )
                values = values | {site: block.update(key_move, conditional, values[site])[0]}
            return values

        def step(
            values: Values, rung: tuple[RandomKey, Float[Array, ""], Float[Array, ""]]
        ) -> tuple[Values, tuple[Any, ...]]:
            key, power, increase = rung
            values = moves(key, values, power)
            return values, (values, increase * log_likelihood(values))

        # A path makes moves at each power but the one at its far end.
        edges = jnp.linspace(0.0, 1.0, self._num_temperatures + 1) ** 2
        powers = jnp.where(is_family, edges[:0:-1], edges[:-1])
        increases = jnp.where(is_family, jnp.diff(edges)[::-1], jnp.diff(edges))
        keys = jax.random.split(key_moves, self._num_temperatures)
        far, (values, log_ratios) = jax.lax.scan(step, start, (keys, powers, increases))
        near = {s: values[s][0] for s in values}
        return near, far, log_ratios.sum()


def family_sites(trace: Any, blocks: Blocks = BLOCKS) -> Sequence[str]:
    """The sites that `FamilyGibbs` owns: the family, and structure sites inside the families.

    Args:
        trace: trace of the model.
        blocks: blocks that move sites. A site inside a family is owned if its block is reversible.

    Raises:
        ValueError: if there are several mixtures.
    """
    families = sites_with_support(Family)(trace)
    if not families:
        return []
    if len(families) > 1:
        raise ValueError(
            f"a model can have one mixture, got the family sites {list(families)}: list all "
            "families in one mixture."
        )
    prefixes = tuple(name + DIVIDER for name in trace[families[0]]["fn"].names)

    def is_owned(site: str) -> bool:
        block = block_of(site, trace[site]["fn"].support, blocks)
        return site.startswith(prefixes) and block is not None and is_reversible(block)

    return [*families, *(site for site in latent_sample_sites(trace) if is_owned(site))]
