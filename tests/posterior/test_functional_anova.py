"""The model of what interacts: its parts for every parameter, and what it learns."""

import numpy as np
import pytest

from structbo import Categorical, Fixed, Integer, Ordinal, Posterior, Space, anova_model, fit
from structbo.models import (
    Centered,
    Exchangeable,
    Interactions,
    Kernel,
    LevelCorrelations,
    squared_exponential,
)
from structbo.models.prototype import prior_trace


def levels(*coordinates: float) -> Kernel:
    return Centered(squared_exponential, coordinates)


@pytest.mark.parametrize(
    ("parameter", "kernel"),
    [
        ((0.0, 1.0), None),
        (Fixed(3.0), None),
        (Integer(1, 1000), None),
        (Integer(1, 64, log=True), None),
        (Integer(1, 3), levels(0.0, 0.5, 1.0)),
        (Ordinal([1.0, 2.0, 5.0]), levels(0.0, 0.5, 1.0)),
        (Categorical([*"abcd"]), Centered(Exchangeable(4))),
        (Categorical([*"abcde"]), Centered(LevelCorrelations(5))),
        (Categorical([*"abcdefghijkl"]), Centered(LevelCorrelations(12))),
        (Categorical([*"abcdefghijklm"]), Centered(Exchangeable(13))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_kernels_average_over_the_values_of_a_parameter(parameter: object, kernel: Kernel | None):
    model = anova_model({"other": (0.0, 1.0), "parameter": parameter})
    assert (model.kernels or {}).get(1) == kernel
    assert prior_trace(model, 2)["y"]["fn"].covariance.own_dims in ((0, 1), (1, 0))


def test_one_parameter_has_a_model():
    trace = prior_trace(anova_model({"x": (0.0, 1.0)}), 1)
    assert "interaction" not in trace and np.isfinite(trace["y"]["fn"].covariance.shares).all()


@pytest.mark.parametrize(("num_dims", "probability"), [(1, 0.5), (3, 0.5), (9, 0.25), (21, 0.1)])
def test_two_partners_are_expected(num_dims: int, probability: float):
    model = anova_model({f"x{d}": (0.0, 1.0) for d in range(num_dims)})
    assert model.structure.probability == probability
    assert (model.interactions == Interactions(own=None)) == (num_dims == 21)


@pytest.mark.nightly
def test_the_prior_is_what_the_documentation_says():
    """Of five parameters: shares of orders, and the probability that a pair matters."""
    model = anova_model({f"x{d}": (0.0, 1.0) for d in range(5)})
    trace = prior_trace(model, 5)
    values = {name: site["value"] for name, site in trace.items() if name != "y"}
    prior = Posterior.at(model, np.zeros((1, 5)), [0.0], values).prior(num_draws=256)
    found = prior.importances(max_draws=256)
    assert found.first_order.mean.sum() == pytest.approx(0.54, abs=0.05)
    assert found.higher_order.mean == pytest.approx(0.24, abs=0.05)
    pairs = np.triu_indices(5, 1)
    assert found.pairs.matters[pairs].mean() == pytest.approx(0.36, abs=0.05)


def learned(y: np.ndarray, x: np.ndarray) -> Posterior:
    space = Space({name: (0.0, 1.0) for name in "abc"})
    return fit(
        anova_model(space), x, y, space=space, num_chains=2, num_samples=100,
        show_progress_bar=False,
    )  # fmt: skip


def test_an_edge_is_an_interaction_and_a_main_effect_is_none():
    """Of 40 values: a product of centered factors, and a sum of strong curves."""
    x = np.random.default_rng(0).random((40, 3))
    product = learned((x[:, 0] - 0.5) * (x[:, 1] - 0.5), x)
    found = product.importances()
    assert product.edge_probabilities().mean[0, 1] > 0.95
    assert found.pairs.lower[0, 1] > 0.8 and found.first_order.upper.max() < 0.1
    curves = learned(np.sin(6.0 * x[:, 0]) + np.exp(2.0 * x[:, 1]), x)
    assert curves.edge_probabilities().mean.max() < 0.5
    assert curves.importances().pairs.upper.max() < 0.02
