"""Linear constraints: the allowed part of the unit cube, and points within it."""

import pickle

import jax
import numpy as np
import optuna
import pytest
from scipy.optimize import LinearConstraint as ScipyConstraint
from scipy.optimize import minimize
from scipy.stats import beta, ks_2samp, kstest, qmc

import structbo as sb
from structbo import Integer, LinearConstraint, Real, Space
from structbo.integrations.optuna import StructboSampler
from structbo.models.foundation.precision import double_precision
from structbo.screening import HierarchicalDiagonalSampling
from structbo.space.half_spaces import HalfSpaces

PARAMETERS = {
    "a": (-1.0, 3.0),
    "b": (0.0, 10.0),
    "k": Integer(0, 4),
    "c": (1e-3, 1.0, "log"),
    "d": (2.0, 2.5),
}
CONSTRAINTS = (
    LinearConstraint({"a": 2.0, "b": 1.0}, high=6.0),
    LinearConstraint({"b": 1.0, "d": -4.0}, low=-9.5, high=-3.0),
)


def space() -> Space:
    return Space(PARAMETERS, CONSTRAINTS)


def breaks(points: list[dict[str, float]]) -> np.ndarray:
    """The largest violation of a constraint by each point, in the units of the constraint."""
    return np.array(
        [
            max(2 * p["a"] + p["b"] - 6, p["b"] - 4 * p["d"] + 3, -9.5 - p["b"] + 4 * p["d"])
            for p in points
        ]
    )


def random_region(seed: int) -> HalfSpaces:
    """Two half spaces in four coordinates, and a fifth unconstrained coordinate."""
    rng = np.random.default_rng(seed)
    names = [f"x{d}" for d in range(5)]
    weights = rng.normal(size=(2, 4))
    middle = rng.uniform(0.3, 0.7, 4)
    constraints = [
        LinearConstraint(dict(zip(names, row, strict=False)), high=row @ middle + margin)
        for row, margin in zip(weights, rng.uniform(0.05, 0.3, 2), strict=True)
    ]
    region = Space({name: (0.0, 1.0) for name in names}, constraints).half_spaces
    assert region is not None
    return region


def worst(region: HalfSpaces, x: np.ndarray) -> np.ndarray:
    return np.max(x @ np.asarray(region.normals).T - np.asarray(region.bounds), axis=-1)


@pytest.mark.parametrize("seed", range(4))
def test_points_are_pulled_straight_to_the_boundary_and_no_further(seed: int) -> None:
    region = random_region(seed)
    x = np.random.default_rng(seed).random((200, 5))
    with double_precision():
        pulled = np.asarray(jax.jit(HalfSpaces.pulled_in)(region, x))
    outside = worst(region, x) > 0
    assert 20 < outside.sum() < 180
    np.testing.assert_array_equal(pulled[~outside], x[~outside])
    np.testing.assert_allclose(worst(region, pulled)[outside], 0.0, atol=1e-12)
    np.testing.assert_array_equal(pulled[:, 4], x[:, 4])
    step, moved = (z[outside, :4] - np.asarray(region.center)[:4] for z in (x, pulled))
    factor = moved / step
    np.testing.assert_allclose(factor, factor[:, :1] * np.ones(4), rtol=1e-9)
    assert (factor < 1.0).all()


def uniform(region: HalfSpaces, count: int, seed: int = 0) -> np.ndarray:
    sobol = qmc.Sobol(np.shape(region.normals)[1], seed=seed).random(count)
    with double_precision():
        return np.asarray(jax.jit(HalfSpaces.uniform)(region, sobol))


@pytest.mark.parametrize("seed", range(4))
def test_points_are_uniform_over_what_is_left(seed: int) -> None:
    """The reference is rejection sampling, compared in coordinates and in inner products."""
    region = random_region(seed)
    found = uniform(region, 1024)
    assert (worst(region, found) <= 1e-12).all()
    assert ((found >= 0.0) & (found <= 1.0)).all()
    cube = np.random.default_rng(seed).random((100_000, 5))
    accepted = cube[worst(region, cube) <= 0]
    assert 1000 < len(accepted) < 70_000
    normals = np.asarray(region.normals)
    for own, other in ((found, accepted), (found @ normals.T, accepted @ normals.T)):
        for mine, theirs in zip(own.T, other.T, strict=True):
            assert ks_2samp(mine, theirs).pvalue > 1e-3


