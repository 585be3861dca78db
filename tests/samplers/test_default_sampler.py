"""The composition that fits a model's sites."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.distributions import constraints
from numpyro.infer import MCMC, NUTS, Gibbs
from structure_registry import NUM_DIMS, STRUCTURES

from structbo.models import (
    ActiveBernoulli,
    AdditiveGP,
    Adjacency,
    Decomposition,
    EdgeBernoulli,
    FiniteUniform,
    Residual,
    adjacency,
    cliques,
    edges,
    main_effects,
    pairs,
    partitions,
)
from structbo.models.foundation.upstream import latent_sample_sites
from structbo.models.kernels import Periodic
from structbo.models.prototype import prior_trace
from structbo.samplers import (
    BLOCKS,
    EdgeGibbs,
    GridGibbs,
    Hamiltonian,
    InformedEdges,
    PartitionMoves,
    default_sampler,
    search_sampler,
)

GRID = [0.2, 0.5, 1.0]


def all_fixed_but_edges() -> AdditiveGP:
    data = {
        "lengthscale": 0.5 * jnp.ones(2),
        "outputscale": jnp.array(1.0),
        "noise": jnp.array(0.1),
    }
    return handlers.condition(AdditiveGP(), data=data)


@pytest.mark.parametrize(
    ("model", "blocks"),
    [
        (AdditiveGP(), [InformedEdges, Hamiltonian]),
        pytest.param(
            AdditiveGP(edges(dist.Beta(1, 4), components=cliques)),
            [InformedEdges, Hamiltonian],
            marks=pytest.mark.nightly,
        ),
        (AdditiveGP(partitions()), [PartitionMoves, Hamiltonian]),
        (AdditiveGP(lengthscale=FiniteUniform(GRID)), [InformedEdges, GridGibbs, Hamiltonian]),
        (AdditiveGP(noise=FiniteUniform([0.01, 0.1])), [InformedEdges, GridGibbs, Hamiltonian]),
        (handlers.condition(AdditiveGP(), data={"Z": jnp.zeros((2, 2), int)}), [Hamiltonian]),
        (all_fixed_but_edges(), [InformedEdges]),
    ],
    ids=[
        "edges",
        "cliques",
        "partitions",
        "grid of vectors",
        "grid of a scalar",
        "known graph",
        "only edges",
    ],
)
def test_blocks_follow_supports(model, blocks):
    assert [type(kernel) for kernel, _ in default_sampler(model).blocks] == blocks


# Slow to compile; faster rows and tests cover their sites.
SLOW = {
    "edges(0.2, max_width=1)",
    "edges(Beta(1.0, 4.0), cliques)",
    "partitions(max_size=2)",
    "projections(NearIdentity, main_effects())",
    "mixture({'a': edges(), 'b': main_effects()}, [0.25, 0.75])",
}


@pytest.mark.parametrize(
    "call",
    [pytest.param(c, marks=pytest.mark.nightly if c in SLOW else []) for c in STRUCTURES],
)
def test_every_structure_has_blocks_for_its_sites(call: str):
    """All but the last, which moves the sites that no other block does."""
    structure = STRUCTURES[call]()
    trace = handlers.trace(handlers.seed(structure, 0)).get_trace(NUM_DIMS)
    discrete = {name for name, site in trace.items() if site["fn"].support.is_discrete}
    *blocks, _ = default_sampler(AdditiveGP(structure), num_dims=NUM_DIMS).blocks
    assert {site for _, sites in blocks for site in sites} == discrete


def test_remainder_may_be_another_kernel():
    model = AdditiveGP()
    kernel = default_sampler(model, remainder=NUTS(model))
    assert [type(block) for block, _ in kernel.blocks] == [InformedEdges, NUTS]


def run(model, args, num_samples: int = 25) -> dict[str, jax.Array]:
    mcmc = MCMC(
        default_sampler(model, num_dims=args[0].shape[1]),
        num_warmup=25,
        num_samples=num_samples,
        num_chains=2,
        chain_method=jax.vmap,
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), *args)
    return mcmc.get_samples(group_by_chain=True)


@pytest.mark.nightly
def test_two_chains_with_every_kind_of_site(data):
    model = AdditiveGP(edges(dist.Beta(1, 4)), lengthscale=FiniteUniform(GRID), residual=Residual())
    draws = run(model, data(8, 3))
    assert {name: draw.shape[2:] for name, draw in draws.items()} == {
        "Z": (3, 3),
        "edge_probability": (),
        "lengthscale": (3,),
        "outputscale": (),
        "noise": (),
        "rho": (),
        "kappa": (),
    }
    assert adjacency(draws["Z"]).all()
    assert np.isin(draws["lengthscale"], GRID).all()
    for name, draw in draws.items():
        assert np.isfinite(draw).all(), name
        assert (draw.std(1) > 0).any(), name


@pytest.mark.nightly
def test_certain_and_impossible_edges_stay_what_they_are(data):
    """Log odds are infinite there; the proposals must not become NaN and the rest must move."""
    probs = np.array([[0, 1.0, 0.0], [1.0, 0, 0.5], [0.0, 0.5, 0]])
    Z = run(AdditiveGP(edges(probs)), data(8, 3), num_samples=60)["Z"]
    assert Z[..., 0, 1].all()
    assert not Z[..., 0, 2].any()
    assert 0 < Z[..., 1, 2].mean() < 1


def test_chains_start_from_draws_of_the_prior():
    """At different structures, distributed as the prior says; also every edge with every other."""
    probs = np.array([[0, 0.2, 0.5], [0.2, 0, 0.7], [0.5, 0.7, 0]])
    model = AdditiveGP(edges(probs))
    args = (jnp.array(np.random.default_rng(0).random((4, 3))), jnp.arange(4.0))
    kernel = default_sampler(model, num_dims=3)

    def start(key):
        return kernel.init(key, 0, None, args, {}).z["Z"]

    # MCMC passes a separate key to each chain.
    num_chains = 2000
    Z = jax.jit(jax.vmap(start))(jax.random.split(jax.random.key(0), num_chains))
    assert len(np.unique(Z[:4].reshape(4, -1), axis=0)) > 1
    upper = np.triu_indices(3, 1)
    found = np.cov(np.asarray(Z[:, *upper]).T), np.asarray(Z[:, *upper]).mean(0)
    p = probs[upper]
    error = 4.0 / np.sqrt(num_chains)
    np.testing.assert_allclose(found[1], p, atol=0.5 * error)
    np.testing.assert_allclose(found[0], np.diag(p * (1 - p)), atol=0.5 * error)


def chosen_graph(prior: dist.Distribution, first: int = 0):
    """A structure in which a number says which of three graphs there is."""
    graphs = jnp.array([[0, 0, 0], [1, 0, 0], [1, 1, 1]])

    def structure(num_dims: int) -> Decomposition:
        kind = numpyro.sample("kind", prior)
        upper = jnp.zeros((3, 3), int).at[jnp.triu_indices(3, 1)].set(graphs[kind - first])
        return pairs(upper + upper.T)

    return structure


@pytest.mark.parametrize(
    ("prior", "first"),
    [
        pytest.param(dist.Categorical(jnp.array([0.5, 0.3, 0.2])), 0, marks=pytest.mark.nightly),
        (dist.DiscreteUniform(4, 6), 4),
    ],
    ids=["numbers from 0", "other numbers"],
)
def test_other_discrete_sites_follow_their_posterior(
    prior, first, effort, data, posterior_over, check_frequencies
):
    fixed = {"lengthscale": jnp.full(3, 0.4), "outputscale": 1.0, "noise": 0.3}
    model = handlers.condition(AdditiveGP(chosen_graph(prior, first)), data=fixed)
    args = data(7, 3)
    kernel = default_sampler(model, num_dims=3)
    assert [type(kernel) for kernel, _ in kernel.blocks] == [GridGibbs]

    def chain(key):
        def step(state, _):
            state = kernel.sample(state, args, {})
            return state, state.z["kind"]

        state = kernel.init(key, 0, None, args, {})
        return jax.lax.scan(step, state, length=25 + int(400 * effort))[1][25:]

    draws = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(0), 20))
    values = jnp.arange(3) + first
    check_frequencies(draws, values, posterior_over(model, args, "kind", values))


SWITCHES = dist.Bernoulli(0.4).expand([2])


@pytest.mark.parametrize(
    "prior",
    [SWITCHES.to_event(1), SWITCHES.expand([1, 2]).to_event(1).to_event(1)],
    ids=["vector", "nested"],
)
def test_independent_booleans_follow_their_posterior(
    prior, data, posterior_over, run_block, check_frequencies
):
    def model(x, y=None):
        on = numpyro.sample("on", prior).reshape(2)
        numpyro.sample("y", dist.Normal(x @ on, 2.0).to_event(1), obs=y)

    ((block, sites),) = default_sampler(model).blocks
    assert isinstance(block, GridGibbs) and sites == ("on",)
    args, values = data(6, 2), jnp.array(list(product([0, 1], repeat=2)))
    values = values.reshape(4, *prior.event_shape)
    starts = jnp.tile(values[:1], (20, *[1] * len(prior.event_shape)))
    draws = run_block(block, args, "on", starts, 220)[:, 20:]
    check_frequencies(draws, values, posterior_over(model, args, "on", values))


@pytest.mark.parametrize(
    "prior",
    [dist.Poisson(2.0), dist.MultinomialProbs(jnp.full(3, 1 / 3), 2)],
    ids=["endless", "vectors"],
)
def test_discrete_sites_without_a_block_are_named(prior):
    def structure(num_dims):
        numpyro.sample("k", prior)
        return pairs(numpyro.sample("Z", EdgeBernoulli(num_dims)))

    name = type(prior).__name__
    with pytest.raises(
        ValueError, match=f"no block samples the discrete site 'k', a {name}.*pass a block"
    ):
        default_sampler(AdditiveGP(structure), num_dims=3)


class Cuts(constraints.Constraint):
    """Distinct numbers in rising order."""

    is_discrete = True
    event_dim = 1


class CutPrior(dist.Distribution):
    support = Cuts()

    def __init__(self):
        super().__init__(event_shape=(2,))

    def sample(self, key, sample_shape=()):
        return jnp.broadcast_to(jnp.arange(2), (*sample_shape, 2))

    def log_prob(self, value):
        return jnp.zeros(jnp.shape(value)[:-1])


@pytest.mark.parametrize(
    ("prior", "name"),
    [(CutPrior(), "Cuts"), (dist.Poisson(2.0).expand([3]).to_event(1), "IntegerNonnegative")],
)
def test_errors_name_the_class_of_a_support(prior, name):
    """NumPyro prints `Cuts` as `uts()`, since its own classes begin with an underscore."""

    def model(x, y=None):
        numpyro.sample("cuts", prior)

    with pytest.raises(ValueError, match=f"whose support is {name}\\. Blocks exist for"):
        default_sampler(model)


@pytest.mark.parametrize(
    ("sampler", "num_moves"), [(search_sampler, [10, 10, 8, 5, 5]), (default_sampler, [10] * 5)]
)
def test_a_search_in_many_dimensions_has_fewer_moves_of_edges(sampler, num_moves) -> None:
    sizes = (2, 20, 25, 40, 100)
    blocks = [sampler(AdditiveGP(), num_dims=size).blocks[0][0] for size in sizes]
    found = [
        block.num_moves(jnp.zeros((size, size), int))
        for block, size in zip(blocks, sizes, strict=True)
    ]
    assert found == num_moves
    assert blocks[0].num_moves(jnp.zeros((1, 1), int)) == 0


def test_a_search_has_registered_blocks(monkeypatch):
    monkeypatch.setitem(BLOCKS, Adjacency, EdgeGibbs)
    kernels = [type(kernel) for kernel, _ in search_sampler(AdditiveGP()).blocks]
    assert kernels == [EdgeGibbs, Hamiltonian]


@pytest.mark.parametrize("is_plate", [True, False])
def test_several_structures_in_a_site_are_refused(is_plate: bool):
    def structure(num_dims):
        if is_plate:
            with numpyro.plate("sets", 2):
                active = numpyro.sample("active", ActiveBernoulli(num_dims, 0.5))
        else:
            prior = ActiveBernoulli(num_dims, 0.5).expand([2]).to_event(1)
            active = numpyro.sample("active", prior)
        return Decomposition.of(active.astype(bool))

    with pytest.raises(ValueError, match=r"'active' has several structures, shape \(2, 3\)"):
        default_sampler(AdditiveGP(structure), num_dims=3)


def test_sums_over_sites_beside_structures_are_refused():
    """A structure's sampler would see one drawn term instead of the sum."""

    def model(X, y=None):
        Z = numpyro.sample("Z", EdgeBernoulli(2, 0.5))
        options = {"enumerate": "parallel"}
        outlier = numpyro.sample("outlier", dist.Bernoulli(0.4), infer=options)
        numpyro.sample("y", dist.Normal(Z[0, 1] + 2.0 * outlier).expand([len(X)]), obs=y)

    with pytest.raises(ValueError, match=r"'Z' cannot sum over the sites \['outlier'\]"):
        default_sampler(model)
    chain, key = Gibbs([(EdgeGibbs(model), ["Z"])]), jax.random.key(0)
    data = jnp.zeros((3, 2)), jnp.zeros(3)
    with pytest.raises(ValueError, match=r"'Z' cannot sum over the sites \['outlier'\]"):
        MCMC(chain, num_warmup=1, num_samples=1).run(key, *data)


def test_point_masses_fix_numbers():
    prior = dist.Delta(0.25)
    fixed = {"lengthscale": prior, "noise": prior, "residual": Residual(rho=prior)}
    model = AdditiveGP(main_effects(), kernel=Periodic(prior), **fixed)
    trace = prior_trace(model, 3)
    assert {*latent_sample_sites(trace)} == {"outputscale", "kappa"}
    np.testing.assert_array_equal(trace["lengthscale"]["value"], np.full(3, 0.25))
    np.testing.assert_array_equal(trace["period"]["value"], np.full(3, 0.25))
    assert trace["noise"]["value"] == trace["rho"]["value"] == 0.25


def test_point_masses_of_own_models_are_refused():
    def model(X, y=None):
        mean = numpyro.sample("mean", dist.Delta(0.0))
        numpyro.sample("y", dist.Normal(mean, numpyro.sample("sd", dist.HalfNormal())), obs=y)

    with pytest.raises(ValueError, match=r"the priors of \['mean'\] are point masses"):
        default_sampler(model)
