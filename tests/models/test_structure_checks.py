"""Invalid structures: the error names the function, its result, and the remedy."""

import traceback
from dataclasses import replace

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers

from structbo.models import (
    AdditiveGP,
    Decomposition,
    EdgeBernoulli,
    UniformPartition,
    blocks,
    cliques,
    edges,
    mixture,
    pairs,
    projected,
    projections,
)

WRONG = []
"""Structures, with the results and remedies that their errors name."""


def wrong(gave: str, instead: str):
    def add(structure):
        WRONG.append(pytest.param(structure, gave, instead, id=structure.__name__))
        return structure

    return add


def edge_matrix(num_dims: int) -> jax.Array:
    return numpyro.sample("Z", EdgeBernoulli(num_dims))


def singles(num_dims: int) -> Decomposition:
    return Decomposition.of(jnp.eye(num_dims, dtype=bool))


def directions(*shape: int) -> jax.Array:
    return numpyro.sample("W", dist.Normal(jnp.zeros(shape), 1.0).to_event(len(shape)))


@wrong("returned None", "is a return statement missing?")
def forgets_to_return(num_dims):
    edge_matrix(num_dims)


@wrong("returned an array of int32 of shape (3, 3)", "pairs(Z) or cliques(Z) of an edge matrix")
def returns_the_edges(num_dims):
    return edge_matrix(num_dims)


@wrong("returned a list of 2", "Decomposition.of(members)")
def returns_a_list(num_dims):
    return [[0, 1], [2]]


@wrong("the distribution EdgeBernoulli", "numpyro.sample draws from it")
def returns_the_prior(num_dims):
    return EdgeBernoulli(num_dims)


@wrong("returned edges()", "is a call missing?")
def returns_a_structure(num_dims):
    return edges()


@wrong("returned components over 4 dimensions where there are 3", "num_dims, the argument")
def graph_of_too_many(num_dims):
    return pairs(edge_matrix(num_dims + 1))


@wrong("returned components over 2 dimensions where there are 3", "num_dims, the argument")
def partition_of_too_few(num_dims):
    return blocks(numpyro.sample("labels", UniformPartition(num_dims - 1)))


@wrong("max_size must be an integer of at least 1, got 0", "at least 1")
def cliques_of_none(num_dims):
    return cliques(edge_matrix(num_dims), max_size=0)


@wrong("max_size must be an integer of at least 1, got -1", "at least 1")
def bound_replaced(num_dims):
    return replace(cliques(edge_matrix(num_dims)), max_size=-1)


@wrong("got probs[0, 2] = 0.5 and probs[2, 0] = 0.0", "must be symmetric")
def asymmetric_probabilities(num_dims):
    return pairs(numpyro.sample("Z", EdgeBernoulli(num_dims, np.eye(3)[::-1] * [0, 0, 0.5])))


@wrong("got [[0 0 0]\n [1 0 0]\n [0 0 0]]", "edges must be symmetric")
def one_entry_of_an_edge(num_dims):
    return pairs(jnp.zeros((num_dims, num_dims), int).at[1, 0].set(1))


@wrong("edges must be a matrix of shape (D, D), got shape (2, 3, 3)", "(D, D)")
def two_graphs(num_dims):
    return pairs(numpyro.sample("Z", EdgeBernoulli(num_dims), sample_shape=(2,)))


@wrong("labels must have shape (D,), got (3, 3)", "(D,)")
def blocks_of_edges(num_dims):
    return blocks(edge_matrix(num_dims))


@wrong("active must have shape (3,), got ()", "(3,)")
def one_indicator(num_dims):
    return pairs(edge_matrix(num_dims), numpyro.sample("active", dist.Bernoulli(0.5)))


@wrong("got shape ()", "W must have one column for each of the 3 dimensions")
def one_entry_of_a_matrix(num_dims):
    return projected(singles(num_dims), directions(num_dims, num_dims)[1, 0])


@wrong("a projection of shape (2, 2)", "a row for each of the 3 dimensions")
def too_few_rows(num_dims):
    return projected(singles(2), directions(2, 2))


@wrong("a projection with elements that are not finite", "finite")
def endless_directions(num_dims):
    return projected(singles(num_dims), jnp.full((num_dims, num_dims), jnp.nan))


@wrong("members that are an array of float64 of shape (3, 3)", "members.astype(bool)")
def float_members(num_dims):
    return Decomposition.of(jnp.eye(num_dims))


@wrong("members must have shape (C, D), got (3,)", "(C, D)")
def one_row_of_members(num_dims):
    return Decomposition.of(jnp.ones(num_dims, bool))


