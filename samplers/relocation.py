"""The state of a kernel at other values of its sites."""

from typing import Any

from jax import Array
from numpyro.infer import Gibbs
from numpyro.infer.mcmc import MCMCKernel

from structbo.models.foundation.upstream import with_conditioning


def relocated(
    kernel: MCMCKernel,
    state: Any,
    z: dict[str, Array],
    model_args: tuple[Any, ...],
    model_kwargs: dict[str, Any],
) -> Any:
    """A kernel's state moved to other values; what depends on values and data is computed anew.

    Step sizes and all else that was adapted stay.

    Args:
        kernel: the kernel; one of `numpyro.infer.Gibbs` is moved block by block.
        state: its state.
        z: values of its sites, in its own representation.
        model_args: arguments of the model.
        model_kwargs: keyword arguments of the model.

    Returns:
        A state of the same kind.
    """
    if not isinstance(kernel, Gibbs):
        moved = state._replace(**{kernel.sample_field: z})
        return kernel.refresh(moved, model_args, model_kwargs)
    values = kernel.get_constrain_fn(model_args, model_kwargs)(z)
    blocks = []
    for (block, _), block_state in zip(kernel.blocks, state.block_states, strict=True):
        own = {name: z[name] for name in getattr(block_state, block.sample_field)}
        others = {name: value for name, value in values.items() if name not in own}
        kwargs = with_conditioning(model_kwargs, others)
        blocks.append(relocated(block, block_state, own, model_args, kwargs))
    return state._replace(z=z, block_states=tuple(blocks))
