"""Tune a real face detector, and see which of its 22 thresholds interact.

    pip install -e ".[examples]" && python examples/quickstart.py

OpenCV's Viola-Jones detector passes a picture through 22 stages with one hand-tuned threshold each.
structbo maximizes the accuracy on real faces and look-alikes, starting from nothing but the bounds.
"""

import argparse
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from cascade import BOUNDS, NAMES, SHIPPED, accuracy

import structbo as sb


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-trials", type=int, default=80)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", type=Path, default=Path("quickstart.png"))
    arguments = parser.parse_args()

    shipped = accuracy(SHIPPED)
    print(f"Shipped thresholds: {shipped:.2%} of the pictures are classified correctly.")
    start = time.monotonic()
    result = sb.maximize(accuracy, BOUNDS, arguments.n_trials, seed=arguments.seed)
    minutes = (time.monotonic() - start) / 60.0
    print(
        f"Found by structbo:  {result.best_value:.2%}, in {len(result.trials)} evaluations "
        f"and {minutes:.1f} minutes."
    )

    print("Sampling the posterior over interactions ...")
    importances = result.posterior.importances()
    print("Largest interactions (share of the variance, and its 90 % interval):")
    pairs = importances.to_frame().loc["pair"].nlargest(5, "mean")
    print(pairs[["mean", "lower", "upper"]].round(3))

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.5))
    short = [name[-2:] for name in NAMES]
    sb.plot_interactions(result, short, importances=importances, ax=left)
    left.set_title("Which stages interact (learned)")
    sb.plot_convergence(result, ax=right)
    right.axhline(shipped, color="0.4", linestyle="--", label="shipped thresholds")
    right.set_ylabel("accuracy")
    right.legend(loc="lower right")
    figure.savefig(arguments.picture, dpi=120, bbox_inches="tight")
    print(f"The interaction graph is in {arguments.picture}.")


if __name__ == "__main__":
    main()
