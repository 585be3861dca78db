"""Hints for misspelled words."""

import difflib
from collections.abc import Iterable
from typing import Any


def did_you_mean(word: Any, words: Iterable[Any]) -> str:
    """The end of a message that suggests a known word, if one is close."""
    close = difflib.get_close_matches(str(word), [w for w in words if isinstance(w, str)], n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
