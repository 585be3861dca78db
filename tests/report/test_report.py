"""The contents of a report, its wording, and the escaping of external text."""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from searches import LABELS, NAMES, given_search

from structbo import Fixed, Integer, LinearConstraint, Optimizer, Result, Space, write_report
from structbo.models import AdditiveGP, NearIdentity, edges, main_effects, pairs, projections
from structbo.posterior import Calibration, Posterior, Units
from structbo.report.evidence import Evidence
from structbo.report.pictures import picture_style
from structbo.report.progress import best_so_far, next_steps, settings
from structbo.report.structure import learned_sections
from structbo.report.support import Support
from structbo.report.trust import calibration, convergence


class Reader(HTMLParser):
    """Reads a page as a browser does: its elements, and its texts without markup."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def search() -> Iterator[Optimizer]:
    with given_search() as optimizer:
        yield optimizer


def written(search: Optimizer, path: Path) -> str:
    options: Any = {"title": "A & <B>", "num_suggestions": 3, "value_name": "loss"}
    assert write_report(Result(search), path, **options) == path
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def source(search: Optimizer, tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(search, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def page(source: str) -> Reader:
    return Reader(source)


def test_nothing_from_others_becomes_markup(page: Reader):
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "b", "iframe", "link", "form", "object", "a onclick"}
    assert not any(key.startswith("on") for _, attributes in page.elements for key in attributes)
    assert "<script>alert(1)</script>" in page.text and "A & <B>" in page.text
    for text in (*NAMES, *LABELS):
        assert text in page.text, "what is escaped reads as it was written"


def test_nothing_is_loaded(page: Reader):
    sources = [
        value
        for _, attributes in page.elements
        for key, value in attributes.items()
        if key in ("src", "href")
    ]
    assert sources and all(source.startswith(("data:image/svg+xml;", "#")) for source in sources)
    (policy,) = [m["content"] for m in page.all("meta") if "http-equiv" in m]
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")


def test_links_lead_to_sections(page: Reader):
    anchors = [section["id"] for section in page.all("section")]
    links = [link["href"].removeprefix("#") for link in page.all("a")]
    assert len(set(anchors)) == len(anchors) == 8 and set(links) <= set(anchors)


def test_every_picture_has_a_description(page: Reader):
    descriptions = [image["alt"] for image in page.all("img")]
    assert len(set(descriptions)) == len(descriptions) > 8
    assert min(map(len, descriptions)) > 30


def test_every_picture_has_a_caption_with_a_number(source: str):
    captions = re.findall(r'<figure class="picture"><img [^>]*><figcaption>(.*?)<', source)
    assert len(captions) == source.count("<img") == len(set(captions))
    assert 'counter-increment: picture; content: "Figure "' in " ".join(source.split())


def test_numbers_are_those_of_the_search(page: Reader, search: Optimizer):
    best = search.best
    assert f"Run {best.number} has the lowest loss, {best.value:.4g}, with {NAMES[0]}" in page.text
    assert "26 runs are finished: 25 have a value, and 1 failed," in page.text
    calibration = search.posterior.calibration()
    known = np.array([trial.state == "complete" for trial in search.trials])
    inside = (np.abs(calibration.level[known] - 0.5) <= 0.45).sum()
    assert f"{inside} of 25 values lie in the 90" in page.text


def test_interactions_are_the_pairs_whose_shares_are_surely_large_enough(search: Optimizer):
    """The first pair has an edge in all draws; others have one in a quarter, and are undecided."""
    evidence = Evidence(search, 0)
    vars(evidence)["support"] = Support(np.ones(25, bool), 0.0)
    shares = search.posterior.importances().pairs
    is_found = np.triu(shares.lower >= 0.005)
    assert np.argwhere(is_found).tolist() == [[0, 1]]
    with picture_style():
        _, section, effects = learned_sections(evidence)
    low, high = np.floor(1000.0 * np.array([shares.lower[0, 1], shares.upper[0, 1]])) / 10.0
    share = f"{low:.1f} to {high:.1f}\N{NO-BREAK SPACE}%"
    assert section.finding == (
        f"The data show interactions: {NAMES[0]} with {NAMES[1]} ({share} of the variation)."
    )
    ends = zip(
        shares.lower[np.triu_indices(4, 1)], shares.upper[np.triu_indices(4, 1)], strict=True
    )
    is_open = np.array([lower < 0.005 <= upper for lower, upper in ends])
    unknown = (is_open & evidence.like_prior[np.triu_indices(4, 1)]).sum()
    counts = f"{is_open.sum() - unknown} undecided, {unknown} unknown, {5 - is_open.sum()} none."
    assert f"1 found, {counts}" in section.body
    text = Reader(effects.body).text
    assert f"Two parameters change here together, {NAMES[0]} and {NAMES[1]}; all others" in text


def test_edges_before_and_after_the_data_are_no_interactions(page: Reader):
    assert "before the data" not in page.text
    assert "These runs do not tell which parameters interact" in page.text


def test_chains_that_disagree_are_not_to_be_trusted():
    with given_search(disagree=True) as optimizer, picture_style():
        section = convergence(Evidence(optimizer, 0))
    pair = f"whether the model joins {NAMES[2]} and {NAMES[3]}"
    assert section.finding.startswith("No: ")
    assert f"the draws are too few to tell {pair}. Do not trust" in section.finding


def test_the_best_point_at_an_end_of_a_range(page: Reader):
    """The least value is at the upper end of the second parameter."""
    assert f"The best run is at the upper end of {NAMES[1]}: widen its range" in page.text


def test_points_that_are_under_way_count(search: Optimizer):
    pending = [{**search.trials[0].params, NAMES[1]: 0.123}]
    before = search.trials
    evidence = Evidence(search, 2, pending)
    with picture_style():
        assert "1 more is under way" in str(best_so_far(evidence).body)
    assert len(evidence.next_points) == 2 and search.trials == before
    assert next_steps(Evidence(search, 0)).finding.startswith("No new points were asked for")


def test_the_last_points_are_proposed_if_fewer_are_left_than_asked_for():
    """Six of nine points are known, and one is under way elsewhere."""
    optimizer = Optimizer({"a": Integer(0, 2), "b": Integer(0, 2)}, num_initial=100)
    for trial in optimizer.ask(6):
        optimizer.tell(trial, 1.0)
    points = Evidence(optimizer, 4).next_points
    told = [trial.params for trial in optimizer.trials]
    assert len({(point["a"], point["b"]) for point in [*told, *points]}) == 9
    assert len(Evidence(optimizer, 4, points[:1]).next_points) == 2
    assert Evidence(optimizer, 4, points).next_points == []


def test_the_next_points_have_few_digits_that_tell_them_apart(monkeypatch: pytest.MonkeyPatch):
    """A short form that a run has already gets one more digit."""
    optimizer = Optimizer({"nm": (1549.0, 1551.0)}, num_initial=100)
    optimizer.tell({"nm": 1550.1235}, -1234.5)
    optimizer.tell({"nm": 1549.75}, -1234.4)
    proposed = [{"nm": 1550.123456}, {"nm": 1550.987654}]
    monkeypatch.setattr("structbo.report.evidence.suggest", lambda *given, **more: proposed)
    assert Evidence(optimizer, 2).next_points == [{"nm": 1550.12346}, {"nm": 1550.9877}]


@pytest.mark.parametrize("mean", [np.inf, np.nan])
def test_predictions_that_overflow_explain_nothing(search: Optimizer, mean: float):
    evidence = Evidence(search, 0)
    observed, means = np.r_[np.zeros(24), sys.float_info.max], np.full(25, mean)
    found = Calibration(observed, means, np.full(25, np.inf), np.full(25, 0.5), np.full(25, 99.0))
    vars(evidence).update(calibration=found, support=Support(np.zeros(25, bool), 1.0))
    with picture_style():
        finding = calibration(evidence).finding
    assert "The predictions explain 0\N{NO-BREAK SPACE}% of the variation" in finding


def constrained_effects(monkeypatch: pytest.MonkeyPatch, *others: str) -> tuple[str, Reader]:
    """What a report says of effects if a + b is nearly constant and other parameters are free."""
    names = ("a", "b", *others)
    narrow = LinearConstraint({"a": 1.0, "b": 1.0}, low=0.999, high=1.001)
    space = Space(dict.fromkeys(names, (0.0, 1.0)), constraints=[narrow])
    rng = np.random.default_rng(0)
    X, y = space.snap(rng.random((8, len(names)))), rng.standard_normal(8)
    optimizer = Optimizer(space, num_initial=100)
    for point, value in zip(space.from_unit(X), y, strict=True):
        optimizer.tell(point, value)
    draws = {
        "Z": np.zeros((2, 10, len(names), len(names)), int),
        "lengthscale": rng.uniform(0.4, 0.6, (2, 10, len(names))),
        "noise": rng.uniform(0.01, 0.02, (2, 10)),
        "outputscale": rng.uniform(1.0, 2.0, (2, 10)),
    }
    model = AdditiveGP(edges(0.25, pairs))
    posterior = Posterior(model, X, y, draws, names=names, units=Units(space))
    monkeypatch.setattr(Optimizer, "posterior", property(lambda self: posterior))
    with picture_style():
        section = learned_sections(Evidence(optimizer, 0, value_name="loss"))[-1]
    return section.finding, Reader(str(section.body))


def test_effects_that_constraints_forbid_are_left_out(monkeypatch: pytest.MonkeyPatch):
    _, body = constrained_effects(monkeypatch, "c")
    expected = "every parameter except a and b: the model has no expected loss where one of them"
    assert expected in body.text
    captions = [image["alt"] for image in body.all("img") if " least at " in image["alt"]]
    assert len(captions) == 1 and captions[0].startswith("Expected loss over c: least at ")


def test_constraints_may_forbid_all_effects(monkeypatch: pytest.MonkeyPatch):
    finding, body = constrained_effects(monkeypatch)
    assert finding.startswith("The model has no expected loss for changes of a single parameter")
    assert "Changes of run" not in body.text and " least at " not in str(body.all("img"))


@pytest.mark.nightly
def test_the_same_search_gives_the_same_page(search: Optimizer, source: str, tmp_path: Path):
    assert written(search, tmp_path / "again.html") == source


@pytest.fixture
def projected(monkeypatch: pytest.MonkeyPatch) -> Optimizer:
    """A search whose model has a projection of the parameters."""
    rng = np.random.default_rng(0)
    draws = {
        "W": np.eye(2) + 0.01 * rng.standard_normal((2, 10, 2, 2)),
        "lengthscale": rng.uniform(0.4, 0.6, (2, 10, 2)),
        "noise": rng.uniform(0.01, 0.02, (2, 10)),
        "outputscale": rng.uniform(1.0, 2.0, (2, 10)),
    }
    optimizer = Optimizer({"x0": (0.0, 1.0), "x1": (0.0, 1.0)}, num_initial=100)
    X, y = rng.random((6, 2)), rng.standard_normal(6)
    for point, value in zip(X, y, strict=True):
        optimizer.tell({"x0": point[0], "x1": point[1]}, value)
    posterior = Posterior(AdditiveGP(projections(NearIdentity, main_effects())), X, y, draws)
    monkeypatch.setattr(Optimizer, "posterior", property(lambda self: posterior))
    return optimizer


def test_a_projection_has_no_shares(projected: Optimizer):
    (section,) = learned_sections(Evidence(projected, 0))
    assert section.finding.startswith("The model looks at combinations of parameters")
    assert not str(section.body)


@pytest.mark.nightly
def test_a_model_with_a_projection_has_a_report_without_shares(
    projected: Optimizer, tmp_path: Path
):
    text = Reader(write_report(projected, tmp_path / "r.html").read_text()).text
    assert "The model looks at combinations of parameters" in text
    assert "one parameter changes" not in text and "Can the predictions be trusted?" in text


@pytest.mark.nightly
def test_one_parameter_has_no_pairs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    rng = np.random.default_rng(0)
    optimizer = Optimizer({"x": (0.0, 1.0)}, "maximize", num_initial=100)
    for x in rng.random(6):
        optimizer.tell({"x": x}, np.sin(5 * x))
    draws = {
        "Z": np.zeros((2, 10, 1, 1), int),
        "lengthscale": rng.uniform(0.4, 0.6, (2, 10, 1)),
        "noise": rng.uniform(0.01, 0.02, (2, 10)),
        "outputscale": rng.uniform(1.0, 2.0, (2, 10)),
    }
    told = [trial.params["x"] for trial in optimizer.trials]
    values = [trial.value for trial in optimizer.trials]
    posterior = Posterior(AdditiveGP(), np.reshape(told, (-1, 1)), values, draws, names=("x",))
    monkeypatch.setattr(Optimizer, "posterior", property(lambda self: posterior))
    text = Reader(write_report(optimizer, tmp_path / "r.html").read_text()).text
    assert "interact?" not in text and "Which parameters matter?" in text


def test_the_space_is_shown_with_what_is_fixed():
    optimizer = Optimizer({"x": (0.0, 1.0), "batch_size": Fixed(32)})
    text = Reader(str(settings(Evidence(optimizer, 0)).body)).text
    assert "x0 to 1" in text and "batch_sizealways 32" in text


def test_a_path_is_checked_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    optimizer = Optimizer({"x": (0.0, 1.0)}, num_initial=100)
    for x in (0.2, 0.7):
        optimizer.tell({"x": x}, x)
    monkeypatch.setattr(Optimizer, "posterior", property(lambda self: pytest.fail("too early")))
    (tmp_path / "file").touch()
    for folder in ("none", "file"):
        path = tmp_path / folder / "r.html"
        message = re.escape(f"{path} cannot be written: there is no folder {path.parent}; create")
        with pytest.raises(FileNotFoundError, match=message):
            write_report(optimizer, str(path))
    with pytest.raises(IsADirectoryError, match="is a folder: add the name of a file"):
        write_report(optimizer, tmp_path)


def test_errors(search: Optimizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(TypeError, match="search must be an Optimizer or a Result, got 3"):
        write_report(3, tmp_path / "r.html")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match="num_suggestions must be an integer of at least 0, got -1"
    ):
        write_report(search, tmp_path / "r.html", num_suggestions=-1)
    with pytest.raises(ValueError, match="at least two complete trials, it has 0"):
        write_report(Optimizer({"x": (0.0, 1.0)}), tmp_path / "r.html")
    for section in ("best_so_far", "calibration", "convergence"):
        monkeypatch.setattr(f"structbo.report.writing.{section}", settings)  # without pictures
    monkeypatch.setattr("structbo.report.writing.learned_sections", lambda evidence: [])
    assert write_report(search, tmp_path / "r.html", num_suggestions=0).exists()
    with pytest.raises(FileNotFoundError):
        write_report(search, tmp_path / "none" / "r.html", num_suggestions=0)
