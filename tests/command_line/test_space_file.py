"""Search spaces in YAML and JSON."""

import json
import re
from pathlib import Path

import pytest

from structbo import Categorical, Fixed, Integer, Ordinal, Real, Space
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


BAD = {
    "lr: [1, 2": "is neither YAML nor JSON",
    "- 1": "must map names to parameters, got [1]",
    "": "must map names to parameters, got None",
    "lr: 3": "lr must have a type and its arguments",
    "lr: {low: 0, high: 1}": "lr must have a type and its arguments",
    "lr: {type: rael, low: 0, high: 1}": "got 'rael' (did you mean 'real'?)",
    "lr: {type: [real], low: 0, high: 1}": "got \"['real']\"",
    "lr: {type: real, low: 0, hi: 1}": "lr: got an unexpected keyword argument 'hi'",
    "lr: {type: real, low: 0}": "lr: missing 1 required positional argument: 'high'",
    "lr: {type: real, low: a, high: 1}": "lr: low must be a number, got 'a'",
    "lr: {type: integer, low: 0.5, high: 1}": "lr: low must be an integer, got 0.5",
    "k: {type: categorical, choices: relu}": "k: ",
    "lr: !!python/object/apply:os.getcwd []": "is neither YAML nor JSON",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_space(text: str, tmp_path: Path):
    """Every error names the file; what would be code is refused."""
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=re.escape(BAD[text])) as error:
        read_space(path)
    assert str(path) in str(error.value)
