"""Tests run in double precision, and with one thread of linear algebra.

Threads of OpenBLAS spin while they wait for each other: on a busy machine a Cholesky of 200 rows
then takes a hundred times as long. The variable must be set before SciPy is imported.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpyro

numpyro.enable_x64()
