"""Errors of a model are raised before any evaluation or compilation."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import structbo as sb
from structbo.draws import check_run, latent_sites
from structbo.models import AdditiveGP, Decomposition, EdgeBernoulli, edges, pairs
from structbo.models.kernels import Centered, Exchangeable, Kernel, LevelCorrelations
from structbo.optimizer import Settings
from structbo.posterior import Posterior
from structbo.samplers import default_sampler

SPACE = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}
X = np.random.default_rng(0).random((6, 3))


def forgets_to_return(num_dims):
    numpyro.sample("Z", EdgeBernoulli(num_dims))


def branches(num_dims):
    Z = numpyro.sample("Z", EdgeBernoulli(num_dims))
    return pairs(Z if Z.sum() > 2 else 0 * Z)


def too_many(num_dims):
    return pairs(numpyro.sample("Z", EdgeBernoulli(num_dims + 1)))


def negative(num_dims):
    decomposition = Decomposition.of(jnp.eye(num_dims, dtype=bool))
    return replace(decomposition, weights=jnp.array([-1.0, 1.0, 1.0]))


TRACED = [forgets_to_return, branches, too_many]


@pytest.mark.parametrize("structure", TRACED)
@pytest.mark.parametrize(
    "use",
    [
        lambda model: sb.Optimizer(SPACE, "minimize", model=model),
        lambda model: sb.suggest(SPACE, X[:1], [0.0], model=model, direction="minimize"),
        lambda model: sb.minimize(pytest.fail, SPACE, model=model, n_trials=1),
    ],
    ids=["Optimizer", "suggest", "minimize"],
)
def test_wrong_structures_are_seen_before_the_first_evaluation(structure, use):
    with pytest.raises((TypeError, ValueError), match=f"structure {structure.__name__} "):
        use(AdditiveGP(structure))


@pytest.mark.parametrize("structure", [forgets_to_return, too_many, negative])
def test_wrong_structures_are_seen_by_the_sampler(structure):
    with pytest.raises((TypeError, ValueError), match=f"structure {structure.__name__} "):
        default_sampler(AdditiveGP(structure), num_dims=3)


@pytest.mark.parametrize("structure", [forgets_to_return, branches, too_many, negative])
def test_wrong_structures_are_seen_by_fit(structure):
    with pytest.raises((TypeError, ValueError), match=f"structure {structure.__name__} "):
        sb.fit(AdditiveGP(structure), X, X[:, 0], num_samples=1, show_progress_bar=False)


def without_likelihood(X, y=None, mask=None):
    numpyro.sample("y", dist.Normal(X.sum(1), 1.0).to_event(1), obs=y)


def with_two_likelihoods(X, y=None, mask=None):
    AdditiveGP()(X, y, mask)
    with numpyro.handlers.scope(prefix="other"):
        AdditiveGP()(X, y, mask)


@pytest.mark.parametrize(
    ("model", "number", "site"),
    [(without_likelihood, 0, "y \\(Independent\\)"), (with_two_likelihoods, 2, "other/y")],
)
def test_a_model_has_one_marginal_gp(model, number, site):
    message = f"one site that is a MarginalGP, got {number} of them among its sites: .*{site}"
    with pytest.raises(ValueError, match=message):
        sb.Optimizer(SPACE, "minimize", model=model)
    draws = dict.fromkeys(("deterministic", *latent_sites(model, 3)), np.ones((1, 2)))
    posterior = Posterior(model, X, X[:, 0], draws)
    with pytest.raises(ValueError, match=message):
        posterior.prior(num_draws=2)
    with pytest.raises(ValueError, match=message):
        posterior.effect("x0")


def test_its_name_is_free():
    model = numpyro.handlers.scope(AdditiveGP(edges(0.4)), prefix="gp", divider="_")
    draws = {"gp_Z": np.zeros((1, 4, 3, 3), int), "gp_lengthscale": np.ones((1, 4, 3))}
    draws |= {"gp_outputscale": np.ones((1, 4)), "gp_noise": np.ones((1, 4))}
    posterior = Posterior(model, X, X[:, 0], draws)
    check_run(model, 3)
    prior = posterior.prior(num_draws=200)
    assert set(prior.draws) == set(draws)
    assert abs(prior.edge_probabilities().mean[0, 1] - 0.4) < 4.0 * np.sqrt(0.24 / 200)
    assert posterior.effect("x0").mean.shape == (33,)
    assert np.isfinite(posterior.predict(X)).all()


@pytest.mark.parametrize(
    ("num_dims", "has_pairs", "has_common"),
    [(20, True, False), (21, True, True), (200, True, True), (201, False, True)],
)
def test_the_default_model_depends_on_the_number_of_parameters(
    num_dims: int, has_pairs: bool, has_common: bool
) -> None:
    """Few parameters get no effect in common, and many get no pairs."""
    space = sb.Space.box([[0.0, 1.0]] * num_dims)
    sites = latent_sites(Settings.of(space).model, 3)
    assert (("Z" in sites), ("common" in sites)) == (has_pairs, has_common)
    without = sb.default_model(has_residual=False, num_dims=num_dims)
    assert "common" not in latent_sites(without, 3)


@pytest.mark.parametrize(("num_dims", "num_pairs"), [(91, 4095), (92, 4096), (200, 4096)])
def test_the_default_model_has_room_for_some_pairs(num_dims: int, num_pairs: int) -> None:
    """It expects at most num_dims / 2."""

    def num_rows() -> int:
        with numpyro.handlers.seed(rng_seed=0):
            return len(sb.default_model(num_dims=num_dims).structure(num_dims).members)

    assert num_rows() == num_dims + num_pairs


@pytest.mark.nightly
def test_a_search_among_very_many_parameters_has_no_table_of_pairs() -> None:
    """A table of all pairs of 1,500 parameters would take gigabytes."""
    optimizer = sb.Optimizer(sb.Space.box([[0.0, 1.0]] * 1500), seed=0)
    for x in np.random.default_rng(0).random((20, 1500)):
        optimizer.tell(x, float(x[:3].sum()))
    trial = optimizer.ask()
    assert trial.params.shape == (1500,)
    assert optimizer.draws is not None and optimizer.draws["lengthscale"].shape[1] == 1500


@pytest.mark.parametrize("kernel", [LevelCorrelations(3), Centered(Exchangeable(3))])
def test_kernels_of_levels_have_the_levels_of_their_parameter(kernel: Kernel):
    """Two choices would count as one level."""
    space = {"x": (0.0, 1.0), "c": sb.Categorical(["a", "b", "d", "e"])}
    model = AdditiveGP(kernels={1: kernel})
    with pytest.raises(ValueError, match=r"the kernel of 'c' has 3 levels, and .* has 4"):
        sb.Optimizer(space, model=model)
    with pytest.raises(ValueError, match=r"give it (LevelCorrelations|Exchangeable)\(4\)"):
        sb.fit(model, [{"x": 0.5, "c": "a"}], [1.0], space=space)
    sb.Optimizer(space | {"c": sb.Categorical(["a", "b", "d"])}, model=model)
