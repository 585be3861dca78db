"""Undocumented names of JAX and NumPyro, all in one place.

`tests/models/foundation/test_upstream.py` tests their expected behavior, and that no other file
imports them.
"""

from typing import Any

import jax.core
import jax.experimental.compilation_cache.compilation_cache
import jax.experimental.serialize_executable
import jax.extend.core
import numpyro.distributions.util
import numpyro.infer.gibbs
import numpyro.infer.util
import numpyro.primitives

Tracer = jax.core.Tracer
"""The type of values that are traced."""
Literal = jax.extend.core.Literal
"""A constant in a trace."""
ClosedJaxpr: Any = jax.extend.core.ClosedJaxpr
"""A trace with the values of its constants."""
jaxpr_as_fun: Any = jax.extend.core.jaxpr_as_fun
"""The function of a trace, from a flat list of arrays to another."""
reset_cache: Any = jax.experimental.compilation_cache.compilation_cache.reset_cache
"""Makes JAX read the settings of its persistent cache again."""
serialize: Any = jax.experimental.serialize_executable.serialize
"""Converts a compiled program to bytes and the trees of its arguments and result."""
deserialize_and_load: Any = jax.experimental.serialize_executable.deserialize_and_load
"""Converts them back to the program."""
lazy_property: Any = numpyro.distributions.util.lazy_property
"""Attributes of distributions that are computed lazily, which are not content."""
validate_sample: Any = numpyro.distributions.util.validate_sample
"""Warns about values outside of the support in ``log_prob``, as NumPyro does."""
latent_sample_sites: Any = numpyro.infer.gibbs.latent_sample_sites
"""The latent sites of a trace."""
prototype_trace: Any = numpyro.infer.gibbs.prototype_trace
"""The trace of one run of a model, as in `numpyro.infer.Gibbs`."""
conditioned: Any = numpyro.infer.gibbs.conditioned
"""A model that takes the values of sites from a keyword argument, as blocks of `Gibbs` do."""
with_conditioning: Any = numpyro.infer.gibbs.with_conditioning
"""Conditions a model on the values of other blocks, as in `numpyro.infer.Gibbs`."""
unconstrain_reparam: Any = numpyro.infer.util._unconstrain_reparam
"""The value of a site from a real number, and a factor of the model for the change of variables."""
Messenger: Any = numpyro.primitives.Messenger
"""The base class of handlers."""
