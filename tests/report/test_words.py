"""Words that people without statistics understand, and numbers that agree wherever they appear."""

import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from searches import NAMES, given_search

from structbo import Optimizer, Space, write_report
from structbo.posterior import Importances, Probabilities, Shares
from structbo.report.digits import column_texts
from structbo.report.evidence import Evidence
from structbo.report.html import table
from structbo.report.interactions import interaction_section
from structbo.report.pictures import picture_style
from structbo.report.structure import learned_sections
from structbo.report.support import Support

VALUE_NAME = "yield $"


class Tables(HTMLParser):
    """The cells of all tables of a page, without markup."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self._is_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_cell = tag in ("td", "th")
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif self._is_cell:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_cell = False

    def handle_data(self, data: str) -> None:
        if self._is_cell:
            self.tables[-1][-1][-1] += data


@pytest.fixture(scope="module")
def search() -> Iterator[Optimizer]:
    with given_search() as optimizer:
        yield optimizer


@pytest.fixture(scope="module")
def page(search: Optimizer, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("words") / "report.html"
    return write_report(search, path, num_suggestions=2, value_name=VALUE_NAME).read_text()


def test_nothing_is_called_by_a_symbol(page: str):
    text = re.sub(r"<style>.*?</style>|<details>.*?</details>|<[^>]*>", " ", page, flags=re.DOTALL)
    for symbol in ("±", "Z[", "kappa", "lengthscale", "R-hat", "density", "Real(", "posterior"):
        assert symbol not in text
    details = "".join(re.findall(r"<details>.*?</details>", page, flags=re.DOTALL))
    for symbol in ("Z[", "lengthscale[", "outputscale"):
        assert symbol not in details
    assert "how gradually yield $ changes with" in details


def test_the_name_of_the_value_is_everywhere(page: str):
    pictures = [base64.b64decode(data).decode() for data in re.findall(r"base64,([\w+/=]+)", page)]
    assert "objective" not in page and not any("objective" in picture for picture in pictures)
    assert sum("yield $" in picture for picture in pictures) >= len(pictures) - 4


def test_a_column_has_one_number_of_decimals(page: str):
    found = 0
    for header, *rows in Tables(page).tables:
        for name, *cells in zip(header, *rows, strict=True):
            numbers = [text for cell in cells for text in re.findall(r"\d+(?:\.\d+)?(?!\w)", cell)]
            if name != "values" and all(re.match(r"-?\d", cell) for cell in cells):
                decimals = {len(number.partition(".")[2]) for number in numbers}
                assert len(decimals) == 1 or name == NAMES[0], name  # which is logarithmic
                found += 1
    assert found > 8


def test_numbers_agree_in_text_table_and_trials(search: Optimizer, page: str):
    best = search.best
    header, first, *_ = Tables(page).tables[0]
    assert header[:3] == ["run", VALUE_NAME, f"expected {VALUE_NAME}"]
    assert first[0] == str(best.number)
    assert f"Run {best.number} has the lowest yield $, {first[1]}, with" in page
    assert float(first[1]) == pytest.approx(best.value, abs=0.005)
    lower, upper = map(float, first[3].split(" to "))
    assert lower < float(first[2]) < upper
    expected = Evidence(search, 0).of_best_first
    assert lower == pytest.approx(expected.lower[0], abs=0.01)


def test_columns_of_texts_are_on_the_left_and_numbers_on_the_right():
    text = str(table("t", ["base", "run"], [["K2CO3", "1"], ["2-MeTHF", "12"]]))
    assert '<th scope="row" class="text" data-label="base">K2CO3</th>' in text
    assert '<td class="number" data-label="run">12</td>' in text


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([87.3, 67.0, 9.0], ["87.3", "67.0", "9.0"]),
        ([2.0, 3.0], ["2", "3"]),
        ([0.123456, 0.5], ["0.1235", "0.5000"]),
        ([1e-5, 0.5], ["1e-05", "0.5"]),
        ([2.5e8, 1.0], ["2.5e+08", "1"]),
        ([-0.0004, -0.0021], ["-0.0004", "-0.0021"]),
        ([-0.744, 0.00101], ["-0.744", "0.001"]),
        ([0.0, 0.0], ["0", "0"]),
    ],
)
def test_digits(values: list[float], texts: list[str]):
    assert column_texts(values) == texts


def probabilities(pair: float, others: float) -> Probabilities:
    mean = others * (1.0 - np.eye(4))
    mean[0, 1] = mean[1, 0] = pair
    return Probabilities(mean, np.full((4, 4), 0.01), NAMES)


def evidence_of(search: Optimizer, **known: Any) -> Evidence:
    """Evidence of which some parts are given."""
    evidence = Evidence(search, 0, value_name=VALUE_NAME)
    vars(evidence).update(known)
    return evidence


def test_a_probability_below_the_threshold_is_undecided(search: Optimizer):
    after, before = probabilities(0.38, 0.15), probabilities(0.17, 0.17)
    section = interaction_section(evidence_of(search, together=after, together_before=before))
    assert section.finding.startswith("The runs cannot decide about any pair yet. The likeliest")
    assert "38\N{NO-BREAK SPACE}% (17\N{NO-BREAK SPACE}% before the data)" in section.finding
    reach = "38 % may be 36 % to 40 %".replace(" %", "\N{NO-BREAK SPACE}%")
    assert f"to within 2 percentage points: {reach}" in section.body
    (header, row), (_, *all_rows) = Tables(section.body).tables
    assert header == ["pair", "probability", "before the data", "verdict"]
    assert row[3] == "undecided" and all_rows[0] == row[:3] and len(all_rows) == 6
    with picture_style():
        found = interaction_section(
            evidence_of(search, together=probabilities(0.9, 0.15), together_before=before)
        )
    assert found.finding.startswith("The data show interactions: ")
    nothing = interaction_section(evidence_of(search, together=before, together_before=before))
    assert nothing.finding == "The data do not point to any interaction."


def many_probabilities(num_dims: int, seed: int) -> Probabilities:
    upper = np.triu(np.random.default_rng(seed).uniform(0.0, 0.6, (num_dims, num_dims)), 1)
    return Probabilities(upper + upper.T, np.full_like(upper, 0.012))


@pytest.mark.parametrize("num_dims", [2, 5, 40])
@pytest.mark.parametrize("is_raised", [False, True])
def test_every_pair_is_in_a_folded_table_unless_there_are_very_many(num_dims: int, is_raised: bool):
    after = many_probabilities(num_dims, seed=1)
    before = replace(after, mean=after.mean - 0.1 if is_raised else after.mean + 0.1)
    search = Optimizer(Space.box([(0.0, 1.0)] * num_dims))
    with picture_style():
        body = interaction_section(evidence_of(search, together=after, together_before=before)).body
    (folded,) = re.findall(r"<details>.*</details>", body)
    ((header, *rows),) = Tables(folded).tables
    pairs = [(a, b) for a in range(num_dims) for b in range(a + 1, num_dims)]
    pairs.sort(key=lambda pair: after.mean[pair], reverse=True)
    assert header == ["pair", "probability", "before the data"]
    assert rows == [
        [
            f"x{a} and x{b}",
            *(f"{100 * p.mean[a, b]:.0f}\N{NO-BREAK SPACE}%" for p in (after, before)),
        ]
        for a, b in pairs[:200]
    ]
    assert "to within 3 percentage points." in folded
    said = re.search(r"of every other pair is at most (\d+)\W%", folded)
    assert (said is None) == (len(pairs) <= 200)
    if said:
        assert "The 200 most probable of 780 pairs" in folded
        assert 0.0 <= int(said[1]) / 100.0 - after.mean[pairs[200]] < 0.01


def test_the_graph_has_all_pairs_of_the_table(monkeypatch: pytest.MonkeyPatch):
    after = many_probabilities(40, seed=1)
    evidence = evidence_of(
        Optimizer(Space.box([(0.0, 1.0)] * 40)),
        together=after,
        together_before=replace(after, mean=after.mean - 0.1),
    )
    drawn: dict[tuple[str, str], float] = {}

    def plot(probabilities: Any, names: Any, *, max_names: int, ax: Any) -> None:
        assert len(names) <= max_names
        for a, b in np.argwhere(np.triu(probabilities)):
            drawn[names[a], names[b]] = probabilities[a, b]

    monkeypatch.setattr("structbo.report.interactions.plot_interactions", plot)
    with picture_style():
        (_, *rows), _ = Tables(interaction_section(evidence).body).tables
    assert sorted(f"{a} and {b}" for a, b in drawn) == sorted(row[0] for row in rows)
    assert sorted(drawn.values())[-1] == after.mean.max()


def test_the_table_of_all_pairs_does_not_grow_with_the_parameters():
    before = many_probabilities(300, seed=0)
    search = Optimizer(Space.box([(0.0, 1.0)] * 300))
    section = interaction_section(evidence_of(search, together=before, together_before=before))
    assert len(section.body) < 60_000


def given_importances(lower: list[float], upper: list[float]) -> Importances:
    ends = np.array(lower), np.array(upper)
    total = Shares(sum(ends) / 2.0, *ends, np.zeros(4))
    pairs = Shares(*np.zeros((4, 4, 4)))
    return Importances(NAMES, total, total, pairs, Shares(*np.zeros((4, 1))))


@pytest.mark.parametrize(
    ("lower", "upper", "finding"),
    [
        ([0.1, 0.5, 0.1, 0.0], [0.4, 0.8, 0.3, 0.1], f"The parameter {NAMES[1]} matters most: it"),
        (
            [0.1, 0.3, 0.1, 0.0],
            [0.4, 0.8, 0.2, 0.1],
            f"The parameter {NAMES[1]} matters more than",
        ),
        ([0.0, 0.1, 0.0, 0.0], [0.9, 0.9, 0.9, 0.9], "The runs do not yet tell which"),
    ],
)
def test_parameters_are_ranked_where_intervals_separate(
    search: Optimizer, lower: list[float], upper: list[float], finding: str
):
    known = {"importances": given_importances(lower, upper), "support": Support(np.ones(25), 0.1)}
    with picture_style():
        section, *_ = learned_sections(evidence_of(search, **known))
    assert section.finding.startswith(finding)
    ((header, *rows),) = Tables(section.body).tables
    assert header == ["parameter", "share", "most frequent values"] and len(rows) == 4


def test_nothing_is_said_of_a_space_that_predictions_do_not_reach(search: Optimizer):
    sure = given_importances([0.1, 0.7, 0.1, 0.0], [0.2, 0.8, 0.2, 0.1])
    known = {"importances": sure, "support": Support(np.ones(25), 0.71)}
    with picture_style():
        section, *_ = learned_sections(evidence_of(search, **known))
    assert section.finding.startswith("These runs do not tell which parameters matter")
    assert "71\N{NO-BREAK SPACE}% of the variation" in section.body
    assert "<img" not in section.body
    ((header, *rows),) = Tables(section.body).tables
    assert header == ["parameter", "most frequent values"] and len(rows) == 4


def test_the_largest_r_hat_of_the_page_is_that_of_its_table(search: Optimizer, page: str):
    _, first, *_ = next(t for t in Tables(page).tables if t[0][1] == "R-hat")
    assert first[1] == f"{search.posterior.summary()['r_hat'].max():.2f}"
    (rows,) = (rows for (header, *rows) in Tables(page).tables if header[1] == "R-hat")
    assert max(float(row[2]) for row in rows) <= search.posterior.num_draws
    pictures = [base64.b64decode(data).decode() for data in re.findall(r"base64,([\w+/=]+)", page)]
    assert "R-hat" not in "".join(pictures)


def test_next_points_know_the_standard_errors(search: Optimizer, monkeypatch: pytest.MonkeyPatch):
    asked: dict[str, Any] = {}

    def suggest(space: Any, X: Any, y: Any, n: int, **options: Any) -> list[Any]:
        asked.update(options, y=y)
        return []

    monkeypatch.setattr("structbo.report.evidence.suggest", suggest)
    told = [trial for trial in search.trials if trial.is_told]
    errors = {5: 0.5, 9: 0.1}
    given = [replace(trial, sem=errors.get(k)) for k, trial in enumerate(told)]
    assert evidence_of(search, num_suggestions=2, told=given).next_points == []
    expected = np.zeros(len(told))
    expected[[5, 9]] = [0.5, 0.1]
    np.testing.assert_array_equal(asked["sem"], expected)
    Evidence(search, 2).next_points  # noqa: B018
    assert asked["sem"] is None
