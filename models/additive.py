"""The additive Gaussian process as a NumPyro model."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TypeAlias

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.typing import ArrayLike

from structbo.models.covariance import AdditiveCovariance
from structbo.models.decomposition import Structure
from structbo.models.gp import MarginalGP
from structbo.models.kernels import Kernel, squared_exponential
from structbo.models.precision import is_double
from structbo.models.priors import moderate
from structbo.models.structure_checks import check_structure, run_structure
from structbo.models.structures.edge_matrix import edges
from structbo.models.values import Value

LengthscalePrior: TypeAlias = dist.Distribution | Callable[[int], dist.Distribution]

OWN_SITES = ("lengthscale", "outputscale", "noise", "relevance", "rho", "kappa", "y")
"""Names of the sites of `AdditiveGP`, which a structure may not use."""


@dataclass(frozen=True, eq=False, repr=False)
class Residual(Value):
    """Priors of one more component over all dimensions, for what the structure does not explain.

    It is to be smoother than the structured components: in many dimensions a product of short
    lengthscales is all but white noise, which hides from the acquisition what they explain.

    Args:
        rho: its share of the variance, in [0, 1].
        kappa: the factor by which its lengthscales exceed the shared ones, by default at least 1.
    """

    rho: dist.Distribution = dist.Uniform(0.0, 1.0)
    kappa: dist.Distribution = dist.Pareto(1.0, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class AdditiveGP(Value):
    """A Gaussian process that is a sum over the components of a random structure.

    An instance is a NumPyro model, ``model(X, y=None, mask=None)``, with the structure's sites and
    the sites ``lengthscale`` (D,), ``outputscale``, ``noise``, optionally ``relevance`` (D,),
    ``rho`` and ``kappa``, and the observed site ``y``. It needs 64-bit floats.

    It is a value: models of equal parts are equal, and share compiled programs. A function of your
    own, as structure or prior, equals itself alone; define it once, at the top of a module, and
    models with it also share programs and pickle. `functools.partial` counts by its parts.

    Args:
        structure: a function from the number of dimensions to a random `Decomposition`.
        kernel: the one-dimensional correlation function that components multiply.
        lengthscale: prior of each lengthscale, or a function from D to it.
        outputscale: prior of the variance of the function.
        noise: prior of the noise variance.
        relevance: prior of the relative variance of each dimension, from which component variances
            are learned; None fixes them in proportion to component sizes.
        residual: priors of the residual component, or None for none.
        categorical: indices of categorical dimensions.

    Raises:
        TypeError: if the structure is not a function of one argument; when the model runs, if it
            returns anything but a `Decomposition`.
        ValueError: when the model runs, if its decomposition is not one of D dimensions or is
            inconsistent.

    References:
        Rolland et al. 2018, sections 2, 4 and 5.

    Example:
        >>> model = AdditiveGP(edges(0.2))
        >>> model == AdditiveGP(edges(0.2))
        True
        >>> with numpyro.handlers.seed(rng_seed=0):
        ...     model(jnp.zeros((3, 2))).shape
        (3,)
    """

    structure: Structure = edges()
    kernel: Kernel = squared_exponential
    _: KW_ONLY
    lengthscale: LengthscalePrior = moderate
    outputscale: dist.Distribution = dist.LogNormal(0.0, 1.0)
    noise: dist.Distribution = dist.LogNormal(-5.0, 1.5)
    relevance: dist.Distribution | None = None
    residual: Residual | None = None
    categorical: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "categorical", tuple(self.categorical))
        check_structure(self.structure)

    def __call__(
        self, X: ArrayLike, y: ArrayLike | None = None, mask: ArrayLike | None = None
    ) -> Array:
        """Runs the model.

        Args:
            X: points of the unit cube, shape (n, D).
            y: standardized observations, shape (n,); None draws them.
            mask: which rows are data and not padding, bool, shape (n,). Default: all.

        Returns:
            The observations, shape (n,).
        """
        if not is_double():
            raise RuntimeError(
                "AdditiveGP needs 64-bit floats and jax_enable_x64 is off: call "
                "numpyro.enable_x64() first, or run inside `with jax.enable_x64(True):`."
            )
        X = jnp.asarray(X, float)
        if X.ndim != 2:
            raise ValueError(f"X must have shape (n, D), got {X.shape}.")
        decomposition = run_structure(self.structure, X.shape[1], taken=OWN_SITES)
        num_dims = decomposition.members.shape[1]
        if self.categorical and decomposition.projection is not None:
            raise ValueError(
                f"dimensions {self.categorical} are categorical and cannot be projected: use a "
                "structure without a projection."
            )
        prior = self.lengthscale
        if not isinstance(prior, dist.Distribution):
            prior = prior(num_dims)
        covariance = AdditiveCovariance(
            decomposition=decomposition,
            lengthscale=numpyro.sample("lengthscale", _each(prior, num_dims)),
            outputscale=numpyro.sample("outputscale", self.outputscale),
            relevance=None
            if self.relevance is None
            else numpyro.sample("relevance", _each(self.relevance, num_dims)),
            rho=None if self.residual is None else numpyro.sample("rho", self.residual.rho),
            kappa=None if self.residual is None else numpyro.sample("kappa", self.residual.kappa),
            kernel=self.kernel,
            categorical=self.categorical,
        )
        noise = numpyro.sample("noise", self.noise)
        rows = None if mask is None else jnp.asarray(mask, bool)
        observed = None if y is None else jnp.asarray(y, float)
        return numpyro.sample("y", MarginalGP(covariance, X, noise, rows), obs=observed)


def _each(prior: dist.Distribution, num_dims: int) -> dist.Distribution:
    return prior if prior.event_shape else prior.expand([num_dims]).to_event(1)
