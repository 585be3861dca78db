"""Statistics of every step of a kernel, besides the values of its sites."""

from numpyro.infer import HMC, Gibbs
from numpyro.infer.mcmc import MCMCKernel

HMC_STATISTICS = {
    "acceptance_rate": "accept_prob",
    "diverging": "diverging",
    "energy": "energy",
    "n_steps": "num_steps",
    "step_size": "adapt_state.step_size",
}
"""What is kept of a Hamiltonian kernel: ArviZ's names, and the fields of NumPyro's state."""


def statistics_of(kernel: MCMCKernel) -> dict[str, str]:
    """A kernel's statistics: their names, and their places in its state.

    Kernels of one's own name them in a property ``statistics``, a dictionary like this one.

    Example:
        >>> statistics_of(HMC(lambda X, y=None: None))["n_steps"]
        'num_steps'
    """
    if isinstance(kernel, HMC):
        return HMC_STATISTICS
    if isinstance(kernel, Gibbs):
        return {
            name: place
            for i, (block, _) in enumerate(kernel.blocks)
            for name, place in inside(f"block_states.{i}", block).items()
        }
    own: dict[str, str] = getattr(kernel, "statistics", {})
    return own


def inside(field: str, kernel: MCMCKernel) -> dict[str, str]:
    """The statistics of a kernel whose state is a field of another one's."""
    return {name: f"{field}.{place}" for name, place in statistics_of(kernel).items()}
