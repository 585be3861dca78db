"""Types of arrays, for annotations; shapes are jaxtyping's, as in ``Float[Array, "n D"]``."""

import numpy as np
from jax import Array
from jaxtyping import Float, Key, UInt32
from numpy.typing import NDArray

AnyArray = Array | np.ndarray
"""What a traceable function takes that is also called with arrays of NumPy."""

RandomKey = Key[Array, ""] | UInt32[Array, "2"]
"""A key in either style of JAX, for distributions, which NumPyro calls with keys of users."""

OneOrEach = Float[Array, ""] | Float[Array, " n"]
"""One number for all of n observations or points, or one for each."""

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
