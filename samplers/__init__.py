"""Markov chain Monte Carlo over structures, as blocks of `numpyro.infer.Gibbs`, and k-DPPs."""

from structbo.samplers.active_gibbs import ActiveGibbs
from structbo.samplers.block_gibbs import BlockGibbs
from structbo.samplers.composition import SamplerFactory, composed, kernel_of
from structbo.samplers.default import default_sampler, search_sampler
from structbo.samplers.edge_flips import EdgeFlips
from structbo.samplers.edge_gibbs import EdgeGibbs
from structbo.samplers.family_gibbs import FamilyGibbs
from structbo.samplers.grid_gibbs import GridGibbs
from structbo.samplers.hamiltonian import Hamiltonian
from structbo.samplers.heat_bath import HeatBath
from structbo.samplers.informed_edges import InformedEdges
from structbo.samplers.kdpp import (
    Entropy,
    greedy_kdpp,
    heat_bath_steps,
    kdpp_entropy,
    kdpp_log_prob,
    metropolis_steps,
    sample_kdpp,
    sample_kdpp_heat_bath,
    sample_kdpp_mcmc,
)
from structbo.samplers.metropolis import Metropolis
from structbo.samplers.parallel_tempering import ParallelTempering
from structbo.samplers.partition_gibbs import PartitionGibbs
from structbo.samplers.partition_moves import PartitionMoves
from structbo.samplers.prior_draws import PriorDraws
from structbo.samplers.registry import BLOCKS
from structbo.samplers.sampler import Arguments, ChainState, Info, Sampler, Stage, State
from structbo.samplers.split_merge import RestrictedSplitMerge, SplitMerge
from structbo.samplers.structure_block import StructureBlock, sites_with_support

__all__ = [
    "BLOCKS",
    "ActiveGibbs",
    "Arguments",
    "BlockGibbs",
    "ChainState",
    "EdgeFlips",
    "EdgeGibbs",
    "Entropy",
    "FamilyGibbs",
    "GridGibbs",
    "Hamiltonian",
    "HeatBath",
    "Info",
    "InformedEdges",
    "Metropolis",
    "ParallelTempering",
    "PartitionGibbs",
    "PartitionMoves",
    "PriorDraws",
    "RestrictedSplitMerge",
    "Sampler",
    "SamplerFactory",
    "SplitMerge",
    "Stage",
    "State",
    "StructureBlock",
    "composed",
    "default_sampler",
    "greedy_kdpp",
    "heat_bath_steps",
    "kdpp_entropy",
    "kdpp_log_prob",
    "kernel_of",
    "metropolis_steps",
    "sample_kdpp",
    "sample_kdpp_heat_bath",
    "sample_kdpp_mcmc",
    "search_sampler",
    "sites_with_support",
]
