"""Evaluates the real task of `posterior.py`, the tuning of a support vector machine.

    pip install scikit-learn
    python examples/benchmarks/svr_values.py --data ../shared/data

The values at the Sobol points are written to results/posterior/svr.csv, which `posterior.py` reads.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the folder of the package `papers`

import numpy as np
from papers.problems.tuning_tasks import DEVELOPMENT
from posterior_data import SVR, sobol_points

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--values", type=Path, default=SVR)
    arguments = parser.parse_args()
    task = DEVELOPMENT["support vector machine"](arguments.data)
    values = [task.value(task.params(point)) for point in sobol_points(len(task.kinds))]
    np.savetxt(arguments.values, values, fmt="%.6g")
