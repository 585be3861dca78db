"""From a model to the kernel that draws its sites."""

import inspect
from collections.abc import Callable
from typing import Any

from numpyro.infer.mcmc import MCMCKernel

from structbo.models.likelihood import Model

Sampler = Callable[..., MCMCKernel]
"""From a NumPyro model to a kernel, such as `default_sampler`, `ParallelTempering` or `NUTS`.

One with an argument ``num_dims`` is told the number of dimensions."""


def kernel_of(sampler: Sampler, model: Model, num_dims: int) -> MCMCKernel:
    """The kernel that a sampler makes of a model.

    Args:
        sampler: from the model to the kernel.
        model: a NumPyro model, ``model(X, y=None)``.
        num_dims: the number of columns of X.

    Raises:
        TypeError: if the sampler cannot be called, or gives something else than a kernel.

    Example:
        >>> from numpyro.infer import NUTS
        >>> type(kernel_of(NUTS, lambda X, y=None: None, num_dims=2)).__name__
        'NUTS'
    """
    if not callable(sampler) or isinstance(sampler, MCMCKernel):
        raise TypeError(
            "sampler must be a function from a model to a kernel, such as "
            f"structbo.samplers.default_sampler or numpyro.infer.NUTS, got {sampler!r}."
        )
    is_told = "num_dims" in inspect.signature(sampler).parameters
    kernel: Any = sampler(model, num_dims=num_dims) if is_told else sampler(model)
    if not isinstance(kernel, MCMCKernel):
        raise TypeError(f"sampler must give a kernel of NumPyro, {sampler!r} gave {kernel!r}.")
    return kernel