def test_points_are_uniform_where_little_is_left() -> None:
    """The examples are eight shares, 1 / 40,320 of the cube, and a thin band."""
    names = [f"x{d}" for d in range(8)]
    parameters = {name: (0.0, 1.0) for name in names}
    shares = Space(parameters, [_share(8)]).half_spaces
    assert shares is not None
    found = uniform(shares, 1024)
    assert kstest(found.sum(1), beta(8, 1).cdf).pvalue > 1e-3
    for column in found.T:
        assert kstest(column, beta(1, 8).cdf).pvalue > 1e-3
    near = LinearConstraint({"x0": 1.0, "x1": -1.0}, low=-1e-3, high=1e-3)
    band = Space(parameters, [near]).half_spaces
    assert band is not None
    found = uniform(band, 1024)
    assert kstest(found[:, 0], "uniform").pvalue > 1e-3
    assert kstest((found[:, 0] - found[:, 1]) * 500 + 0.5, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("dim", range(5))
def test_segments_end_where_a_constraint_or_the_cube_does(dim: int) -> None:
    region = random_region(0)
    with double_precision():
        points = uniform(region, 64)
        low, high = (np.asarray(end) for end in jax.jit(HalfSpaces.segment)(region, points, dim))
    for end, outward in ((low, -1.0), (high, 1.0)):
        there = np.array(points)
        there[:, dim] = end
        assert (worst(region, there) <= 1e-12).all()
        assert ((end >= 0.0) & (end <= 1.0)).all()
        beyond = there.copy()
        beyond[:, dim] += outward * 1e-6
        assert ((worst(region, beyond) > 0) | (beyond[:, dim] < 0) | (beyond[:, dim] > 1)).all()


def test_legal_points_break_nothing_not_even_by_round_off() -> None:
    unit = np.random.default_rng(0).random((500, 5)) * 1.2 - 0.1
    points = space().from_unit(unit)
    assert (breaks(points) <= 0.0).all()
    assert (breaks(Space(PARAMETERS).from_unit(unit)) > 0).sum() > 100
    snapped = space().snap(unit)
    assert space().from_unit(snapped) == points
    np.testing.assert_allclose(space().to_unit(points), snapped, atol=1e-12)
    np.testing.assert_array_equal(space().snap(snapped), snapped)


def test_points_that_break_a_constraint_are_refused_with_its_name() -> None:
    point = {"a": 1.0, "b": 4.0, "k": 1, "c": 0.1, "d": 2.0}
    assert space().as_legal([point]) == [point], "the boundary is legal"
    rounded = point | {"a": float(np.float32(1.0000001))}
    assert space().as_legal([rounded]) == [rounded], "as are points in single precision"
    message = r"points\[1\] breaks a constraint: 2 \* a \+ 1 \* b must be at most 6, got 8$"
    with pytest.raises(ValueError, match=message):
        space().to_unit([point, point | {"a": 2.0}])
    message = "trial breaks a constraint: 1 . b . -4 . d must be at least -9.5 and at most -3, got"
    with pytest.raises(ValueError, match=message):
        sb.Optimizer(space()).tell(point | {"a": -1.0, "b": 7.0}, 1.0)


def test_constrained_spaces_are_values() -> None:
    names = {"Space": Space, "Real": Real, "Integer": Integer, "inf": np.inf}
    names |= {"LinearConstraint": LinearConstraint}
    assert eval(repr(space()), names) == space() == pickle.loads(pickle.dumps(space()))
    assert hash(space()) == hash(space())
    assert space() != Space(PARAMETERS)
    assert Space(space()) == space()
    more = Space(space(), [LinearConstraint({"a": 1.0}, high=2.0)])
    assert more.constraints == (*CONSTRAINTS, LinearConstraint({"a": 1.0}, high=2.0))
    box = Space(Space.box([[0.0, 1.0]] * 2), [LinearConstraint({"x0": 1, "x1": 1}, high=1)])
    assert box.is_box
    assert (box.from_unit([0.9, 0.9]).sum() <= 1.0).all()


def test_one_constraint_needs_no_list() -> None:
    one = CONSTRAINTS[0]
    assert Space(PARAMETERS, constraints=one) == Space(PARAMETERS, constraints=[one])
    with pytest.raises(TypeError, match="constraints must be a list"):
        Space(PARAMETERS, constraints=3)  # type: ignore[arg-type]


def test_constraints_that_leave_no_room_or_name_other_parameters_are_errors() -> None:
    with pytest.raises(ValueError, match="leave no room"):
        Space(PARAMETERS, [*CONSTRAINTS, LinearConstraint({"b": 1.0, "a": -1.0}, low=11.0)])
    with pytest.raises(ValueError, match="leave no room"):
        Space(PARAMETERS, [LinearConstraint({"a": 1.0}, high=-1.0)])
    for name in ("k", "c", "z"):
        with pytest.raises(ValueError, match=f"'{name}'"):
            Space(PARAMETERS, [LinearConstraint({"a": 1.0, name: 1.0}, high=1.0)])
    with pytest.raises(ValueError, match="ignores constraints"):
        HierarchicalDiagonalSampling(space())


def test_first_points_keep_constraints_in_every_front_end() -> None:
    simplex = Space({f"x{d}": (0.0, 1.0) for d in range(8)}, [_share(8)])
    asked = [trial.params for trial in sb.Optimizer(simplex, num_initial=64).ask(64)]
    totals = np.array([sum(point.values()) for point in asked])
    assert (totals <= 1.0).all()
    assert len({tuple(point.values()) for point in asked}) == 64
    assert np.ptp(totals) > 0.2, "not all of them at the boundary"
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=StructboSampler(simplex))
    names = simplex.names
    study.optimize(lambda t: sum(t.suggest_float(name, 0.0, 1.0) for name in names), n_trials=8)
    assert all(sum(trial.params.values()) <= 1.0 for trial in study.trials)


