"""Functions of few active parameters, and their noise, by name."""

from typing import NamedTuple

from papers.problems import embedded


class Case(NamedTuple):
    """A function of d among D parameters, and the variance of the noise.

    Args:
        make: draws the function.
        num_dims: number of parameters D.
        num_active: number of active parameters d.
        noise: variance of the noise.
        ratio: the noise deviation that the tests assume, as a multiple of the true one.
        bandwidth: the bandwidth that the tests assume, as a multiple of the true one.
    """

    make: embedded.Embedded
    num_dims: int = 200
    num_active: int = 2
    noise: float = 0.1
    ratio: float = 1.0
    bandwidth: float = 1.0


SIZES, FEW_SIZES, NOISES = (10, 20, 40, 80, 200, 400), (10, 40, 400), (0.05, 0.25, 0.36)
RATIOS, BANDWIDTHS, DEVIATIONS = (0.5, 2, 5, 10), (0.01, 0.1, 0.5, 2), (2, 4, 8)
CASES: dict[str, Case] = {
    **{f"D = {D}": Case(embedded.gp_sample, D) for D in SIZES},
    **{f"noise {v}": Case(embedded.gp_sample, noise=v) for v in NOISES},
    **{f"deviation taken {r} times": Case(embedded.gp_sample, ratio=r) for r in RATIOS},
    **{f"variance taken {r} times": Case(embedded.gp_sample, ratio=r**0.5) for r in RATIOS},
    **{f"bandwidth taken {r} times": Case(embedded.gp_sample, bandwidth=r) for r in BANDWIDTHS},
    **{f"Quad, D = {D}": Case(embedded.QUAD, D) for D in FEW_SIZES},
    **{f"Branin, D = {D}": Case(embedded.BRANIN, D) for D in FEW_SIZES},
    **{f"Quad, d = {d}": Case(embedded.QUAD, num_active=d) for d in (2, 4, 6)},
    **{f"QuadMix, d = {d}": Case(embedded.QUAD_MIX, num_active=d) for d in (2, 4, 6)},
    "Branin": Case(embedded.BRANIN),
    "Beale": Case(embedded.BEALE),
    **{
        f"Quad, d = {d}, deviation {s}": Case(embedded.rescaled(embedded.quad, s), num_active=d)
        for d in (2, 6)
        for s in DEVIATIONS
    },
    **{f"Branin, deviation {s}": Case(embedded.rescaled(embedded.branin, s)) for s in DEVIATIONS},
}
