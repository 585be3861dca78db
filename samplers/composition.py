"""Conversion of sampler functions and NumPyro kernels to a pure sampler of all sites."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpyro.infer import Gibbs
from numpyro.infer.mcmc import MCMCKernel

from structbo.models.foundation.sites import is_point_mass, is_summed
from structbo.models.foundation.upstream import latent_sample_sites
from structbo.models.likelihood import Model
from structbo.models.prototype import prior_trace
from structbo.samplers.block_gibbs import BlockGibbs, without
from structbo.samplers.numpyro_kernel import NumPyroKernel
from structbo.samplers.sampler import Arguments, Sampler

SamplerFactory = Callable[..., MCMCKernel]
"""A function from a NumPyro model to a kernel, such as `default_sampler` or `NUTS`.

A function with an argument ``num_dims`` receives the number of dimensions."""


def kernel_of(factory: SamplerFactory, model: Model, num_dims: int) -> MCMCKernel:
    """The kernel that a function builds for a model.

    Args:
        factory: function from the model to the kernel.
        model: a NumPyro model, ``model(X, y=None)``.
        num_dims: the number of columns of X.

    Raises:
        TypeError: if the factory is not callable, or does not return a kernel.

    Example:
        >>> from numpyro.infer import NUTS
        >>> type(kernel_of(NUTS, lambda X, y=None: None, num_dims=2)).__name__
        'NUTS'
    """
    if not callable(factory) or isinstance(factory, MCMCKernel):
        raise TypeError(
            "sampler must be a function from a model to a kernel, such as "
            f"structbo.samplers.default_sampler or numpyro.infer.NUTS, got {factory!r}."
        )
    is_told = "num_dims" in inspect.signature(factory).parameters
    kernel: Any = factory(model, num_dims=num_dims) if is_told else factory(model)
    if not isinstance(kernel, MCMCKernel):
        raise TypeError(f"sampler must return a NumPyro kernel, {factory!r} returned {kernel!r}.")
    return kernel


def composed(
    kernel: MCMCKernel, model: Model, num_dims: int, num_warmup: int | None = None
) -> BlockGibbs:
    """The pure sampler equivalent to a kernel.

    Args:
        kernel: a sampler of this package, or any NumPyro kernel. A `numpyro.infer.Gibbs` is
            replaced by its blocks.
        model: the NumPyro model of the kernel.
        num_dims: the number of columns of X.
        num_warmup: number of warm-up steps, for kernels that schedule their adaptation; None for
            a warm-up without end.

    Raises:
        ValueError: if the blocks do not own every latent site exactly once, or a prior is a point
            mass.
    """
    if isinstance(kernel, BlockGibbs):
        return kernel
    trace = prior_trace(model, num_dims)
    latent = [name for name in latent_sample_sites(trace) if not is_summed(trace[name])]
    check_priors(latent, trace)
    blocks = [(block, sites) for block, sites in _flat(kernel, latent, trace) if sites]
    _check_owners(latent, [name for _, sites in blocks for name in sites])
    values = {name: trace[name]["value"] for name in latent}
    arguments = Arguments((np.full((2, num_dims), 0.5), np.zeros(2)), {})

    def pure(block: MCMCKernel, sites: Sequence[str]) -> Sampler:
        if isinstance(block, Sampler):
            return block
        own = {name: values[name] for name in sites}
        return NumPyroKernel(block, num_warmup, own, arguments.given(without(values, sites)))

    has_deterministic = any(site["type"] == "deterministic" for site in trace.values())
    samplers = [(pure(block, sites), tuple(sites)) for block, sites in blocks]
    return BlockGibbs(model, samplers, has_deterministic)


def _flat(
    kernel: MCMCKernel, sites: Sequence[str], trace: Any
) -> Iterator[tuple[MCMCKernel, Sequence[str]]]:
    """The blocks of a kernel for the given sites, with the sites of each block."""
    if not isinstance(kernel, Gibbs):
        yield kernel, sites
        return
    chosen = [(block, _selected(which, trace)) for block, which in kernel.blocks]
    owned = {name for _, own in chosen for name in own or ()}
    rest = [name for name in sites if name not in owned]
    for block, own in chosen:
        yield from _flat(block, rest if own is None else own, trace)


def _selected(which: Any, trace: Any) -> Sequence[str] | None:
    """The sites of a block, which may be a function of the trace; None for all that remain."""
    sites: Any = which(trace) if callable(which) else which
    return sites


def check_priors(latent: Sequence[str], trace: Any) -> None:
    """Checks that no latent site is a point mass.

    Raises:
        ValueError: if one is.
    """
    if fixed := [name for name in latent if is_point_mass(trace[name]["fn"])]:
        raise ValueError(
            f"the priors of {fixed} are point masses, whose sites no sampler can move: make them "
            "numpyro.deterministic sites."
        )


def _check_owners(latent: Sequence[str], owned: Sequence[str]) -> None:
    if Counter(latent) != Counter(owned):
        raise ValueError(
            f"the blocks of a sampler must own every latent site exactly once: the model has "
            f"{sorted(latent)}, the blocks own {sorted(owned)}. A block with None for its sites "
            "owns all that remain."
        )
