"""Published methods, each built from the parts of this library as an `Optimizer`.

They serve as baselines, and as examples of how a method is assembled. Settings come from the papers
if these name them. The rest is the library's: initial designs are quasi-random, observations are
standardized, and acquisition functions are maximized by message passing and gradients, not by grids
or DiRect.

The exploration parameter ``beta`` follows the papers: its square root multiplies the standard
deviation. Some public code multiplies by beta itself.

Example:
    >>> from structbo import minimize, recipes
    >>> optimizer = recipes.rembo({"x": (-1.0, 1.0), "y": (-1.0, 1.0)}, seed=0)
    >>> result = minimize(
    ...     lambda p: p["x"] ** 2, n_trials=3, optimizer=optimizer, show_progress_bar=False
    ... )
    >>> len(result.trials)
    3
"""

from structbo.recipes.batched import batch
from structbo.recipes.model_selection import bag_of_models, known_partition, model_mcmc
from structbo.recipes.overlapping_groups import g_add_gp_ucb
from structbo.recipes.projection_pursuit import add_gp_ucb, gp_ucb, pp_gp_ucb, rembo, rpp_gp_ucb
from structbo.recipes.unstructured import random, random_trees, saas, vanilla
from structbo.recipes.variable_selection import cws_gp_ucb, hds_gp_ucb

__all__ = [
    "add_gp_ucb",
    "bag_of_models",
    "batch",
    "cws_gp_ucb",
    "g_add_gp_ucb",
    "gp_ucb",
    "hds_gp_ucb",
    "known_partition",
    "model_mcmc",
    "pp_gp_ucb",
    "random",
    "random_trees",
    "rembo",
    "rpp_gp_ucb",
    "saas",
    "vanilla",
]
