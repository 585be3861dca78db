"""Correctness of the samplers: simulation-based calibration of every block and composition.

    pip install -e ".[plots]" && python examples/benchmarks/calibration.py

The method is in `ranks.py`. Blocks are tested alone, with all other sites known, and composed by
`default_sampler`, with all sites unknown. The script writes a row for every quantity, with the
counts of its ranks, and a figure of their deviations from uniform ranks. Rows of other cases and
seeds are kept. In results/ the two worst quantities (p < 0.003, of 82) are repeated with other
seeds. All repetitions have p > 0.1, so these two are chance.
"""

import argparse
import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer import Gibbs
from ranks import ranks
from uniformity import picture, summary

import structbo.models as sm
import structbo.samplers as ss

SCALARS = {"outputscale": jnp.array(1.0), "noise": jnp.array(0.1)}
KNOWN = SCALARS | {"lengthscale": jnp.array([0.3, 0.4, 0.5, 0.6])}
PATH = {"Z": jnp.eye(4, k=1, dtype=int) + jnp.eye(4, k=-1, dtype=int)}
MEDIANS = {"lengthscale": -1.0, "outputscale": 0.0, "noise": -2.0}
UNKNOWN = {name: dist.LogNormal(log, 0.5) for name, log in MEDIANS.items()}

Case = tuple[Callable[..., Any], Gibbs, int]
"""A model, the sampler of all its sites, and the number of dimensions."""


def case(
    structure: Callable[[int], sm.Decomposition],
    known: dict[str, Any] | None = None,
    block: Callable[..., Any] | None = None,
    num_dims: int = 4,
    **priors: Any,
) -> Case:
    """A single block for all unknown sites, or the default sampler."""
    gp = sm.AdditiveGP(structure, **UNKNOWN | priors)
    model = gp if known is None else handlers.condition(gp, data=known)
    alone = None if block is None else Gibbs([(block(model), None)])
    return model, alone or ss.default_sampler(model, num_dims=num_dims), num_dims


def directions(num_dims: int) -> sm.Decomposition:
    """A sum of functions of one direction each."""
    W = numpyro.sample("W", sm.NearIdentity(num_dims))
    return sm.projected(sm.Decomposition.of(jnp.eye(num_dims, dtype=bool)), W)


INTERACTIONS = {
    "kernel": sm.Centered(sm.squared_exponential), "residual": sm.OtherOrders(),
    "relevance": dist.LogNormal(0.0, 1.0), "interactions": sm.Interactions(),
}  # fmt: skip
CLIQUES, GRID = sm.edges(0.4, sm.cliques), sm.FiniteUniform([0.1, 0.3, 1.0])
CASES: dict[str, Callable[[], Case]] = {
    "EdgeGibbs": partial(case, CLIQUES, KNOWN, ss.EdgeGibbs),
    "EdgeFlips": partial(case, CLIQUES, KNOWN, ss.EdgeFlips),
    "InformedEdges": partial(case, sm.edges(0.4), KNOWN, ss.InformedEdges),
    "PartitionGibbs": partial(case, sm.partitions(), KNOWN, ss.PartitionGibbs),
    "SplitMerge": partial(case, sm.partitions(), KNOWN, ss.SplitMerge),
    "RestrictedSplitMerge": partial(case, sm.partitions(), KNOWN, ss.RestrictedSplitMerge),
    "PartitionMoves": partial(case, sm.partitions(), KNOWN, ss.PartitionMoves),
    "ActiveGibbs": partial(case, sm.active_sets(0.4), KNOWN, ss.ActiveGibbs),
    "GridGibbs": partial(case, CLIQUES, SCALARS | PATH, ss.GridGibbs, lengthscale=GRID),
    "Hamiltonian": partial(case, CLIQUES, PATH),
    "cliques": partial(case, CLIQUES),
    "pairs, residual": partial(case, sm.edges(dist.Beta(2.0, 3.0)), residual=sm.Residual()),
    "strengths": partial(case, sm.edges(0.4), **INTERACTIONS),
    "forests": partial(case, sm.edges(0.4, sm.cliques, max_width=1)),
    "edges, grid": partial(case, CLIQUES, lengthscale=GRID),
    "partitions": partial(case, sm.partitions()),
    "active sets": partial(case, sm.active_sets(0.4)),
    "directions": partial(case, directions, num_dims=2),
}


def write(rows: list[dict[str, str]], folder: Path) -> None:
    """The table and the figure of all that has been run."""
    with open(folder / "calibration.csv", "w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    picture(rows).savefig(folder / "calibration.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="NAME")
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "results")
    arguments = parser.parse_args()
    numpyro.enable_x64()
    before = arguments.folder / "calibration.csv"
    rows = list(csv.DictReader(before.open())) if before.exists() else []
    for name in arguments.cases:
        this = {"case": name, "seed": str(arguments.seed)}
        rows = [row for row in rows if not this.items() <= row.items()]
        found = ranks(*CASES[name](), arguments.replications, arguments.seed)
        for quantity, values in found.items():
            rows.append(this | {"quantity": quantity} | summary(values))
            print(*list(rows[-1].values())[:-1], sep=", ", flush=True)
        rows.sort(key=lambda row: (list(CASES).index(row["case"]), int(row["seed"])))
        write(rows, arguments.folder)


if __name__ == "__main__":
    main()
