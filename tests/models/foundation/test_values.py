"""Models, structures and priors compare, hash, print and pickle by content."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from jax import Array
from structure_registry import MATRIX, STRUCTURES

from structbo.models import (
    AdditiveGP,
    Decomposition,
    FiniteUniform,
    Residual,
    dimension_scaled,
    edges,
    fully_dependent,
    main_effects,
    matern52,
    mixture,
    sparse_axis_aligned,
)
from structbo.models.foundation.values import content, printed

MAKE: dict[str, Callable[[], Any]] = {
    **STRUCTURES,
    "sparse_axis_aligned(0.2)": lambda: sparse_axis_aligned(0.2),
    "AdditiveGP()": AdditiveGP,
    "AdditiveGP(edges(0.5), matern52, noise=LogNormal(0.0, 2.0), residual=Residual(), "
    "categorical=(1,))": lambda: AdditiveGP(
        edges(0.5),
        matern52,
        noise=dist.LogNormal(0.0, 2.0),
        residual=Residual(),
        categorical=[1],
    ),
    "AdditiveGP(lengthscale=partial(dimension_scaled, loc=1.0))": lambda: AdditiveGP(
        lengthscale=partial(dimension_scaled, loc=1.0)
    ),
    "AdditiveGP(lengthscale=FiniteUniform([0.25, 0.5]))": lambda: AdditiveGP(
        lengthscale=FiniteUniform([0.5, 0.25])
    ),
}


@pytest.mark.parametrize("call", MAKE)
def test_what_is_made_alike_is_equal_and_prints_as_its_call(call: str):
    one, other = MAKE[call](), MAKE[call]()
    assert one is not other
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == call
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one


def test_all_of_them_differ_from_each_other():
    values = {make() for make in MAKE.values()}
    assert len(values) == len(MAKE)
    assert values == {make() for make in MAKE.values()}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (edges(0.2), edges(0.3)),
        (edges(dist.Beta(1.0, 4.0)), edges(dist.Beta(1.0, 5.0))),
        (edges(MATRIX), edges(MATRIX + 0.1 * np.eye(3))),
        (mixture({"a": edges(), "b": edges(0.2)}), mixture({"b": edges(0.2), "a": edges()})),
        (AdditiveGP(residual=Residual()), AdditiveGP(residual=Residual(dist.Uniform(0.0, 0.5)))),
        (AdditiveGP(noise=dist.HalfNormal(1.0)), AdditiveGP(noise=dist.HalfCauchy(1.0))),
        (AdditiveGP(categorical=(0,)), AdditiveGP(categorical=(1,))),
    ],
)
def test_values_that_differ_in_one_part_are_different(one: Any, other: Any):
    assert one != other


def three(num_dims: int) -> Decomposition:
    return Decomposition.of(jnp.eye(num_dims, dtype=bool))


def several(num_dims: int, scale: float) -> Decomposition:
    return Decomposition.of(jnp.eye(num_dims, dtype=bool))


@dataclass(frozen=True)
class Fixed:
    """A user's structure that is a value: a frozen dataclass with arrays."""

    members: Array

    def __call__(self, num_dims: int) -> Decomposition:
        return Decomposition.of(self.members)


def test_functions_of_ones_own_count_by_identity_and_partials_by_their_parts():
    assert AdditiveGP(three) == AdditiveGP(three)
    assert AdditiveGP(lambda num_dims: three(num_dims)) != AdditiveGP(lambda d: three(d))
    assert AdditiveGP(partial(several, scale=2.0)) == AdditiveGP(partial(several, scale=2.0))
    assert AdditiveGP(partial(several, scale=2.0)) != AdditiveGP(partial(several, scale=3.0))


def test_frozen_dataclasses_of_ones_own_count_by_their_fields():
    eye = jnp.eye(2, dtype=bool)
    assert AdditiveGP(Fixed(eye)) == AdditiveGP(Fixed(jnp.eye(2, dtype=bool)))
    assert AdditiveGP(Fixed(eye)) != AdditiveGP(Fixed(~eye))


def test_what_a_value_is_made_of_cannot_be_replaced():
    with pytest.raises(AttributeError):
        AdditiveGP().structure = main_effects()  # type: ignore[misc]
    families = {"a": edges(), "b": main_effects()}
    structure = mixture(families)
    families["c"] = fully_dependent()
    assert structure == mixture({"a": edges(), "b": main_effects()})


PRIORS: dict[str, Callable[[], dist.Distribution]] = {
    "normal": lambda: dist.Normal(0.0, 1.0).expand([3]).to_event(1),
    "transformed": lambda: dist.TransformedDistribution(
        dist.HalfCauchy(1.0), dist.transforms.PowerTransform(-0.5)
    ),
    "multivariate": lambda: dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)),
    "categorical": lambda: dist.Categorical(logits=jnp.zeros(3)),
    "truncated": lambda: dist.TruncatedNormal(0.0, 1.0, low=0.0),
}


@pytest.mark.parametrize("name", PRIORS)
def test_distributions_count_by_their_parameters_and_not_by_what_was_computed_of_them(name: str):
    used, fresh = PRIORS[name](), PRIORS[name]()
    _ = used.support
    if name == "categorical":
        _ = used.probs
    elif name == "multivariate":
        _ = used.precision_matrix
    elif name == "transformed":
        _ = used.transforms[0].inv
    assert content(used) == content(fresh)
    assert len({content(make()) for make in PRIORS.values()}) == len(PRIORS)


def test_what_content_tells_apart():
    assert content(np.nan) == content(np.nan)
    assert content(1.0) != content(1)
    assert content(np.ones(2)) != content(np.ones(2, np.float32))
    assert content(np.ones((1, 2))) != content(np.ones((2, 1)))
    assert content({"a": np.ones(2)}) == content({"a": jnp.ones(2)})
    unhashable = {1, 2}
    assert content(unhashable) == content(unhashable)
    assert content(unhashable) != content({1, 2})


def test_everything_prints():
    assert printed((1, lambda x: x, None)) == "(1, <lambda>, None)"
    assert printed(np.float64(0.5)) == "0.5"
    assert printed(("a",)) == "('a',)"
