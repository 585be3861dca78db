"""Types of arrays, for annotations; shapes are jaxtyping's, as in ``Float[Array, "n D"]``."""

import numpy as np
from jax import Array
from numpy.typing import NDArray

AnyArray = Array | np.ndarray
"""What a traceable function takes that is also called with arrays of NumPy."""

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
