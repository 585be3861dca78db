"""Names of JAX and NumPyro that their documentation does not promise, all in one place.

`tests/models/foundation/test_upstream.py` states what is expected of these names, and that no other
file imports them.
"""

from typing import Any

import jax.core
import jax.experimental.compilation_cache.compilation_cache
import jax.experimental.serialize_executable
import jax.extend.core
import numpyro.distributions.util
import numpyro.infer.gibbs
import numpyro.primitives

Tracer = jax.core.Tracer
"""What a value is while a function is traced: whether it is known."""
Literal = jax.extend.core.Literal
"""A number in a trace, which depends on nothing."""
reset_cache: Any = jax.experimental.compilation_cache.compilation_cache.reset_cache
"""Makes JAX look at the settings of its persistent cache once more."""
serialize: Any = jax.experimental.serialize_executable.serialize
"""A compiled program as bytes, and the trees of its arguments and its result."""
deserialize_and_load: Any = jax.experimental.serialize_executable.deserialize_and_load
"""The program that these are."""
lazy_property: Any = numpyro.distributions.util.lazy_property
"""Attributes of distributions that are computed when they are first needed: no content."""
validate_sample: Any = numpyro.distributions.util.validate_sample
"""Warns about values outside of the support, in a ``log_prob`` of our own as in NumPyro's."""
latent_sample_sites: Any = numpyro.infer.gibbs.latent_sample_sites
"""Which sites of a trace are to be sampled."""
prototype_trace: Any = numpyro.infer.gibbs.prototype_trace
"""One run of a model, as `numpyro.infer.Gibbs` looks at it."""
with_conditioning: Any = numpyro.infer.gibbs.with_conditioning
"""How `numpyro.infer.Gibbs` hands the values of other blocks to a block."""
Messenger: Any = numpyro.primitives.Messenger
"""The class of handlers, for one of our own."""
