"""Mixtures of structures, in which the family of the structure is a random variable.

The posterior of the family tells whether the function has structure, and of which kind.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import Int
from numpyro.distributions import constraints
from numpyro.handlers import scope

from structbo.models.decomposition import Decomposition, Structure
from structbo.models.foundation.arguments import is_concrete
from structbo.models.foundation.values import Value
from structbo.models.structure_checks import check_structure, run_structure
from structbo.models.supports import Family

DIVIDER = "."
"""Separator of the names of a family and its sites; ArviZ reads a slash as a path."""


class FamilyCategorical(dist.CategoricalProbs):
    """One of several families, by index.

    Args:
        names: names of the families.
        probs: their probabilities, shape (K,); None for equal ones.

    Raises:
        ValueError: if there are not at least two different names without dots, or if the
            probabilities have the wrong shape, or (unless traced) are negative or do not add up to
            1.

    Example:
        >>> prior = FamilyCategorical(("main effects", "fully dependent"), [0.2, 0.8])
        >>> round(float(jnp.exp(prior.log_prob(1))), 3)
        0.8
    """

    pytree_aux_fields = ("names",)

    def __init__(
        self,
        names: tuple[str, ...],
        probs: ArrayLike | None = None,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.names = tuple(names)
        size = len(self.names)
        if size < 2 or len(set(self.names)) < size or any(DIVIDER in name for name in self.names):
            raise ValueError(
                f"names must be at least two different ones without {DIVIDER!r}, got {self.names}."
            )
        probs = jnp.full(size, 1.0 / size) if probs is None else jnp.asarray(probs, float)
        if probs.shape != (size,):
            raise ValueError(
                f"probs must have one number for each of {self.names}, got shape {probs.shape}."
            )
        if is_concrete(probs):
            known = np.asarray(probs)
            if not ((known >= 0).all() and np.isclose(known.sum(), 1.0)):
                raise ValueError(f"probs must be probabilities that add up to 1, got {known}.")
        super().__init__(probs, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return Family(len(self.names))


@dataclass(frozen=True, eq=False, repr=False)
class mixture(Value):
    """The structure from one of several families, site ``family``.

    All families run. The family's name precedes the names of its sites, as in ``edges.Z``. The
    chosen family gives the decomposition. The sites of all others follow their prior, which is the
    pseudo-prior of Carlin and Chib 1995. To put a mixture behind a projection, project its
    decomposition: ``projected(mixture(...)(num_dims), W)``.

    Args:
        families: structures by name.
        probs: prior probabilities of the families, shape (K,); None for equal ones.

    Raises:
        ValueError: as `FamilyCategorical` does; the structure itself, if a family is projected.
        TypeError: if a family is not a structure.

    References:
        Carlin and Chib 1995, "Bayesian model choice via Markov chain Monte Carlo methods".

    Example:
        >>> from structbo.models import edges, fully_dependent
        >>> structure = mixture({"edges": edges(), "fully dependent": fully_dependent()})
        >>> with numpyro.handlers.seed(rng_seed=0), numpyro.handlers.trace() as trace:
        ...     structure(3).members.shape, list(trace)
        ((6, 3), ['family', 'edges.Z'])
    """

    families: Mapping[str, Structure]
    probs: ArrayLike | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "families", dict(self.families))
        FamilyCategorical(tuple(self.families), self.probs)  # checks both
        for member in self.families.values():
            check_structure(member)

    def __call__(self, num_dims: int) -> Decomposition:
        family = numpyro.sample("family", FamilyCategorical(tuple(self.families), self.probs))
        members = []
        for name, member in self.families.items():
            with scope(prefix=name, divider=DIVIDER):
                members.append(run_structure(member, num_dims))
            if members[-1].projection is not None:
                raise ValueError(
                    f"the family {name!r} is projected, and families must share their dimensions: "
                    "project the decomposition that the mixture returns."
                )
        return _chosen(members, family)


def _chosen(members: list[Decomposition], family: Int[Array, ""]) -> Decomposition:
    """One of several decompositions, in a table with room for each."""
    capacity = max(len(member.members) for member in members)

    def padded(table: Array) -> Array:
        return jnp.pad(table, [(0, capacity - len(table)), *[(0, 0)] * (table.ndim - 1)])

    tables = [(padded(m.members), padded(m.weights), m.is_inside) for m in members]
    chosen = jax.tree.map(lambda *rows: jnp.stack(rows)[family], *tables)
    main_effects = [m.has_main_effects for m in members if m.flip_rule is not None]
    return replace(
        Decomposition(*chosen), has_main_effects=bool(main_effects) and all(main_effects)
    )
