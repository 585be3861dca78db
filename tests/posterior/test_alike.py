"""Which choices are alike, for known correlations."""

import matplotlib
import numpy as np
import pytest

from structbo import Categorical, Posterior, Space, plot_alike
from structbo.models import AdditiveGP, Centered, LevelCorrelations
from structbo.posterior import Units

SPACE = Space({"x": (0.0, 1.0), "solvent": Categorical(["water", "ethanol", "hexane"])})
CORRELATIONS = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])


def posterior(centered: bool) -> Posterior:
    """Two equal draws; the lengthscale is so short that all correlations are learned ones."""
    kernel = LevelCorrelations(3)
    model = AdditiveGP(kernels={1: Centered(kernel) if centered else kernel})
    sites = {
        "Z": np.zeros((2, 2), int),
        "lengthscale": np.array([0.5, 0.01]),
        "outputscale": 1.0,
        "noise": 0.1,
        "level_correlations_3": np.linalg.cholesky(CORRELATIONS)[None],
    }
    draws = {name: np.broadcast_to(v, (1, 2, *np.shape(v))) for name, v in sites.items()}
    return Posterior(
        model, np.zeros((0, 2)), np.zeros(0), draws, names=SPACE.names, units=Units(SPACE)
    )


@pytest.mark.parametrize("centered", [False, True])
def test_alike_choices_have_small_expected_differences(centered: bool):
    """The squared differences are 0.2, 2 and 2; centering does not change them."""
    table = posterior(centered).alike("solvent")
    assert list(table.index) == list(table.columns) == ["water", "ethanol", "hexane"]
    average = (0.2 + 2.0 + 2.0) / 3.0
    expected = 1.0 - np.array([[0.0, 0.2, 2.0], [0.2, 0.0, 2.0], [2.0, 2.0, 0.0]]) / average
    np.testing.assert_allclose(table, expected, atol=1e-9)


def test_alike_choices_are_neighbors_in_the_picture():
    matplotlib.use("agg")
    axes = plot_alike(posterior(True), "solvent")
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert abs(labels.index("water") - labels.index("ethanol")) == 1
    with pytest.raises(ValueError, match=r"a category, one of \['solvent'\], got 'x'"):
        plot_alike(posterior(True), "x")
