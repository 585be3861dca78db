"""The Markov chain behind suggestions: padding, warm starts, reproducible draws."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
from numpyro.infer import NUTS, BarkerMH, Gibbs

from structbo.data import Data, inducing_first
from structbo.draws import Chain, Draws, default_model
from structbo.draws import chain as chain_module
from structbo.draws.driver import Driver
from structbo.draws.saved_state import state_to_bytes
from structbo.models import AdditiveGP, Model, main_effects
from structbo.models.additive_gp import FIRST_RHO
from structbo.samplers import (
    Arguments,
    BlockGibbs,
    ChainState,
    ParallelTempering,
    SamplerFactory,
    Stage,
    default_sampler,
    kernel_of,
    search_sampler,
)

NUM_DIMS, NUM_DRAWS = 3, 6
RUN_IN_SWEEPS = chain_module.RUN_IN_SWEEPS
MODEL = default_model((2,))
SHAPES = {
    "Z": (NUM_DIMS, NUM_DIMS),
    "lengthscale": (NUM_DIMS,),
    "outputscale": (),
    "noise": (),
    "rho": (),
    "kappa": (),
}


def table(num_points: int, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Points, and standardized values of a smooth function with noise, or of noise alone."""
    rng = np.random.default_rng(0)
    x = rng.random((num_points, NUM_DIMS))
    x[:, 2] = rng.choice([0.0, 0.5, 1.0], num_points)
    y = np.sin(5.0 * x[:, 0]) + x[:, 1] * (x[:, 2] == 0.5)
    y = (1.0 - noise) * y + noise * rng.normal(size=num_points)
    return x, (y - y.mean()) / y.std()


def advance(chain: Chain, data: Data) -> dict[str, np.ndarray]:
    with jax.enable_x64(True):
        draws: Draws = chain.advance(data)
    return {name: np.asarray(value) for name, value in draws.items()}


def driver() -> Driver:
    """The programs of a single chain."""
    return Driver.of(MODEL, search_sampler, NUM_DIMS, num_warmup=None, is_vectorized=False)


def arguments(data: Data) -> Arguments:
    return Arguments(*data.arguments)


def staged(state: ChainState, num_learning: int, num_held: int) -> ChainState:
    return state._replace(stage=Stage.of(num_learning, num_held))


def assert_equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray], **tolerance) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_allclose(value, other[name], err_msg=name, **tolerance)


@pytest.mark.parametrize(
    ("n", "size"), [(1, 64), (64, 64), (65, 128), (1024, 1024), (1025, 1536), (1536, 1536)]
)
def test_data_are_padded_to_few_sizes_with_inducing_points_first(n: int, size: int) -> None:
    x, y = table(n) if n > 1 else (np.full((1, NUM_DIMS), 0.5), np.ones(1))
    data = Data.padded(x, y)
    assert data.x.shape == (size, NUM_DIMS)
    assert (data.mask == (np.arange(size) < n)).all()
    order = inducing_first(x, y)
    assert (data.x[:n] == x[order]).all() and (data.y[:n] == y[order]).all()
    assert not data.x[n:].any() and not data.y[n:].any()


def test_few_sizes_hold_up_to_a_thousand_points() -> None:
    sizes = {len(Data.padded(np.zeros((n, 1)), np.zeros(n)).y) for n in range(1, 1025)}
    assert len(sizes) <= 7


