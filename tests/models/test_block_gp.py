"""The Gaussian process with hyper-parameters of blocks, against a dense reference."""

import jax
import numpy as np
import pytest
from numpyro import handlers
from scipy.stats import multivariate_normal

from structbo.models import BlockGP

X = np.random.default_rng(0).random((6, 4))
Y = np.random.default_rng(1).normal(size=6)
LABELS = np.array([0, 1, 0, 2])


@pytest.mark.parametrize("is_shared", [False, True])
def test_the_covariance_is_a_sum_of_isotropic_kernels(is_shared: bool) -> None:
    """The fourth lengthscale and variance belong to no block."""
    lengthscale = np.full(4, 0.5) if is_shared else np.array([0.3, 0.7, 1.5, 9.0])
    variance = np.full(4, 2.0) if is_shared else np.array([1.0, 0.2, 3.0, 50.0])
    values = {
        "labels": LABELS,
        "lengthscale": lengthscale[0] if is_shared else lengthscale,
        "variance": variance[0] if is_shared else variance,
        "noise": 0.1,
    }
    model = handlers.seed(handlers.substitute(BlockGP(is_shared), values), 0)
    site = handlers.trace(model).get_trace(X, Y)["y"]
    gram = 0.1 * np.eye(6)
    for block, (scale, amount) in enumerate(zip(lengthscale[:3], variance[:3], strict=True)):
        gaps = X[:, None, block == LABELS] - X[None, :, block == LABELS]
        gram += amount * np.exp(-0.5 * np.square(gaps / scale).sum(2))
    np.testing.assert_allclose(site["fn"].gram, gram, rtol=1e-9)
    expected = multivariate_normal(np.zeros(6), gram).logpdf(Y)
    np.testing.assert_allclose(jax.jit(site["fn"].log_prob)(Y), expected, rtol=1e-8)


def test_needs_64_bit_floats_as_other_models_do() -> None:
    with jax.enable_x64(False), pytest.raises(RuntimeError, match=r"numpyro.enable_x64\(\)"):
        handlers.seed(BlockGP(), 0)(X.astype(np.float32))


def test_parameters_are_counted_by_block() -> None:
    assert [BlockGP().num_parameters(x) for x in ([0, 0, 0], [0, 1, 1], [0, 1, 2])] == [3, 5, 7]
    assert BlockGP(is_shared=True).num_parameters([0, 1, 2]) == 3
