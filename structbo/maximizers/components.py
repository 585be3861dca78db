"""The union of the components of all draws, for message passing."""

import math
from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass
from jaxtyping import Bool, Int

from structbo.models.foundation.arrays import AnyArray


@partial(register_dataclass, data_fields=["groups", "rows"], meta_fields=[])
@dataclass(frozen=True)
class Components:
    """All components of S draws, by size, and their rows in each draw's decomposition.

    Args:
        groups: by size, the members of every component, -1 for padding.
        rows: by size, the row of each draw's decomposition that holds it, -1 where a draw lacks it.
    """

    groups: tuple[Int[AnyArray, "_F _size"], ...]
    rows: tuple[Int[AnyArray, "S _F"], ...]

    @classmethod
    def of(cls, members: Bool[np.ndarray, "S C D"], max_size: int | None = None) -> "Components":
        """Collects the components of stacked decompositions.

        Groups are padded to a few sizes, so that the unions of a run share one compilation.

        Args:
            members: the dimensions of each component of each draw.
            max_size: maximum number of members; larger components, whose tables would not fit, are
                omitted.
        """
        num_draws, _, num_dims = members.shape
        sizes = members.sum(2)
        is_kept = (sizes > 0) & (sizes <= (num_dims if max_size is None else max_size))
        found: dict[tuple[int, ...], np.ndarray] = {}
        for draw, row in zip(*np.nonzero(is_kept), strict=True):
            scope = tuple(np.flatnonzero(members[draw, row]).tolist())
            found.setdefault(scope, np.full(num_draws, -1))[draw] = row
        groups, rows = [], []
        for size in sorted({1, min(2, num_dims), *map(len, found)}):
            scopes = sorted(scope for scope in found if len(scope) == size)
            needed = max(4 * num_dims, 1 << max(len(scopes) - 1, 0).bit_length())
            room = min(needed, math.comb(num_dims, size))
            groups.append(np.full((room, size), -1))
            rows.append(np.full((num_draws, room), -1))
            for index, scope in enumerate(scopes):
                groups[-1][index], rows[-1][:, index] = scope, found[scope]
        return cls(tuple(groups), tuple(rows))

    def of_draws(self, which: Int[Array, " K"]) -> "Components":
        """The same components with the rows of some draws only, traceable."""
        return Components(self.groups, tuple(jnp.asarray(rows)[which] for rows in self.rows))
