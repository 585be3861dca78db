"""The methods of the searches by name."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from papers.methods.peers import PEERS
from papers.problems.problem import Problem

import structbo as sb
from structbo import recipes
from structbo.acquisition import HalfLog


class AskTell(Protocol):
    """An optimizer, ours or a peer's."""

    def ask(self) -> Any:
        """A trial, or a point."""
        ...

    def tell(self, trial: Any, value: float) -> Any:
        """Reports the value of a trial or a point."""
        ...


Method = Callable[[Problem, int], AskTell]
"""Makes an optimizer for a problem and a seed."""


def maximizer(make: Callable[..., sb.Optimizer], *known: str, **settings: Any) -> Method:
    """A method of this library.

    Args:
        make: the recipe.
        known: arguments of the recipe that the truth of the problem gives.
        settings: other arguments of the recipe.
    """

    def method(problem: Problem, seed: int) -> sb.Optimizer:
        given = {name: problem.truth[name] for name in known}
        space = sb.Space.box(problem.bounds)
        return make(space, "maximize", seed=seed, **given, **settings)

    return method


METHODS: dict[str, Method] = {
    "structbo": maximizer(sb.Optimizer, num_initial=10),
    "random": maximizer(recipes.random),
    "GP-UCB": maximizer(recipes.gp_ucb),
    "random trees": maximizer(recipes.random_trees),
    # Rolland et al. 2018
    "Overlap": maximizer(recipes.g_add_gp_ucb, standardize=False),
    "No Overlap": maximizer(recipes.g_add_gp_ucb, graph="no overlap", standardize=False),
    "Oracle": maximizer(
        recipes.g_add_gp_ucb, "graph", "lengthscales", noises=[1e-4], standardize=False
    ),
    "Overlap, lengthscales around 2.24": maximizer(
        recipes.g_add_gp_ucb, lengthscales="precision", standardize=False
    ),
    "chain graph": maximizer(
        recipes.g_add_gp_ucb, graph=np.eye(22, k=1) + np.eye(22, k=-1), cycle=50, num_gibbs=300
    ),
    "No Overlap, at most 4 groups of 6": maximizer(
        recipes.g_add_gp_ucb,
        graph="no overlap",
        max_groups=4,
        max_group_size=6,
        cycle=50,
        num_gibbs=300,
    ),
    # Chen, Castro and Krause 2012, with known hyper-parameters
    "GPT, GP-UCB": maximizer(
        recipes.hds_gp_ucb, budget=60, noise=0.1, outputscale=1.0, bandwidth=0.05, as_printed=True
    ),
    "GP-UCB, known": maximizer(
        recipes.gp_ucb,
        known={"lengthscale": 0.05 / 2**0.5, "outputscale": 1.0, "noise": 0.1},
        beta=HalfLog(),
    ),
    # Li et al. 2016
    **{f"ADD-{d}": maximizer(recipes.add_gp_ucb, group_size=d) for d in (1, 5, 10, 25)},
    **{f"RPP-{d}": maximizer(recipes.rpp_gp_ucb, group_size=d) for d in (1, 5, 10, 25)},
    **{
        f"RPP-{d}, delta = 0.05": maximizer(recipes.rpp_gp_ucb, group_size=d, delta=0.05)
        for d in (1, 5, 10, 25)
    },
    # The other reading of eq. (8): a bound of 0.1 for each of 50 dimensions.
    "RPP-10, 0.1 per dimension": maximizer(recipes.rpp_gp_ucb, group_size=10, delta=1.1**50 - 1.0),
    "RPP-10, one by one": maximizer(recipes.rpp_gp_ucb, group_size=10, directions="one by one"),
    "ADD-10, every 100th": maximizer(recipes.add_gp_ucb, group_size=10, cycle=100),
    "RPP-10, every 100th": maximizer(recipes.rpp_gp_ucb, group_size=10, cycle=100),
    "REMBO": maximizer(recipes.rembo),
    # Gardner et al. 2017
    "Model MCMC": maximizer(recipes.model_mcmc, as_printed=True, cycle=5),
    "bag of models": maximizer(recipes.bag_of_models, as_printed=True, cycle=5),
    "oracle": maximizer(recipes.known_partition, "labels", as_printed=True, cycle=5),
    "fully dependent": maximizer(recipes.known_partition, as_printed=True, cycle=5),
    **PEERS,
}
