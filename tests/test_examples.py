"""Examples run as scripts, in a short mode with small arguments and constants."""

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = {
    str(path.relative_to(EXAMPLES))
    for path in EXAMPLES.rglob("*.py")
    if ('__name__ == "__main__"' in path.read_text() and path.parent.name != "papers")
    or path.parent.name == "extend"
}
"""All scripts for users but `papers`, which has its own tests; they import files of the folder."""

PROBLEMS = """
import numpy as np
from scipy.stats import qmc

def sobol(n, D, seed):
    return qmc.Sobol(D, seed=seed).random(n)

class Problem:
    D, f_opt, structure = 3, 0.0, ((0, 1), (2,))
    def __call__(self, x):
        return -((x - 0.5) ** 2).sum(-1)
    def observe(self, x, rng):
        return self(x) + 0.01 * rng.normal(size=len(x))

def get_problem(name):
    return Problem()
"""
"""Functions to maximize, in the format of the benchmarks of optimizers."""
TUNING = """
class Tune:
    kinds, bounds = ["log", "lin"], [[-1.0, 1.0], [0.0, 1.0]]

    def __init__(self, model, data):
        pass

    def objective(self, x):
        return -float((x ** 2).sum())
"""
"""A task to tune, in the format of the real ones."""


class Short(NamedTuple):
    """Arguments, with OUT for a folder of results, and source of the script's constants."""

    arguments: str = ""
    constants: Mapping[str, str] = MappingProxyType({})
    needs: tuple[str, ...] = ()


FAST = {"extend/new_parameter.py": Short()}
"""Fast scripts, which need no model."""

NIGHTLY = {
    "custom_prior.py": Short("--n-trials 18 --picture OUT/picture.png"),
    "cascade.py": Short(needs=("cv2", "skimage")),
    "extend/new_block.py": Short(),
    "extend/new_batch_strategy.py": Short(),
    "extend/new_criterion.py": Short(),
    "extend/new_kernel.py": Short(),
    "extend/new_maximizer.py": Short(),
    "extend/new_parameter.py": Short(),
    "extend/new_random_variable.py": Short(),
    "extend/new_structure.py": Short(),
    "interactions.py": Short("--n-trials 24 --picture OUT/picture.png"),
    "own_model.py": Short("--num-rows 12 --num-samples 20"),
    "quickstart.py": Short("--n-trials 4 --picture OUT/picture.png", needs=("cv2", "skimage")),
    "reaction.py": Short(
        "--n-runs 12 --picture OUT/picture.png",
        {"TABLE": f"Path('{EXAMPLES}/data/arylation.csv')"},
        needs=("pandas",),
    ),
    "unmixed_chain.py": Short("--num-samples 20 --output OUT/picture.png"),
    "which_structure.py": Short("--n 12 --num-samples 5"),
    "benchmarks/accelerator.py": Short(
        "--cases 4,30 star-20,2 --results OUT/table.csv",
        {"NUM_ASKS": "3", "LENGTH": "{'num_warmup': 2, 'num_samples': 6}"},
    ),
    "benchmarks/ascent.py": Short(
        "--bench OUT --problems rotated10 --seeds 0 --results OUT/table.csv",
        {"BUDGET": "21", "SETTINGS": "[(11, 30), (3, 5)]"},
    ),
    "benchmarks/batches.py": Short(
        "--bench OUT --problems star10.0 --seeds 0 --results OUT/table.csv",
        {"BUDGET": "24", "CASES": "[('believer', 1), ('dpp_sample', 2)]"},
    ),
    "benchmarks/beale.py": Short("--seeds 0", {"NUM_DIMS": "6", "BUDGET": "2"}),
    "benchmarks/certificates.py": Short(
        "--priors default --dims 4 --observations 12 --seeds 0 --table OUT/table.csv",
        {"NUM_RANDOM": "500"},
    ),
    "benchmarks/convergence.py": Short(
        "--data star-20 --seeds 0 --results OUT/table.csv",
        {"LENGTH": "{'num_warmup': 2, 'num_samples': 6, 'num_chains': 2}"},
    ),
    "benchmarks/expectation_maximization.py": Short(
        "--seeds 1",
        {"BUDGETS": "(5, 20)", "CASES": "[(3, 12, 0.1)]", "RESULTS": "Path('OUT')"},
    ),
    "benchmarks/hyper_parameters.py": Short("--steps 4 --cases 3,12 --folder OUT"),
    "benchmarks/kdpp.py": Short(
        "--items 40 --size 3 --table OUT/table.csv", {"NUM_TIMED": "100", "DPPY": "{}"}
    ),
    "benchmarks/message_passing.py": Short(
        "", {"SIZES": "(5,)", "GRIDS": "((2, 3),)", "RANDOM": "((6, 7),)"}
    ),
    "benchmarks/mixing.py": Short("--seconds 0.2 --cases 3,20 --folder OUT"),
    "benchmarks/paired.py": Short(
        "--bench OUT --problems rotated10 --methods structbo log_eqi --seeds 0 1 "
        "--results OUT/table.csv",
        {"BUDGETS": "{'rotated10': 22}", "COUNTS": "(21, 22)"},
    ),
    "benchmarks/parts.py": Short("--cases 4,28 --results OUT/table.csv", {"NUM_ASKS": "2"}),
    "benchmarks/pictures.py": Short(f"--tables {EXAMPLES}/benchmarks/results --output OUT"),
    "benchmarks/posterior.py": Short(
        "--data star-20 --chains 1 --folder OUT", {"NUM_DRAWS": "(2,)"}
    ),
    "benchmarks/posterior_reference.py": Short(
        "--data star-20 --seconds 1", {"FIRST_LENGTH": "8", "FOLDER": "Path('OUT')"}
    ),
    "benchmarks/projections.py": Short(
        "--runs 1 --dims 10",
        {
            "NUM_HELD_OUT": "20",
            "LENGTH": "{'num_warmup': 5, 'num_samples': 5, 'num_chains': 1}",
            "RESULTS": "Path('OUT')",
        },
    ),
    "benchmarks/recipes.py": Short(
        "--bench OUT --problems star10.0 --seeds 0 --results OUT/table.csv "
        "--recipes random known_partition",
        {"BUDGET": "22", "SHOWN": "(21, 22)"},
    ),
    "benchmarks/recovery.py": Short(
        "--problems additive8 --methods random_forest ped_anova --sizes 20 --seeds 0 1 "
        "--results OUT/table.jsonl",
        needs=("optuna", "sklearn"),
    ),
    "benchmarks/first_call.py": Short("", {"FIRST_CALL": "'print(1.0)'"}),
    "benchmarks/inducing.py": Short("--cases 7,520,1 --results OUT/table.csv"),
    "benchmarks/regret.py": Short(
        "--bench OUT --problems star10 --seeds 0 --results OUT/table.csv",
        {
            "PROBLEMS": "{'star10': 22}",
            "COUNTS": "(21, 22)",
            "PEERS": f"Path('{EXAMPLES}/benchmarks/results/regret_peers.csv')",
        },
    ),
    "benchmarks/samplers.py": Short("", {"FLIPS": "((3, 12),)", "GRADIENTS": "((3, 12),)"}),
    "benchmarks/scale.py": Short("--cases 5,24 6,24 --results OUT/table.csv"),
    "benchmarks/screening.py": Short(
        "", {"NUM_DIMS": "16", "NUM_ACTIVE": "2", "NUM_RUNS": "1", "BUDGET": "60"}
    ),
    "benchmarks/suggest.py": Short(
        "--results OUT/table.csv", {"CASES": "[Case('B', 3, 12, 2, 'dpp_sample')]"}
    ),
    "benchmarks/svr_values.py": Short("--data OUT --values OUT/values.csv", needs=("optuna",)),
    "benchmarks/weeks.py": Short(
        "--factorials OUT --problems reaction --seeds 0 --results OUT/table.csv "
        "--strategies believer",
        {"SIZE": "5", "NUM_WEEKS": "1"},
    ),
    "benchmarks/wide.py": Short(
        "--problems unstructured8-dev --methods random vanilla --against random --seeds 1 "
        "--evaluations 50 --results OUT --pictures OUT/pictures"
    ),
    "benchmarks/calibration.py": Short("--cases ActiveGibbs --replications 20 --folder OUT"),
    "benchmarks/kills.py": Short("--runs 1 --kills 2 --n-trials 6 --num-initial 4"),
    "benchmarks/importances.py": Short("--evaluations 14 --seeds 0", needs=("optuna", "sklearn")),
}
"""All scripts; settings of benchmarks only show that they run."""


