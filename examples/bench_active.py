"""Evaluations and recovery rates of variable selection, as in Chen, Castro and Krause (2012).

    python examples/bench_active.py --seeds 20

First samples of a Gaussian process for growing D (their figure 2), then functions hidden among 200
parameters (their table 1). Coordinate-wise sampling (CWS) is told how many parameters matter and
stops at the first number of differences that finds them, as theirs did, or at 2000 evaluations.
"""

import argparse
from collections.abc import Callable

import numpy as np

import structbo as sb

Function = Callable[[np.ndarray], float]
Problem = Callable[[np.random.Generator, int, np.ndarray], Function]
NOISE, BUDGET = 0.1, 2000
KNOWN = {"noise": NOISE, "outputscale": 1.0, "bandwidth": 0.05}


def gp_sample(rng: np.random.Generator, num_dims: int, active: np.ndarray) -> Function:
    """A squared exponential sample, bandwidth 0.1 on [-1, 1], by random Fourier features."""
    frequencies = rng.normal(size=(2000, len(active))) * np.sqrt(2) / 0.1
    phases, weights = rng.uniform(0, 2 * np.pi, 2000), rng.normal(size=2000) / np.sqrt(1000)
    return lambda x: float(weights @ np.cos(frequencies @ x[active] + phases))


def quad(rng: np.random.Generator, num_dims: int, active: np.ndarray, mix: float = 0.0) -> Function:
    """A parabola to which parameters that do not matter add very little."""
    scale, best = np.full(num_dims, 0.01), rng.uniform(-1, 1, num_dims)
    scale[active] = 10.0

    def function(x: np.ndarray) -> float:
        scaled = scale * (x - best)
        return float(np.sum(((1 - mix) * scaled + mix * scaled.sum()) ** 2))

    return function


def quad_mix(rng: np.random.Generator, num_dims: int, active: np.ndarray) -> Function:
    return quad(rng, num_dims, active, mix=1 / num_dims)


def branin(rng: np.random.Generator, num_dims: int, active: np.ndarray) -> Function:
    def function(x: np.ndarray) -> float:
        a, b = 7.5 * x[active[0]] + 2.5, 7.5 * x[active[1]] + 7.5
        curve = b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6
        return float((curve**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10 - 54) / 51)

    return function


def beale(rng: np.random.Generator, num_dims: int, active: np.ndarray) -> Function:
    def function(x: np.ndarray) -> float:
        a, b = 4.5 * x[active]
        terms = (1.5 - a + a * b, 2.25 - a + a * b**2, 2.625 - a + a * b**3)
        return float(sum(term**2 for term in terms) / 17_000)

    return function


def run(method: str, problem: Problem, num_dims: int, d: int, seed: int) -> tuple[bool, int]:
    """Whether exactly the active parameters were found, and the number of evaluations."""
    rng = np.random.default_rng([seed, num_dims, d])
    active = np.sort(rng.choice(num_dims, d, replace=False))
    function = problem(rng, num_dims, active)
    truth = tuple(f"x{i}" for i in active)
    space = sb.Space.box([[-1.0, 1.0]] * num_dims)

    def observe(x: np.ndarray) -> float:
        return function(x) + np.sqrt(NOISE) * rng.normal()

    if method != "CWS":
        known = {} if method.endswith("*") else KNOWN
        hds = sb.HierarchicalDiagonalSampling(
            space, method.strip("*"), budget=BUDGET, seed=seed, **known
        )
        hds.run(observe)
        return hds.active == truth, len(hds.trials)
    rounds = BUDGET // (2 * num_dims)
    cws = sb.CoordinatewiseSampling(space, d, num_differences=rounds, seed=seed)
    while not cws.is_done:
        for _ in range(2 * num_dims):
            trial = cws.ask()
            cws.tell(trial, observe(trial.params))
        if cws.active == truth:
            return True, len(cws.trials)
    return False, len(cws.trials)


def table(problems: dict[str, tuple[Problem, int, int]], seeds: int) -> None:
    methods = ("GPT", "FDT", "GPT*", "FDT*", "CWS")
    print(f"{'':>16}" + "".join(f"{method:>16}" for method in methods))
    for name, (problem, num_dims, d) in problems.items():
        print(f"{name:>16}", end="")
        for method in methods:
            right, cost = np.mean([run(method, problem, num_dims, d, s) for s in range(seeds)], 0)
            print(f"{right:8.2f} {cost:7.0f}", end="", flush=True)
        print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    print("recovery rate and evaluations; * with all that is known to the paper's estimated")
    table({f"GP, D = {D}": (gp_sample, D, 2) for D in (10, 20, 40, 80, 200, 400)}, seeds)
    hidden = {f"{p.__name__}, d = {d}": (p, 200, d) for p in (quad, quad_mix) for d in (2, 4, 6)}
    table(hidden | {"branin": (branin, 200, 2), "beale": (beale, 200, 2)}, seeds)
