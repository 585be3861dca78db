"""Search spaces in YAML and JSON."""

import json
import re
from pathlib import Path

import pytest

from structbo import Categorical, Fixed, Integer, LinearConstraint, Ordinal, Real, Space
from structbo.command_line.space_file import read_space

GOOD = """
lr: {type: real, low: 1e-5, high: 0.1, log: true}
layers: {type: integer, low: 1, high: 8}
batch: {type: ordinal, choices: [16, 32, 64]}
act: {type: categorical, choices: [relu, gelu, "1e3"]}
dropout: {type: real, low: 0, high: 0.5, step: 0.1}
optimizer: {type: fixed, value: adam}
"""
EXPECTED = Space(
    {
        "lr": Real(1e-5, 0.1, log=True),
        "layers": Integer(1, 8),
        "batch": Ordinal([16, 32, 64]),
        "act": Categorical(["relu", "gelu", "1e3"]),
        "dropout": Real(0.0, 0.5, step=0.1),
        "optimizer": Fixed("adam"),
    }
)


def written(folder: Path, text: str) -> Path:
    path = folder / "space.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_space_of_every_type(tmp_path: Path):
    assert read_space(written(tmp_path, GOOD)) == EXPECTED


def test_json_is_read_as_well(tmp_path: Path):
    spec = {"x": {"type": "real", "low": 0.0, "high": 2.0}}
    assert read_space(written(tmp_path, json.dumps(spec))) == Space({"x": Real(0.0, 2.0)})


SQUARE = "{a: {type: real, low: 0, high: 1}, b: {type: real, low: 0, high: 1}, constraints: "


def test_texts_of_a_space_file_stay_as_they_are_written(tmp_path: Path):
    """Tables contain the same texts; YAML 1.2 has fewer spellings of numbers and truth values."""
    words = ["yes", "no", "on", "off", "12:30", "2024-01-31", "007", "1_000", "0x1F", "NO", "y"]
    text = f"a: {{type: categorical, choices: [{', '.join(words)}]}}"
    assert read_space(written(tmp_path, text)) == Space({"a": Categorical(words)})
    text = "a: {type: ordinal, choices: [true, FALSE, null, 1e-5, 2E+3, .5, 1., -3, +4, '5', 0]}"
    values = [True, False, None, 1e-5, 2000.0, 0.5, 1.0, -3, 4, "5", 0]
    choices = read_space(written(tmp_path, text)).spec["a"].choices
    assert list(map(repr, choices)) == list(map(repr, values))
    text = "a: {type: fixed, value: '1e3'}\nb: {type: integer, low: 0, high: 8, step: 2}"
    expected = Space({"a": Fixed("1e3"), "b": Integer(0, 8, step=2)})
    assert read_space(written(tmp_path, text)) == expected


def test_a_file_may_have_tabs_marks_and_other_encodings(tmp_path: Path):
    expected = Space({"t °C": Real(0.0, 1.0)})
    json_text = json.dumps({"t °C": {"type": "real", "low": 0, "high": 1}}, indent="\t")
    (tmp_path / "space.json").write_text(json_text, encoding="utf-8-sig")
    assert read_space(tmp_path / "space.json") == expected
    yaml_text = "base: &b {type: real, low: 0, high: 1}\nt °C: {<<: *b, low: -1}"
    (tmp_path / "space.yaml").write_text(yaml_text, encoding="cp1252")
    assert read_space(tmp_path / "space.yaml").spec["t °C"] == Real(-1.0, 1.0)


def test_constraints_are_a_list_beside_the_parameters(tmp_path: Path):
    text = SQUARE + "[{weights: {a: 1, b: 2e0}, high: 1}, {weights: {b: -1}, low: -5e-1}]}"
    expected = [
        LinearConstraint({"a": 1.0, "b": 2.0}, high=1.0),
        LinearConstraint({"b": -1.0}, low=-0.5),
    ]
    square = {"a": Real(0.0, 1.0), "b": Real(0.0, 1.0)}
    assert read_space(written(tmp_path, text)) == Space(square, expected)


def test_a_parameter_may_be_called_constraints(tmp_path: Path):
    space = read_space(written(tmp_path, "constraints: {type: integer, low: 0, high: 9}"))
    assert space == Space({"constraints": Integer(0, 9)})


BAD = {
    "lr: [1, 2": "is neither YAML nor JSON",
    "- 1": "must map names to parameters, got [1]",
    "": "must map names to parameters, got None",
    "lr: 3": "lr must have a type and its arguments",
    "lr: {low: 0, high: 1}": "lr must have a type and its arguments",
    "lr: {type: rael, low: 0, high: 1}": "got 'rael' (did you mean 'real'?)",
    "lr: {type: [real], low: 0, high: 1}": "got \"['real']\"",
    "lr: {type: real, low: 0, hi: 1}": "lr has an unknown 'hi' (did you mean 'high'?); it may have",
    "lr: {type: real, low: 0}": "lr has no 'high'; it must have low, high",
    "lr: {type: real, low: '1e-5', high: 1}": "lr: low must be a number, got '1e-5'",
    "lr: {type: real, low: 1, high: 2, log: no}": "lr: log must be True or False, got 'no'",
    "lr: {type: real, low: 1, high: 1}": "use Fixed(1.0) for a constant",
    "lr: {type: real, low: 0, high: 1}\nlr: {type: fixed, value: 1}": "has 'lr' twice",
    "lr: {type: real, low: 0, low: 1, high: 2}": "has 'low' twice",
    "1: {type: real, low: 0, high: 1}\n'1': {type: fixed, value: 1}": "differ by quotes only: 1",
    "? [1, 2]\n: 3": "is neither YAML nor JSON",
    "lr: {type: real, low: a, high: 1}": "lr: low must be a number, got 'a'",
    "lr: {type: integer, low: 0.5, high: 1}": "lr: low must be an integer, got 0.5",
    "k: {type: categorical, choices: relu}": "k: ",
    "lr: !!python/object/apply:os.getcwd []": "is neither YAML nor JSON",
    "lr: {type: fixed, value: 1}": "spec must hold a parameter that varies",
    SQUARE + "3}": "such as [{weights: {a: 1, b: 1}, high: 1}], got 3",
    SQUARE + "{weights: {a: 1}, high: 1}}": "constraints must be a list, such as [{w",
    SQUARE + "[a < b]}": "constraints[0] must have weights and bounds, such as {weights: {a",
    SQUARE + "[{weights: [1, 1], high: 1}]}": "constraints[0] must have weights and bounds",
    SQUARE + "[{weights: {a: x}, high: 1}]}": "[0]: weight of 'a' must be a number, got 'x'",
    SQUARE + "[{weights: {a: 1}, hi: 1}]}": "[0] has an unknown 'hi' (did you mean 'high'?)",
    SQUARE + "[{weights: {a: 1}, high: x}]}": "[0]: high must be a number, got 'x'",
    SQUARE + "[{weights: {a: 1}}]}": "[0]: a constraint needs a finite low or high, got none",
    SQUARE + "[{weights: {A: 1}, high: 1}]}": "has an unknown parameter 'A'",
    SQUARE + "[{weights: {a: 1}, high: -1}]}": "the constraints leave no room",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_space(text: str, tmp_path: Path):
    """Every error names the file; code is refused."""
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=re.escape(BAD[text])) as error:
        read_space(path)
    assert str(path) in str(error.value)