@pytest.fixture(scope="module", autouse=True)
def short_run_in() -> Iterator[None]:
    """Few tests here need a converged chain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain_module, "RUN_IN_SWEEPS", 10)
        yield


@pytest.fixture
def full_run_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_module, "RUN_IN_SWEEPS", RUN_IN_SWEEPS)


@pytest.fixture(scope="module")
def first_draws() -> dict[str, np.ndarray]:
    return advance(Chain(MODEL, NUM_DRAWS, seed=3), Data.padded(*table(60)))


def test_draws_are_finite_and_stacked(first_draws: dict[str, np.ndarray]) -> None:
    assert {n: v.shape for n, v in first_draws.items()} == {
        name: (NUM_DRAWS, *shape) for name, shape in SHAPES.items()
    }
    assert all(np.isfinite(value).all() for value in first_draws.values())
    assert (first_draws["Z"] == first_draws["Z"].transpose(0, 2, 1)).all()
    assert all((first_draws[name] > 0).all() for name in ("lengthscale", "outputscale", "noise"))
    assert len(np.unique(first_draws["lengthscale"])) > NUM_DIMS


def test_the_seed_decides_the_draws(first_draws: dict[str, np.ndarray]) -> None:
    data = Data.padded(*table(60))
    assert_equal(first_draws, advance(Chain(MODEL, NUM_DRAWS, seed=3), data), rtol=0)
    other = advance(Chain(MODEL, NUM_DRAWS, seed=4), data)
    assert not np.allclose(first_draws["lengthscale"], other["lengthscale"])


@pytest.mark.usefixtures("on_a_processor")
def test_a_given_spacing_holds_for_any_number_of_observations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chain_module, "MANY_ROWS", 10)
    data = Data.padded(*table(60))
    every = advance(Chain(MODEL, 10, seed=3), data)
    second = advance(Chain(MODEL, 5, seed=3, spacing=2), data)
    assert_equal({name: values[1::2] for name, values in every.items()}, second, rtol=0)


@pytest.mark.usefixtures("on_an_accelerator")
def test_on_an_accelerator_every_draw_has_its_own_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every chain of the batch equals the single chain with its key, also with new data."""
    monkeypatch.setattr(chain_module, "MAX_SWEEPS_PER_DRAW", 1)
    monkeypatch.setattr(chain_module, "RUN_IN_SWEEPS", 1)
    first, second = Data.padded(*table(60)), Data.padded(*table(61))
    chain = Chain(MODEL, 2, seed=3)
    draws = [advance(chain, data) for data in (first, second)]
    saved = chain.saved()
    again = Chain(MODEL, 2, seed=3)
    again.restore(saved)
    assert_equal(advance(chain, second), advance(again, second), rtol=0)
    start, run = driver()
    for k, key in enumerate(jax.random.split(jax.random.key(3), 2)):
        with jax.enable_x64(True):
            state = staged(start(key, arguments(first)), 1, 1)
            state, _, _ = run(state, arguments(first), 1, 1)
            state, _, _ = run(staged(state, 1, 0), arguments(first), 1, 1)
            for data, found in zip((first, second), draws, strict=True):
                state = staged(state, chain_module.ADAPTATION_SWEEPS, 0)
                state, own, _ = run(state, arguments(data), 1, 1)
                assert_equal(
                    {n: v[k] for n, v in found.items()},
                    {n: np.asarray(v)[0] for n, v in own.items()},
                    rtol=1e-5,
                )


@pytest.mark.nightly
def test_padding_changes_draws_by_round_off_alone() -> None:
    """Trajectories double round-off about every two sweeps, so only a few sweeps are compared."""
    x, y = table(60)
    wide = Data(
        np.concatenate([x, np.full((68, NUM_DIMS), 0.5)]),
        np.concatenate([y, np.full(68, 3.0)]),
        np.arange(128) < 60,
    )
    start, run = driver()

    def first(data: Data) -> dict[str, np.ndarray]:
        with jax.enable_x64(True):
            state = start(jax.random.key(3), arguments(data))
            draws = run(state, arguments(data), 2, 1)[1]
        return {name: np.asarray(value) for name, value in draws.items()}

    assert_equal(first(Data.padded(x, y)), first(wide), rtol=1e-4)


