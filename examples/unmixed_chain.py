"""A chain that has not mixed, beside one that has.

    pip install -e ".[plots]" && python examples/unmixed_chain.py

Both runs use the same model and data. The poor run visits one edge per step, takes few steps and
hardly warms up. Its two chains disagree on which parameters interact.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from numpyro.infer import HMC, Gibbs

import structbo as sb
from structbo.models import AdditiveGP, edges, pairs
from structbo.samplers import EdgeGibbs

matplotlib.use("Agg")
import matplotlib.pyplot as plt

NAMES = ("pressure", "speed", "angle", "width", "delay", "load")
INTERACTIONS = [(0, 1), (1, 2), (3, 4)]


def observe(num_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Observations of three interactions with noise, standardized."""
    rng = np.random.default_rng(1)
    X = rng.random((num_points, len(NAMES)))
    y = sum(np.sin(5.0 * X[:, a] * X[:, b] + a) for a, b in INTERACTIONS)
    y = y + X[:, 5] + 0.1 * rng.standard_normal(num_points)
    return X, (y - y.mean()) / y.std()


def report(title: str, posterior: sb.Posterior) -> None:
    table = posterior.summary()
    print(
        f"{title}: {posterior.num_draws} draws of {posterior.num_chains} chains, "
        f"largest R-hat {table['r_hat'].max():.2f} ({table['r_hat'].idxmax()}), "
        f"smallest effective sample size {table['ess_bulk'].min():.0f} "
        f"({table['ess_bulk'].idxmin()})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-samples", type=int, default=500, help="of the good run, per chain")
    parser.add_argument("--output", type=Path, default=Path("unmixed_chain.png"))
    arguments = parser.parse_args()

    X, y = observe(50)
    model = AdditiveGP(edges(0.3, pairs))
    few_steps = HMC(model, num_steps=5, trajectory_length=None, step_size=0.1)
    poor_sampler = Gibbs([(EdgeGibbs(model, num_moves=1), ["Z"]), (few_steps, None)])
    options = {"names": NAMES, "num_chains": 2, "show_progress_bar": False}
    poor = sb.fit(
        model, X, y, num_warmup=5, num_samples=60, sampler=poor_sampler, seed=1, **options
    )
    good = sb.fit(model, X, y, num_warmup=200, num_samples=arguments.num_samples, **options)

    figure = plt.figure(figsize=(13, 9.5), layout="constrained")
    for part, title, posterior in zip(
        figure.subfigures(2, 1, hspace=0.05),
        ("a chain that has not mixed", "one that has"),
        (poor, good),
        strict=True,
    ):
        report(title, posterior)
        part.suptitle(title, fontweight="bold")
        panels = part.subplot_mosaic([["density", "agreement"], ["distance", "agreement"]])
        sb.plot_trace(posterior, ax=[panels["density"], panels["distance"]])
        sb.plot_agreement(posterior, ax=panels["agreement"])
    figure.savefig(arguments.output, dpi=80)
    print(f"The pictures are in {arguments.output}.")


if __name__ == "__main__":
    main()
