"""Words that people without statistics understand, and numbers that agree wherever they appear."""

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from searches import NAMES, given_search

from structbo import Categorical, Integer, Optimizer, Real, Space, write_report
from structbo.posterior import Importances, Runs, Shares
from structbo.report.digits import column_texts, parameter_texts
from structbo.report.evidence import Evidence
from structbo.report.html import table
from structbo.report.interactions import interaction_section
from structbo.report.page import Section
from structbo.report.pictures import picture_style
from structbo.report.structure import learned_sections
from structbo.report.support import Support
from structbo.space import Parameter

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
        ([-1234.5678, -1234.5123], ["-1234.5678", "-1234.5123"]),
        ([81.40898, 81.31], ["81.40898", "81.31000"]),
        ([1234567.25, 1234567.5], ["1234567.25", "1234567.5"]),
        ([0.1 + 0.2, 0.3], ["0.3", "0.3"]),
        ([1e308, -1e308], ["1e+308", "-1e+308"]),
    ],
)
def test_digits(values: list[float], texts: list[str]):
    assert column_texts(values) == texts


@pytest.mark.parametrize(
    ("parameter", "values", "texts"),
    [
        (Real(1549.0, 1551.0), [1550.123456, 1549.8], ["1550.1235", "1549.8000"]),
        (Real(0.0, 1.0), [0.123456], ["0.1235"]),
        (Real(0.0, 1e-4), [1e-5, 2.5e-5], ["1e-05", "2.5e-05"]),
        (Real(1e-5, 1e3, log=True), [1.2345678e-5, 120.0], ["1.235e-05", "120"]),
        (Real(0.0, 2.0, step=0.25), [1.25, 2.0], ["1.25", "2.00"]),
        (Integer(8, 16), [8, 16], ["8", "16"]),
        (Categorical(["relu", None, 0.5]), ["relu", None, 0.5], ["relu", "None", "0.5"]),
    ],
)
def test_parameters_have_the_digits_that_their_ranges_need(
    parameter: Parameter, values: list[Any], texts: list[str]
):
    assert parameter_texts(parameter, values) == texts


def evidence_of(search: Optimizer, **known: Any) -> Evidence:
    """Evidence of which some parts are given."""
    evidence = Evidence(search, 0, value_name=VALUE_NAME)
    vars(evidence).update(known)
    return evidence


def symmetric(upper: np.ndarray) -> np.ndarray:
    return np.triu(upper, 1) + np.triu(upper, 1).T


def with_pairs(lower: np.ndarray, upper: np.ndarray) -> Importances:
    """Importances in which only the shares of pairs differ from zero."""
    num_dims = len(lower)
    ends = symmetric(lower), symmetric(upper)
    zeros = np.zeros((2, num_dims, num_dims))
    names = NAMES if num_dims == len(NAMES) else tuple(f"x{d}" for d in range(num_dims))
    one = Shares(*np.zeros((5, num_dims)))
    return Importances(
        names, one, one, Shares(sum(ends) / 2.0, *ends, *zeros), Shares(*np.zeros((5, 1)))
    )


def section_of(
    importances: Importances,
    unexplained: float = 0.0,
    unknown: Sequence[tuple[int, int]] = (),
    runs: Runs | None = None,
) -> Section:
    """The section on interactions for these shares, not widened any further."""
    search = Optimizer(Space({name: (0.0, 1.0) for name in importances.names}))
    is_like_prior = np.zeros_like(importances.pairs.mean, bool)
    for pair in unknown:
        is_like_prior[pair] = True
    evidence = evidence_of(
        search,
        support=Support(np.ones(25, bool), unexplained),
        like_prior=is_like_prior,
        runs_to_decide=lambda first, second: runs,
    )
    with picture_style():
        return interaction_section(evidence, importances)


def percents(text: str) -> str:
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


HEADER = ["pair", "share of the variation (90 % interval)", "verdict"]
ENDS = {
    (0, 1): (0.005, 0.3),
    (0, 2): (0.00499, 0.3),
    (0, 3): (0.0, 0.005),
    (1, 2): (0.0, 0.00499),
    (1, 3): (0.04, 0.0611),
    (2, 3): (0.0, 0.0),
}


