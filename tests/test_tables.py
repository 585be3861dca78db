"""Tables of README and of the results pages come from the files of results."""

import re
from pathlib import Path

import cells
import pytest

pytest.importorskip("optuna")
import tables

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT / "docs")): path.read_text() for path in (ROOT / "docs").rglob("*.md")
}


def test_readme_has_the_results_of_the_files() -> None:
    assert f"\n\n{tables.readme()}\n\n" in (ROOT / "README.md").read_text()


def test_every_table_is_on_a_page() -> None:
    text = "\n".join(PAGES.values())
    assert {*re.findall(r"^```\{benchmark\} (\w+)$", text, re.M)} == {*tables.TABLES} - {"readme"}
    assert {*re.findall(r"\{benchmark\}`(.+?)`", text)} == {*tables.NUMBERS}


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("results/")])
def test_no_result_is_typed(page: str) -> None:
    rows = [line for line in PAGES[page].splitlines() if line.startswith("|")]
    assert [row for row in rows if re.search(r"\d\.\d", row) and "{benchmark}" not in row] == []


@pytest.mark.parametrize("name", tables.TABLES)
def test_a_table_needs_its_file(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = tables.TABLES[name]()
    assert {len(row) for row in table.rows} == {len(table.header)}
    monkeypatch.setattr(cells, "BENCHMARKS", tmp_path)
    with pytest.raises(FileNotFoundError):
        tables.TABLES[name]()


def test_a_median_needs_runs() -> None:
    with pytest.raises(ValueError, match="has no runs"):
        tables.medians(tables.runs_of("recipes", 3), "star10.0", "unknown")


def test_the_best_other_method_is_compared_after_its_last_evaluation() -> None:
    found = tables.compared("hartmann6-50")
    assert found.method == "BoTorch default after 96, one run"
    (last,) = tables.runs_of("regret_peers", 3).of_seeds("hartmann6-50", "BoTorch default")[:, 1]
    assert found.theirs == last


def test_the_smaller_regret_is_bold() -> None:
    compared = tables.Compared("a function", 100, 0.5, 0.25, "a method")
    assert compared.cells() == ["0.5", "**0.25** (a method)"]
    assert compared._replace(theirs=2.0).cells() == ["**0.5**", "2 (a method)"]


def test_the_table_of_readme_starts_with_losses() -> None:
    is_ahead = [row[2].startswith("**") for row in tables.readme().rows]
    assert is_ahead == sorted(is_ahead) and not is_ahead[0]
