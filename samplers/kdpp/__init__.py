"""k-determinantal point processes: exact samples, Markov chains, and a greedy set."""

from structbo.samplers.kdpp.chains import (
    heat_bath_steps,
    metropolis_steps,
    sample_kdpp_heat_bath,
    sample_kdpp_mcmc,
)
from structbo.samplers.kdpp.exact import greedy_kdpp, sample_kdpp

__all__ = [
    "greedy_kdpp",
    "heat_bath_steps",
    "metropolis_steps",
    "sample_kdpp",
    "sample_kdpp_heat_bath",
    "sample_kdpp_mcmc",
]