def four_pairs(*without: tuple[int, int]) -> Importances:
    """The shares in `ENDS`; some pairs have none."""
    lower, upper = np.zeros((2, 4, 4))
    for pair, ends in ENDS.items():
        if pair not in without:
            lower[pair], upper[pair] = ends
    return with_pairs(lower, upper)


def test_a_verdict_needs_an_interval_on_one_side_of_half_a_percent():
    section = section_of(four_pairs())
    (header, *rows), (same, *every) = Tables(section.body).tables
    assert header == same == HEADER
    pair = "{} and {}".format
    assert rows == every[:4]
    assert every == [
        [pair(NAMES[1], NAMES[3]), percents("4.0 to 6.1 %"), "found"],
        [pair(NAMES[0], NAMES[1]), percents("0.5 to 30.0 %"), "found"],
        [pair(NAMES[0], NAMES[2]), percents("0.4 to 30.0 %"), "undecided"],
        [pair(NAMES[0], NAMES[3]), percents("0.0 to 0.5 %"), "undecided"],
        [pair(NAMES[1], NAMES[2]), percents("0.0 to 0.4 %"), "none"],
        [pair(NAMES[2], NAMES[3]), percents("0.0 to 0.0 %"), "none"],
    ]
    assert "Verdicts of all 6 pairs: 2 found, 2 undecided, 0 unknown, 2 none." in section.body
    assert section.finding == percents(
        f"The data show interactions: {NAMES[1]} with {NAMES[3]} (4.0 to 6.1 % of the variation); "
        f"{NAMES[0]} with {NAMES[1]} (0.5 to 30.0 % of the variation)."
    )


def test_a_pair_about_which_the_runs_say_nothing_is_unknown():
    """An interval that decides is known, also if the prior alone decides."""
    section = section_of(four_pairs(), unknown=[(0, 1), (0, 3), (2, 3)])
    _, (_, *every) = Tables(section.body).tables
    verdicts = ["found", "found", "undecided", "unknown", "none", "none"]
    assert [row[2] for row in every] == verdicts
    assert "Verdicts of all 6 pairs: 2 found, 1 undecided, 1 unknown, 2 none." in section.body


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (Runs(40.0, 0.0, 300.0), "about 40 more runs, with settings spread over the search space"),
        (Runs(40.0, 12.0, np.inf), "(90 % interval: 12 to more than 1000)"),
        (Runs(0.0, 0.0, 3.0), ""),
        (Runs(np.inf, 3.0, np.inf), ""),
        (None, ""),
    ],
)
def test_the_report_says_how_many_runs_decide(runs: Runs | None, words: str):
    body = section_of(four_pairs(), runs=runs).body
    assert words in body
    about = escape(f"would decide whether {NAMES[0]} and {NAMES[2]} interact")
    assert (about in body) == bool(words)


def test_without_a_found_pair_the_report_says_what_is_known():
    some = section_of(four_pairs((0, 1), (1, 3)))
    assert some.finding == percents(
        "The runs rule out 4 of 6 pairs and leave 2 undecided. The likeliest is "
        f"{NAMES[0]} and {NAMES[2]}, with 0.4 to 30.0 % of the variation."
    )
    nothing = section_of(with_pairs(*np.zeros((2, 4, 4))))
    assert nothing.finding == percents(
        "The runs rule out all pairs: each causes less than 0.5 % of the variation."
    )
    (_, *rows), *more = Tables(nothing.body).tables
    assert {row[2] for row in rows} == {"none"} and len(rows) == 6 and not more
    unknown = section_of(with_pairs(np.zeros((4, 4)), np.full((4, 4), 0.2)))
    assert unknown.finding.startswith("The runs cannot decide about any pair yet. The likeliest is")


