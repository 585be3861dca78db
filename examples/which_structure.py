"""Detection of structure by the posterior over families of structures.

    pip install -e ".[examples]" && python examples/which_structure.py

Three functions of five parameters: a sum of functions of one parameter each; the same with three
interacting pairs; and a function of all parameters at once. For each, the family of the structure
is a random variable with equal prior probabilities, sampled with everything else. A chain may stay
in one family for long, because families explain the data by different lengthscales. The chains
then disagree, which the Monte Carlo error shows.
"""

import argparse

import numpy as np

import structbo as sb
from structbo.models import AdditiveGP, edges, fully_dependent, main_effects, mixture, partitions

NUM_DIMS = 5
FAMILIES = {
    "main effects": main_effects(),
    "edges": edges(),
    "partition": partitions(),
    "fully dependent": fully_dependent(),
}


def sample_path(X: np.ndarray, components: list[list[int]], rng: np.random.Generator) -> np.ndarray:
    """The sum of one draw per component from a Gaussian process, at points (n, D)."""
    values = np.zeros(len(X))
    for dims in components:
        z = X[:, dims] / (0.4 * np.sqrt(len(dims)))
        gram = np.exp(-0.5 * np.square(z[:, None] - z).sum(-1))
        values += np.linalg.cholesky(gram + 1e-8 * np.eye(len(X))) @ rng.normal(size=len(X))
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=60, help="observations of each function")
    parser.add_argument("--num-samples", type=int, default=150, help="draws of each of two chains")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    singles = [[d] for d in range(NUM_DIMS)]
    functions = {
        "additive": singles,
        "three pairs": [*singles, [0, 1], [1, 2], [3, 4]],
        "all at once": [list(range(NUM_DIMS))],
    }
    model = AdditiveGP(mixture(FAMILIES))
    print("Posterior probability of every family and its Monte Carlo error, by function.")
    print(f"{'function':14}" + "".join(f"{name:>18}" for name in FAMILIES) + "   draws that change")
    for name, components in functions.items():
        rng = np.random.default_rng(arguments.seed)
        X = rng.random((arguments.n, NUM_DIMS))
        y = sample_path(X, components, rng)
        y = y / y.std() + 0.1 * rng.normal(size=arguments.n)
        posterior = sb.fit(
            model,
            X,
            (y - y.mean()) / y.std(),
            num_warmup=100,
            num_samples=arguments.num_samples,
            num_chains=2,
            show_progress_bar=False,
        )
        found = posterior.family_probabilities()
        cells = "".join(f"{f'{p:.2f} +- {e:.2f}':>18}" for p, e in zip(*found, strict=True))
        changes = (np.diff(posterior.draws["family"], axis=1) != 0).mean()
        doubt = "   the chains disagree" if found.mcse.max() > 0.1 else ""
        print(f"{name:14}{cells}{changes:>20.0%}{doubt}", flush=True)


if __name__ == "__main__":
    main()