def _share(count: int) -> LinearConstraint:
    return LinearConstraint({f"x{d}": 1.0 for d in range(count)}, high=1.0)


WEIGHTS = np.array([3.0, 1.0, 4.0, 1.0])


def allocation(point: dict[str, float]) -> float:
    """A loss whose minimum over shares is ``-sqrt(WEIGHTS.sum())``; level 2 is best."""
    shares = np.array([point[f"x{d}"] for d in range(4)])
    assert shares.sum() <= 1.0
    return -float(np.sqrt(WEIGHTS * shares).sum()) + 0.1 * abs(point["k"] - 2)


@pytest.mark.nightly
@pytest.mark.parametrize("batch", ["believer", "dpp_sample", "local_penalization"])
def test_an_optimum_on_the_boundary_is_found(batch: str) -> None:
    parameters = {f"x{d}": (0.0, 1.0) for d in range(4)} | {"k": Integer(0, 3)}
    optimizer = sb.Optimizer(Space(parameters, [_share(4)]), batch=batch)
    while len(optimizer.trials) < 36:
        for trial in optimizer.ask(3):
            optimizer.tell(trial, allocation(trial.params))
    assert optimizer.best.value < -0.98 * np.sqrt(WEIGHTS.sum())
    assert optimizer.best.params["k"] == 2


@pytest.mark.nightly
@pytest.mark.parametrize("criterion", ["additive_ucb", "mes", "additive_mes", "thompson"])
def test_every_kind_of_criterion_keeps_constraints(criterion: str) -> None:
    parameters = {f"x{d}": (0.0, 1.0) for d in range(4)} | {"k": Integer(0, 3)}
    optimizer = sb.Optimizer(Space(parameters, [_share(4)]), criterion=criterion, num_initial=8)
    for _ in range(11):
        trial = optimizer.ask()
        optimizer.tell(trial, allocation(trial.params))
    assert len(optimizer.trials) == 11


def test_scipy_agrees_where_a_linear_function_is_least() -> None:
    """The minimum over half spaces in the unit cube equals the one over constraints."""
    region = space().half_spaces
    assert region is not None
    low, high = np.array([-1.0, 0.0, 2.0]), np.array([3.0, 10.0, 2.5])
    cost = np.array([-1.0, -0.3, 0.2])
    unit = minimize(
        lambda u: cost @ (low + u * (high - low)),
        np.asarray(region.center)[[0, 1, 4]],
        bounds=[(0, 1)] * 3,
        constraints=ScipyConstraint(np.asarray(region.normals)[:, [0, 1, 4]], ub=region.bounds),
        method="SLSQP",
    ).x
    own = minimize(
        lambda z: cost @ z,
        [0.0, 4.0, 2.2],
        bounds=list(zip(low, high, strict=True)),
        constraints=ScipyConstraint([[2, 1, 0], [0, 1, -4]], [-np.inf, -9.5], [6, -3]),
        method="SLSQP",
    ).x
    np.testing.assert_allclose(low + unit * (high - low), own, atol=1e-5)
