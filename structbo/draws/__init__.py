"""Draws of a model's sites, by Markov chains or searches, and Gaussian processes given draws."""

from structbo.draws.chain import Chain, sweeps_per_draw
from structbo.draws.conditioning import condition, likelihood_of, log_likelihoods, num_inducing
from structbo.draws.direction_pursuit import pursued_directions
from structbo.draws.direction_search import RestrictedProjection, restricted_projection_pursuit
from structbo.draws.evidence import Fit, maximum_likelihood
from structbo.draws.gibbs_search import GibbsSearch
from structbo.draws.markov_chains import run_chains
from structbo.draws.model import (
    Draws,
    check_known_noise,
    check_run,
    default_model,
    latent_sites,
    with_categories,
)
from structbo.draws.partition_search import ModelSearch, bag_of_models, model_mcmc, random_groups
from structbo.draws.posteriors import Posteriors
from structbo.draws.sources import BestDraw, Cycle, DrawSource, Fitted, Fitter, Inference, step_seed

__all__ = [
    "BestDraw",
    "Chain",
    "Cycle",
    "DrawSource",
    "Draws",
    "Fit",
    "Fitted",
    "Fitter",
    "GibbsSearch",
    "Inference",
    "ModelSearch",
    "Posteriors",
    "RestrictedProjection",
    "bag_of_models",
    "check_known_noise",
    "check_run",
    "condition",
    "default_model",
    "latent_sites",
    "likelihood_of",
    "log_likelihoods",
    "maximum_likelihood",
    "model_mcmc",
    "num_inducing",
    "pursued_directions",
    "random_groups",
    "restricted_projection_pursuit",
    "run_chains",
    "step_seed",
    "sweeps_per_draw",
    "with_categories",
]