def test_what_is_unexplained_may_be_due_to_any_pair():
    """Intervals of 0.6 to 30 % and of zero decide, until 1 to 20 % of the variation is unknown."""
    lower, upper = np.zeros((2, 4, 4))
    lower[0, 1], upper[0, 1] = 0.006, 0.3
    verdicts = []
    for unexplained in (0.0, 0.01, 0.2):
        support = Support(np.ones(25, bool), unexplained)
        section = section_of(support.widened(with_pairs(lower, upper)), unexplained)
        assert ("So no pair can be ruled out." in section.body) == (unexplained > 0.0)
        verdicts.append([row[2] for row in Tables(section.body).tables[-1][1:]])
    assert verdicts == [
        ["found", *["none"] * 5],
        ["found", *["undecided"] * 5],
        ["undecided"] * 6,
    ]
    assert percents("predictions may leave 20 % of the variation unexplained") in section.body


def test_nothing_is_said_of_pairs_where_predictions_do_not_reach():
    section = section_of(four_pairs(), 0.71)
    assert section.finding.startswith("These runs do not tell which parameters interact")
    assert percents("71 % of the variation") in section.body
    assert not Tables(section.body).tables and "<img" not in section.body


def many_pairs(num_dims: int, most: float, seed: int = 1) -> Importances:
    lower = np.random.default_rng(seed).uniform(0.0, most, (num_dims, num_dims))
    return with_pairs(lower, 1.5 * lower)


@pytest.mark.parametrize("num_dims", [2, 5, 40])
@pytest.mark.parametrize("most", [0.003, 0.1])
def test_every_pair_is_in_a_folded_table_unless_there_are_very_many(num_dims: int, most: float):
    importances = many_pairs(num_dims, most)
    lower = importances.pairs.lower
    body = section_of(importances).body
    (folded,) = re.findall(r"<details>.*</details>", body)
    ((header, *rows),) = Tables(folded).tables
    pairs = [(a, b) for a in range(num_dims) for b in range(a + 1, num_dims)]
    pairs.sort(key=lambda pair: (np.floor(1000.0 * lower[pair]), lower[pair]), reverse=True)
    assert header == HEADER
    assert [row[0] for row in rows] == [f"x{a} and x{b}" for a, b in pairs[:200]]
    said = re.search(r"of every other pair is at most ([\d.]+)\W%", folded)
    assert (said is None) == (len(pairs) <= 200)
    if said:
        assert "The 200 likeliest of 780 pairs" in folded
        assert (
            0.0 <= float(said[1]) / 100.0 - 1.5 * max(map(lower.__getitem__, pairs[200:])) <= 1e-3
        )


def test_the_graph_has_all_pairs_of_the_table(monkeypatch: pytest.MonkeyPatch):
    importances = many_pairs(40, 0.006)
    drawn: dict[str, tuple[float, float]] = {}

    def plot(found: Any, names: Any, *, importances: Importances, max_names: int, ax: Any) -> None:
        assert importances.names == names and len(names) <= max_names
        for a, b in np.argwhere(np.triu(importances.pairs.mean)):
            drawn[f"{names[a]} and {names[b]}"] = importances.pairs.mean[a, b], found[a, b]

    monkeypatch.setattr("structbo.report.interactions.plot_interactions", plot)
    (_, *rows), _ = Tables(section_of(importances).body).tables
    assert sorted(drawn) == sorted(row[0] for row in rows) and len(rows) == 15
    for pair, _, verdict in rows:
        assert drawn[pair][1] == float(verdict == "found")
    assert max(drawn.values())[0] == importances.pairs.mean.max()


def test_the_table_of_all_pairs_does_not_grow_with_the_parameters():
    section = section_of(many_pairs(300, 0.003))
    assert len(section.body) < 60_000


def given_importances(lower: list[float], upper: list[float]) -> Importances:
    ends = np.array(lower), np.array(upper)
    total = Shares(sum(ends) / 2.0, *ends, *np.zeros((2, 4)))
    return with_pairs(*np.zeros((2, 4, 4)))._replace(first_order=total, total=total)


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
    summary = search.posterior.summary()
    is_event = summary.index.isin(summary.attrs["events"])
    assert first[1] == f"{summary['r_hat'][~is_event].max():.2f}"
    (least, *_) = next(t for t in Tables(page).tables if t[0][1] == "probability")[1:]
    assert least[2] == f"{summary['mcse_mean'][is_event].max():.2f}"
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