def test_every_script_is_run() -> None:
    assert set(NIGHTLY) == SCRIPTS


class Shortened(ast.NodeTransformer):
    """Replaces constants of a module; `left` has the constants not found so far."""

    def __init__(self, constants: dict[str, str]) -> None:
        self.left = dict(constants)

    def value(self, target: ast.expr, value: ast.expr) -> ast.expr:
        name = ast.unparse(target)
        return ast.parse(self.left.pop(name), mode="eval").body if name in self.left else value

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        target, *others = node.targets
        if others:
            return node
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = zip(target.elts, node.value.elts, strict=True)
            node.value.elts = [self.value(*pair) for pair in pairs]
        else:
            node.value = self.value(target, node.value)
        return node


def program(path: Path, constants: dict[str, str]) -> str:
    """The source of a script with other constants."""
    shortened = Shortened(constants)
    tree = ast.fix_missing_locations(shortened.visit(ast.parse(path.read_text())))
    assert not shortened.left, f"{path.name} has no constants {list(shortened.left)}"
    return ast.unparse(tree)


def run(name: str, short: Short, out: Path) -> str:
    """The output of a script in a new process, which must write all given files."""
    arguments = short.arguments.replace("OUT", str(out)).split()
    constants = {key: value.replace("OUT", str(out)) for key, value in short.constants.items()}
    inputs = {
        "program.py": program(EXAMPLES / name, constants),
        "problems.py": PROBLEMS,
        "hpo/task.py": TUNING,
    }
    (out / "hpo").mkdir()
    for file, text in inputs.items():
        (out / file).write_text(text)
    environment = os.environ | {
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
        "MPLBACKEND": "agg",
        "PYTHONPATH": os.pathsep.join(map(str, [(EXAMPLES / name).parent, EXAMPLES])),
    }
    command = [sys.executable, "-W", "error::DeprecationWarning", "program.py", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=out)
    assert done.returncode == 0, done.stderr
    for path in (Path(word) for word in arguments if word.startswith(f"{out}/")):
        assert path.stat().st_size > 0
    return done.stdout


@pytest.mark.parametrize("name", FAST)
def test_examples_that_people_read_first(name: str, tmp_path: Path) -> None:
    assert run(name, FAST[name], tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NIGHTLY)
def test_every_example(name: str, tmp_path: Path) -> None:
    for module in NIGHTLY[name].needs:
        pytest.importorskip(module)
    run(name, NIGHTLY[name], tmp_path)