@pytest.mark.nightly
def test_the_chain_goes_on_when_the_padded_size_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one run-in; each later call continues from the last state with one pass."""
    start, run = driver()
    passes: list[tuple[int, Any, Any]] = []
    starts: list[Any] = []

    def noted_start(key: jax.Array, data: Arguments) -> Any:
        starts.append(start(key, data))
        return starts[-1]

    def noted_run(state: Any, data: Arguments, *numbers: int) -> Any:
        after, *rest = run(state, data, *numbers)
        passes.append((len(data.args[1]), state.z, after.z))
        return after, *rest

    noted = Driver(noted_start, noted_run)
    monkeypatch.setattr(Driver, "of", lambda *_, **__: noted)
    x, y = table(65)
    chain = Chain(MODEL, NUM_DRAWS, seed=1)
    before = advance(chain, Data.padded(x[:64], y[:64]))
    after = advance(chain, Data.padded(x, y))
    assert [size for size, _, _ in passes] == [64, 64, 64, 128]
    assert len(starts) == 1 and passes[0][1] is starts[0].z
    assert all(passes[i][1] is passes[i - 1][2] for i in range(1, len(passes)))
    assert not np.allclose(before["lengthscale"], after["lengthscale"])


@pytest.mark.usefixtures("on_a_processor", "full_run_in")
def test_the_residual_is_held_during_the_run_in_and_then_let_go() -> None:
    """This holds with and without the transform, whose rounds follow the run-in."""
    x, y = table(30)
    data = Data.padded(x, y)
    for is_warped in (False, True):
        chain = Chain(MODEL, NUM_DRAWS, seed=0)
        with jax.enable_x64(True):
            chain._run_in(data)
        held = chain._state.z["rho"]
        assert float(held) == pytest.approx(FIRST_RHO, rel=1e-9)
        chain = Chain(MODEL, NUM_DRAWS, seed=0)
        if is_warped:
            with jax.enable_x64(True):
                data, _ = chain.warped(data)
        assert np.ptp(advance(chain, data)["rho"]) > 0.01


@pytest.mark.usefixtures("on_a_processor")
@pytest.mark.parametrize(("n", "of_run_in"), [(40, 40), (41, 20)])
def test_on_many_observations_it_is_run_in_on_a_part(
    n: int, of_run_in: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part covers the whole table, and all draws use all observations."""
    start, run = driver()
    seen: list[np.ndarray] = []

    def note(data: Arguments) -> None:
        seen.append(np.asarray(data.args[1])[np.asarray(data.kwargs["mask"])])

    def noted_start(key: jax.Array, data: Arguments) -> Any:
        note(data)
        return start(key, data)

    def noted_run(state: Any, data: Arguments, *numbers: int) -> Any:
        note(data)
        return run(state, data, *numbers)

    noted = Driver(noted_start, noted_run)
    monkeypatch.setattr(Driver, "of", lambda *_, **__: noted)
    monkeypatch.setattr(chain_module, "RUN_IN_ROWS", 20)
    x, y = table(n + 1)
    chain = Chain(MODEL, NUM_DRAWS, seed=1)
    advance(chain, Data.padded(x[:n], y[:n]))
    advance(chain, Data.padded(x, y))
    assert [len(values) for values in seen] == [of_run_in] * 3 + [n, n + 1]
    places = [list(y).index(value) for value in seen[0]]
    assert places[0] == 0 and places[-1] == n - 1 and max(np.diff(places)) <= 3


@pytest.mark.parametrize(
    "sampler", [search_sampler, pytest.param(ParallelTempering, marks=pytest.mark.nightly)]
)
def test_a_chain_goes_on_from_its_saved_state(sampler: SamplerFactory) -> None:
    """The restored chain equals the uninterrupted one, bit by bit, for any new seed."""
    x, y = table(65)
    chain = Chain(MODEL, NUM_DRAWS, seed=1, sampler=sampler)
    assert chain.saved() is None
    advance(chain, Data.padded(x[:60], y[:60]))
    restored = Chain(MODEL, NUM_DRAWS, seed=2, sampler=sampler)
    restored.restore(chain.saved())
    assert restored.saved() == chain.saved()
    data = Data.padded(x[:61], y[:61])
    assert_equal(advance(chain, data), advance(restored, data), rtol=0)
    assert restored.saved() == chain.saved()


