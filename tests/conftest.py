"""Tests run in double precision, as every computation of structbo does."""

import numpyro

numpyro.enable_x64()
