"""Leave-one-out densities against refits, and comparisons of families by them."""

from collections.abc import Callable
from typing import Any

import arviz as az
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from scipy.special import logsumexp
from scipy.stats import norm

from structbo.models import AdditiveGP, edges, pairs
from structbo.posterior import Posterior, compare
from structbo.posterior.leave_one_out import stacking_weights

FIXED = {"lengthscale": np.full(3, 0.5), "noise": 0.02, "outputscale": 1.0}


def data(function: Callable[..., np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.random((n, 3))
    y = function(*X.T) + 0.1 * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


def product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return np.sin(5 * a * b) + c


def posterior_of(Z: np.ndarray, X: np.ndarray, y: np.ndarray, spread: float = 0.1) -> Posterior:
    """Draws with these edges, (chains, draws, 3, 3), and nearly constant other sites."""
    rng = np.random.default_rng(4)
    draws: dict[str, Any] = {"Z": Z}
    for name, value in FIXED.items():
        shape = (*Z.shape[:2], *np.shape(value))
        draws[name] = value * np.exp(spread * rng.standard_normal(shape))
    return Posterior(AdditiveGP(edges(0.5, pairs)), X, y, draws)


@pytest.mark.nightly
def test_elpd_is_that_of_refits_without_each_observation(all_graphs: Callable[[int], Any]):
    """Over 8 graphs and 200 noise variances, ``p(y_i | y_-i) = p(y) / p(y_-i)`` is exact."""
    X, y = data(product, 20)
    graphs, noises = np.asarray(all_graphs(3)), np.geomspace(0.15, 0.6, 200)

    def function_covariance(Z: np.ndarray) -> np.ndarray:
        model = handlers.seed(AdditiveGP(edges(0.5, pairs)), 0)
        values = {"Z": jnp.asarray(Z), **FIXED, "noise": 0.0}
        run = handlers.trace(handlers.substitute(model, data=values))
        return np.asarray(run.get_trace(X)["y"]["fn"].gram)

    def evidence(rows: np.ndarray) -> np.ndarray:
        densities = []
        for K in functions:
            values, vectors = np.linalg.eigh(K[np.ix_(rows, rows)])
            variances = values + noises[:, None]
            squares = (vectors.T @ y[rows]) ** 2
            densities.append(norm.logpdf(np.sqrt(squares), 0.0, np.sqrt(variances)).sum(1))
        return np.concatenate(densities)

    functions = [function_covariance(Z) for Z in graphs]
    everything = np.arange(len(y))
    joint = evidence(everything)
    rest = [evidence(np.delete(everything, i)) for i in everything]
    exact = logsumexp(joint) - logsumexp(rest, axis=1)

    probabilities = np.exp(joint - logsumexp(joint))
    chosen = np.random.default_rng(5).choice(len(joint), (2, 1000), p=probabilities)
    posterior = posterior_of(graphs[chosen // len(noises)], X, y, spread=0.0)
    posterior.draws["noise"] = noises[chosen % len(noises)]
    loo = az.loo(posterior.to_arviz(num_prior_draws=2), pointwise=True)
    each = np.asarray(loo.elpd_i if hasattr(loo, "elpd_i") else loo.loo_i)
    np.testing.assert_allclose(each, exact, atol=0.05)
    assert np.max(loo.pareto_k) < 0.7
    table = compare({"edges": posterior})
    np.testing.assert_allclose(table.loc["edges", "elpd_loo"], np.sum(exact), atol=0.25)
    assert table.loc["edges", "weight"] == 1.0
    assert table.loc["edges", ["elpd_diff", "dse"]].tolist() == [0.0, 0.0]


ADDITIVE, FULL = np.zeros((1, 300, 3, 3), int), np.ones((1, 300, 3, 3), int) - np.eye(3, dtype=int)


@pytest.mark.parametrize(
    ("function", "best"),
    [(lambda a, b, c: np.sin(4 * a) + 2 * b**2 - np.cos(3 * c), "additive"), (product, "pairs")],
)
def test_the_family_of_the_function_predicts_best(function: Any, best: str):
    X, y = data(function, 40)
    table = compare(
        {
            name: posterior_of(Z, X, y, 0.005)
            for name, Z in (("pairs", FULL), ("additive", ADDITIVE))
        }
    )
    assert table.index[0] == best
    assert table.loc[best, "weight"] > 0.7
    assert table["weight"].sum() == pytest.approx(1.0)
    assert table["elpd_diff"].iloc[0] == 0.0 and table["elpd_diff"].iloc[1] < 0.0
    assert (table["se"] > 0.0).all() and table["dse"].iloc[1] > 0.0
    np.testing.assert_allclose(table["elpd_diff"], table["elpd_loo"] - table["elpd_loo"].max())


def test_high_pareto_k_is_told_by_name():
    X, y = data(product, 12)
    y[3] = 30.0
    with pytest.warns(UserWarning, match="leave-one-out of 'wild' is unreliable"):
        table = compare({"wild": posterior_of(ADDITIVE, X, y, spread=1.0)})
    assert table.loc["wild", "pareto_k"] > 0.7


# ArviZ 0.23 sorts in place, which pandas 3.1 deprecates.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_stacking_agrees_with_arviz():
    rng = np.random.default_rng(6)
    y = rng.standard_normal(80)
    densities = {}
    for name, scale in (("narrow", 0.4), ("wide", 2.5), ("far", 1.0)):
        shift = 3.0 * (name == "far") + 0.02 * rng.standard_normal((2, 100, 1))
        densities[name] = -0.5 * ((y - shift) / scale) ** 2 - np.log(scale)
    new = int(az.__version__.partition(".")[0]) >= 1
    groups = {
        name: {"posterior": {"y": v}, "log_likelihood": {"y": v}} for name, v in densities.items()
    }
    theirs = az.compare(
        {name: az.from_dict(g) if new else az.from_dict(**g) for name, g in groups.items()}
    )["weight"]
    pointwise = np.stack([np.log(np.exp(v).mean((0, 1))) for v in densities.values()], 1)
    ours = stacking_weights(pointwise)
    np.testing.assert_allclose(ours, theirs[list(densities)].to_numpy(float), atol=0.03)
    assert (ours[:2] > 0.1).all()


def test_stacking_does_not_underflow():
    np.testing.assert_allclose(stacking_weights([[-900.0, -2000.0], [-1000.0, -900.0]]), [0.5, 0.5])


def test_errors():
    X, y = data(product, 6)
    one = posterior_of(ADDITIVE, X, y)
    with pytest.raises(ValueError, match="the same X and y, but 'b' differs"):
        compare({"a": one, "b": posterior_of(ADDITIVE, X, -y)})
    with pytest.raises(ValueError, match="at least one posterior"):
        compare({})