def test_a_chain_starts_afresh_from_nothing_and_from_states_of_other_models(
    first_draws: dict[str, np.ndarray],
) -> None:
    data = Data.padded(*table(60))
    chain, other = Chain(MODEL, NUM_DRAWS, seed=3), Chain(MODEL, NUM_DRAWS, seed=4)
    with jax.enable_x64(True):
        other_state = state_to_bytes({"lengthscale": jax.numpy.ones(NUM_DIMS)})
    chain.restore(other_state)
    assert_equal(advance(chain, data), first_draws, rtol=0)
    chain.restore(None)
    assert_equal(advance(chain, data), first_draws, rtol=0)
    other.restore(chain.saved())
    other.restore(None)
    assert other.saved() is None


@pytest.mark.usefixtures("full_run_in")
def test_the_chain_follows_new_observations() -> None:
    """The same points get noisier values, without a restart.

    Their number rules out a wavy function without noise, and the first draws after the change move
    towards the new noise.
    """
    chain = Chain(MODEL, NUM_DRAWS, seed=0)
    before = advance(chain, Data.padded(*table(128)))
    noisier = Data.padded(*table(128, noise=1.0))
    advance(chain, noisier)
    after = advance(chain, noisier)
    assert np.median(before["noise"]) < 0.4 < 0.6 < np.median(after["noise"])


def test_a_sweep_gives_back_the_types_of_state_that_it_was_given() -> None:
    """Otherwise the first call and later ones compile separately, which takes 10 more seconds."""
    start, run = driver()
    data = arguments(Data.padded(*table(60)))
    with jax.enable_x64(True):
        first = start(jax.random.key(3), data)
        state, _, _ = run(first, data, NUM_DRAWS, 1)
    types = [[leaf.aval for leaf in jax.tree.leaves(tree)] for tree in (first, state)]
    assert types[0] == types[1]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("sampler", "model"),
    [
        (partial(NUTS, max_tree_depth=2), AdditiveGP(main_effects())),
        (partial(ParallelTempering, inverse_temperatures=[1.0, 0.3]), MODEL),
    ],
    ids=["NUTS", "ParallelTempering"],
)
@pytest.mark.usefixtures("full_run_in")
def test_any_kernel_that_can_be_moved_makes_a_chain(
    sampler: SamplerFactory, model: AdditiveGP
) -> None:
    """The chain continues with data of another size, and learns that they are noise."""
    chain = Chain(model, NUM_DRAWS, seed=0, sampler=sampler)
    before = advance(chain, Data.padded(*table(60)))
    after = advance(chain, Data.padded(*table(65, noise=1.0)))
    assert np.median(before["noise"]) < 0.4 < np.median(after["noise"])
    assert all(np.isfinite(value).all() for value in after.values())


def test_a_sampler_is_told_the_number_of_dimensions() -> None:
    told = []

    def sampler(model: Model, num_dims: int) -> Gibbs:
        told.append(num_dims)
        return default_sampler(model, num_dims=num_dims)

    kernel_of(sampler, MODEL, NUM_DIMS)
    tempered = kernel_of(partial(ParallelTempering, sampler=sampler), MODEL, NUM_DIMS)
    assert told == [NUM_DIMS, NUM_DIMS]
    assert isinstance(tempered, ParallelTempering) and isinstance(tempered.sampler, BlockGibbs)


def test_a_kernel_that_cannot_go_on_with_other_data_is_refused() -> None:
    chain = Chain(AdditiveGP(main_effects()), NUM_DRAWS, seed=0, sampler=BarkerMH)
    with pytest.raises(ValueError, match=r"continues with new data, but .*BarkerMH"):
        advance(chain, Data.padded(*table(60)))
