"""Runs of recipes with cheap settings, and the arguments of their searches."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers

from structbo import Optimizer, Space, recipes
from structbo.data import Data
from structbo.models import Decomposition

SPACE = Space({"a": (-1.0, 1.0), "b": (1e-3, 1.0, "log"), "c": (0.0, 5.0)})
STAR = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
CHEAP: dict[str, dict[str, Any]] = {
    "add_gp_ucb": {"num_initial": 3, "group_size": 2},
    "bag_of_models": {"num_initial": 3, "num_models": 3},
    "batch": {"num_initial": 3},
    "cws_gp_ucb": {"num_active": 1, "num_differences": 1},
    "g_add_gp_ucb": {
        "num_initial": 3,
        "num_gibbs": 12,
        "cycle": 2,
        "lengthscales": [0.3],
        "noises": [1e-2, 1e-3],
    },
    "gp_ucb": {"num_initial": 3},
    "hds_gp_ucb": {"budget": 4},
    "known_partition": {"num_initial": 3, "labels": ["x", "y", "x"]},
    "model_mcmc": {"num_initial": 3, "num_models": 3},
    "pp_gp_ucb": {"num_initial": 3, "group_size": 2},
    "random": {},
    "random_trees": {"num_initial": 3},
    "rembo": {"num_initial": 3, "num_directions": 2},
    "rpp_gp_ucb": {"num_initial": 3, "group_size": 2, "num_alphas": 3},
    "saas": {"num_initial": 3, "num_draws": 2},
    "vanilla": {"num_initial": 3},
}
SCREENED = {"cws_gp_ucb", "hds_gp_ucb"}


class Call(NamedTuple):
    """The arguments of a search for the maximum."""

    model: Any
    draws: dict[str, jax.Array]
    data: Data
    criterion: Any
    batch: Any

    @property
    def num_observed(self) -> int:
        return int(np.sum(self.data.mask))

    @property
    def decomposition(self) -> Decomposition:
        """The decomposition of the first draw."""
        values = {name: jnp.asarray(value)[0] for name, value in self.draws.items()}
        model = handlers.seed(handlers.substitute(self.model, data=values), 0)
        site = handlers.trace(model).get_trace(self.data.x, self.data.y, self.data.mask)["y"]
        return site["fn"].covariance.decomposition

    @property
    def components(self) -> set[tuple[int, ...]]:
        rows = np.asarray(self.decomposition.members)
        return {tuple(np.flatnonzero(row).tolist()) for row in rows if row.any()}


def made(name: str, **settings: Any) -> Optimizer:
    return getattr(recipes, name)(SPACE, **CHEAP[name] | {"seed": 0} | settings)


def objective(params: dict[str, float]) -> float:
    return (params["a"] - 0.3) ** 2 + np.log(params["b"]) * params["a"] + 0.1 * params["c"]


def run(optimizer: Optimizer, num_trials: int) -> np.ndarray:
    for _ in range(num_trials):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.params))
    return SPACE.to_unit([trial.params for trial in optimizer.trials])
