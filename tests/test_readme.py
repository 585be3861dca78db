"""The code in README and docs/ runs, block after block of each page."""

import ast
import importlib
import pkgutil
import re
import shlex
import shutil
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
from structbo.command_line import main

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
FENCED = {
    name: re.findall(r"^```(.*)\n((?:(?!```).*\n)*)```", text, re.MULTILINE)
    for name, text in PAGES.items()
}
"""Language and text of every block of a page."""
COMMANDS = {
    name: [
        shlex.split(line)[1:]
        for language, block in blocks
        for line in block.splitlines()
        if not language and line.startswith("structbo ")
    ]
    for name, blocks in FENCED.items()
}
"""Arguments of the command `structbo`, from blocks without a language."""
CAMPAIGN = ROOT / "docs" / "tutorials" / "campaign"
"""Files that two tutorials show and use."""
WITHOUT_PYTHON = {
    "docs/how_to/command_line.md",
    "docs/how_to/extend.md",
    "docs/how_to/migration.md",
    "docs/tutorials/read_the_report.md",
    "docs/tutorials/spreadsheet.md",
}
DEFINED = {
    "README.md": {"result"},
    "docs/quick_start.md": {"result"},
    "docs/how_to/ask_and_tell.md": {"result", "points"},
    "docs/how_to/numpyro.md": {"posterior"},
    "docs/tutorials/diagnose.md": {"posterior"},
}
"""Names that are checked after the code of a page."""


@pytest.mark.parametrize("page", PAGES)
def test_every_name_exists(page: str) -> None:
    """This includes names in the text, such as `sb.plot_effects`."""
    trees = [ast.parse(textwrap.dedent(block)) for block in BLOCKS[page]]
    assert len(trees) == PAGES[page].count("```python")
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(str(node.module))
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []
    for dotted in set(re.findall(r"\b(?:sb|structbo)((?:\.[A-Za-z_]\w*)+)", PAGES[page])):
        assert pkgutil.resolve_name(f"structbo{dotted}") is not None


def test_readme_tutorials_guides_and_papers_have_code() -> None:
    written = {
        page for page in PAGES if re.match(r"docs/(tutorials|how_to|papers)/(?!index)", page)
    }
    assert len(written) > 20 and {"README.md", "docs/quick_start.md"} <= {*WITH_CODE}
    assert written - {*WITH_CODE} == WITHOUT_PYTHON


def fewer(function: Callable[..., Any], **limits: int) -> Callable[..., Any]:
    """The function, with upper bounds on its counts."""

    def limited(*args: Any, **settings: Any) -> Any:
        return function(*args, **settings | limits)

    return limited


SPACE = {"learning_rate": (1e-5, 1e-1, "log"), "dropout": (0.0, 0.5)}


def train(params: dict[str, Any]) -> float:
    return float(np.log10(params["learning_rate"] / 1e-3) ** 2 + params.get("dropout", 0.0))


def objective(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0.0, 1.0) + trial.suggest_int("k", 1, 8)


@pytest.mark.nightly
@pytest.mark.parametrize("page", WITH_CODE)
@pytest.mark.filterwarnings("ignore:leave-one-out of:UserWarning")
def test_code_runs(page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It runs with fewer evaluations and draws, too few for `compare`."""
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
        exec(compile(block, page, "exec"), reader)
    plt.close("all")
    defined = DEFINED.get(page, set())
    if "result" in defined:
        assert reader["result"].best_value < 10.0
    if "points" in defined:
        assert len(reader["points"]) == 4
    if "posterior" in defined:
        assert reader["posterior"].edge_probabilities().mean.shape == (3, 3)


@pytest.mark.parametrize("page", [page for page in PAGES if COMMANDS[page]])
def test_commands_are_known(page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They fail at the first missing file; an invalid option would exit with 2 before."""
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS[page]:
        assert main([*command, "--cache", ""]) == 1


@pytest.mark.parametrize("file", ["reaction.yaml", "week1.csv"])
def test_a_tutorial_shows_the_files_of_the_campaign(file: str) -> None:
    shown = [text for _, text in FENCED["docs/tutorials/spreadsheet.md"]]
    assert (CAMPAIGN / file).read_text(encoding="utf-8") in shown


@pytest.mark.nightly
@pytest.mark.parametrize("page", ["spreadsheet", "read_the_report"])
def test_commands_of_the_campaign_run(
    page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for path in CAMPAIGN.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS[f"docs/tutorials/{page}.md"]:
        assert main([*command, "--cache", ""]) == 0
        written = tmp_path / command[command.index("--out") + 1]
        assert written.stat().st_size > 100
