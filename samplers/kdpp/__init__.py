"""k-determinantal point processes: exact samples, Markov chains, a greedy set, entropies."""

from structbo.samplers.kdpp.chains import (
    heat_bath_steps,
    metropolis_steps,
    sample_kdpp_heat_bath,
    sample_kdpp_mcmc,
)
from structbo.samplers.kdpp.entropy import Entropy, kdpp_entropy, kdpp_log_prob
from structbo.samplers.kdpp.exact import greedy_kdpp, sample_kdpp

__all__ = [
    "Entropy",
    "greedy_kdpp",
    "heat_bath_steps",
    "kdpp_entropy",
    "kdpp_log_prob",
    "metropolis_steps",
    "sample_kdpp",
    "sample_kdpp_heat_bath",
    "sample_kdpp_mcmc",
]