@wrong("weights [-1.  1.  1.]", "not negative")
def negative_weights(num_dims):
    return replace(singles(num_dims), weights=jnp.array([-1.0, 1.0, 1.0]))


@wrong("weights [nan  1.  1.]", "finite")
def undefined_weights(num_dims):
    return replace(singles(num_dims), weights=jnp.array([jnp.nan, 1.0, 1.0]))


@wrong("weights [0. 0. 0.]", "not all zero")
def no_weights(num_dims):
    return replace(singles(num_dims), weights=jnp.zeros(3))


@wrong("weights that are an array of float64 of shape (2,)", "one for each of the 3 rows")
def too_few_weights(num_dims):
    return replace(singles(num_dims), weights=jnp.ones(2))


@wrong("valid that is an array of bool of shape (3,)", "jnp.all(...)")
def many_truth_values(num_dims):
    Z = edge_matrix(num_dims)
    return replace(pairs(Z), valid=Z.sum(0) < 2)


@wrong("the site 'noise' is one of the model's own", "another name")
def site_of_the_model(num_dims):
    return pairs(numpyro.sample("noise", EdgeBernoulli(num_dims)))


@wrong("`Z` duplicated", "unique names")
def same_site_twice(num_dims):
    return pairs(edge_matrix(num_dims), edge_matrix(num_dims)[0])


def run_model(structure):
    handlers.trace(handlers.seed(AdditiveGP(structure), 0)).get_trace(jnp.zeros((2, 3)))


def message_of(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error))


@pytest.mark.parametrize(("structure", "gave", "instead"), WRONG)
def test_error_names_the_structure_what_it_gave_and_what_to_do(
    structure, gave, instead, monkeypatch
):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises((TypeError, ValueError, AssertionError)) as caught:
        run_model(structure)
    message = message_of(caught.value)
    line = structure.__code__.co_firstlineno
    assert f"structure {structure.__name__} (test_structure_checks.py:{line})" in message
    assert gave in message
    assert instead in message


def branches(Z):
    return Z if Z.sum() > 1 else 1 - Z


def counts(Z):
    return Z * int(Z.sum())


def loops(Z):
    while Z.sum() > 1:
        Z = Z // 2
    return Z


def selects(Z):
    return Z[Z.sum(0) > 0]


def leaves_jax(Z):
    return np.asarray(Z)


@pytest.mark.parametrize("uses", [branches, counts, loops, selects, leaves_jax])
def test_values_that_python_asks_for(uses):
    """Values are known if the model runs eagerly, but not if it is compiled."""

    def structure(num_dims):
        Z = edge_matrix(num_dims)
        uses(Z)
        return pairs(Z)

    run_model(structure)
    message = r"structure .*<locals>.structure .* value of a random variable.* Use jnp.where"
    with pytest.raises(TypeError, match=message) as caught:
        jax.jit(lambda: run_model(structure))()
    assert isinstance(caught.value.__cause__, Exception)


@pytest.mark.parametrize(
    ("structure", "given"),
    [
        ("edges", "got 'edges'"),
        (jnp.eye(3), r"got an array of float64 of shape \(3, 3\)"),
        (lambda: None, "got the function"),
        (lambda num_dims, probability: None, "got the function"),
        (singles(3), "got a Decomposition"),
    ],
    ids=["a name", "an array", "no argument", "two arguments", "a decomposition"],
)
@pytest.mark.parametrize(
    "make",
    [
        AdditiveGP,
        lambda structure: projections(dist.Normal, structure),
        lambda structure: mixture({"one": edges(), "other": structure}),
    ],
    ids=["model", "projection", "mixture"],
)
def test_what_is_no_structure_is_refused_at_once(make, structure, given):
    with pytest.raises(TypeError, match=f"structure must be a function of one argument.*{given}"):
        make(structure)


def test_structures_inside_others_are_named():
    with pytest.raises(TypeError, match=r"structure forgets_to_return .* returned None"):
        run_model(mixture({"one": edges(), "other": forgets_to_return}))  # pyright: ignore
    with pytest.raises(ValueError, match=r"structure graph_of_too_many .* 3 dimensions where.* 2"):
        run_model(
            projections(
                lambda num_dims: dist.Normal(jnp.zeros((num_dims, 2)), 1.0).to_event(2),
                graph_of_too_many,
            )
        )


def test_a_scope_is_looked_through():
    """Handlers around a structure neither hide its name nor allow site names of the model."""
    scoped = handlers.condition(site_of_the_model, data={})
    with pytest.raises(ValueError, match="model's own") as caught:
        run_model(scoped)
    assert "structure site_of_the_model (" in message_of(caught.value)
    run_model(handlers.scope(site_of_the_model, prefix="graph", divider="."))
