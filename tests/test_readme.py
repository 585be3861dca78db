"""The code in README and in docs/ runs: of a page, block after block, as a reader with data."""

import ast
import importlib
import pkgutil
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import numpyro.infer
import optuna
import pytest

import structbo as sb

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
BLOCKS = {
    name: re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    for name, text in PAGES.items()
}
WITH_CODE = [name for name in PAGES if BLOCKS[name]]


@pytest.mark.parametrize("page", PAGES)
def test_every_name_exists(page: str) -> None:
    """Also those in the text, such as `sb.plot_effects`."""
    trees = [ast.parse(textwrap.dedent(block)) for block in BLOCKS[page]]
    assert len(trees) == PAGES[page].count("```python")
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(str(node.module))
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []
    for dotted in set(re.findall(r"\b(?:sb|structbo)((?:\.[A-Za-z_]\w*)+)", PAGES[page])):
        assert pkgutil.resolve_name(f"structbo{dotted}") is not None


def test_readme_and_every_tutorial_have_code() -> None:
    assert {"README.md", "docs/tutorials/diagnose.md", "docs/papers/batches.md"} <= {*WITH_CODE}


def fewer(function: Callable[..., Any], **limits: int) -> Callable[..., Any]:
    """The function with its counts at most these."""

    def limited(*args: Any, **settings: Any) -> Any:
        return function(*args, **settings | limits)

    return limited


SPACE = {"learning_rate": (1e-5, 1e-1, "log"), "dropout": (0.0, 0.5)}


def train(params: dict[str, Any]) -> float:
    return float(np.log10(params["learning_rate"] / 1e-3) ** 2 + params["dropout"])


def objective(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0.0, 1.0) + trial.suggest_int("k", 1, 8)


@pytest.mark.nightly
@pytest.mark.parametrize("page", WITH_CODE)
@pytest.mark.filterwarnings("ignore:leave-one-out of:UserWarning")
def test_code_runs(page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With fewer evaluations and draws than it asks for, too few for `compare`."""
    monkeypatch.chdir(tmp_path)
    draws = {"num_warmup": 5, "num_samples": 5}
    fit = fewer(sb.fit, **draws)
    monkeypatch.setattr(sb, "fit", fit)
    monkeypatch.setattr("structbo.optimizer.optimizer.fit", fit)
    monkeypatch.setattr(sb, "minimize", fewer(sb.minimize, n_trials=10, show_progress_bar=False))
    monkeypatch.setattr(optuna.Study, "optimize", fewer(optuna.Study.optimize, n_trials=6))
    monkeypatch.setattr(numpyro.infer, "MCMC", fewer(numpyro.infer.MCMC, **draws))
    rng = np.random.default_rng(0)
    X = np.column_stack([10.0 ** rng.uniform(-5, -1, 12), rng.uniform(0, 0.5, 12)]).tolist()
    X = [[*row, 1 + i % 8, ["relu", "gelu"][i % 2]] for i, row in enumerate(X)]
    X_unit, y = rng.random((12, 3)), rng.random(12)
    reader: dict[str, Any] = {"train": train, "objective": objective, "space": SPACE}
    reader |= {"X": X, "X_unit": X_unit, "y": y}
    for block in BLOCKS[page]:
        if page == "README.md" and "another" in block:
            reader["another"] = sb.fit(sb.default_model(), X_unit, y)
        exec(compile(block, page, "exec"), reader)
    plt.close("all")
    if page == "README.md":
        assert reader["result"].best_value < 10.0
        assert len(reader["points"]) == 4
        assert reader["posterior"].edge_probabilities().mean.shape == (3, 3)
