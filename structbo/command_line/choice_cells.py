"""Conversion between choices and the texts of table cells."""

import json
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from structbo.command_line.numerals import readings
from structbo.data import MISSING, as_float
from structbo.space import Space
from structbo.space.scalars import is_missing

TRUE = {"true", "yes", "on", "wahr", "ja", "vrai", "oui", "vero", "verdadero", "sí", "si"}
FALSE = {"false", "no", "off", "falsch", "nein", "faux", "non", "falso"}
"""Texts for false, as people and localized spreadsheets write it."""


def cells_of_choices(space: Space) -> dict[str, "ChoiceCells"]:
    """The cells of all columns of choices and fixed values, by name."""
    choices = {name: getattr(made, "choices", None) for name, made in space.spec.items()}
    return {name: ChoiceCells(given) for name, given in choices.items() if given is not None}


class ChoiceCells:
    """The cells of a column of choices.

    A choice is written as its text. A string is quoted as in JSON if its text could mean another
    choice, has blanks around it, or is not printable.

    Args:
        choices: the choices of a parameter, or a single fixed value.

    Example:
        >>> cells = ChoiceCells([1, "1", None, True])
        >>> [cells.text(choice) for choice in (1, "1", None, True)]
        ['1', '"1"', 'None', 'True']
        >>> [cells.choice(text) for text in ("1.0", '"1"', "", "TRUE")]
        [1, '1', None, True]
    """

    def __init__(self, choices: Sequence[Any]) -> None:
        self._choices = choices
        self._alike: dict[str, set[int]] = defaultdict(set)
        for i, choice in enumerate(choices):
            for key in _keys(str(choice)) | ({""} if is_missing(choice) else set()):
                self._alike[key].add(i)
        self._texts = {repr(choice): self._text(choice) for choice in choices}
        self._exact = dict(zip(self._texts.values(), choices, strict=True))

    def text(self, choice: Any) -> str:
        """The cell of a choice."""
        return self._texts[repr(choice)]

    def choice(self, text: str) -> Any:
        """The choice of a cell, even if a spreadsheet has changed its text.

        Raises:
            LookupError: if it matches no choice.
            ValueError: if it matches several; the message continues the name of its cell.
        """
        for exact in (text, text.strip(), _unquoted(text)):
            if exact in self._exact:
                return self._exact[exact]
        alike = {i for key in _keys(text) for i in self._alike.get(key, ())}
        found = [self._choices[i] for i in sorted(alike)]
        found = found or [choice for choice in self._choices if _means(text, choice)]
        if not found:
            raise LookupError(text)
        if len(found) > 1:  # strings that are written in quotes are not meant without
            found = [choice for choice in found if not self.text(choice).startswith('"')] or found
        if len(found) > 1:
            several = ", ".join(map(self.text, found))
            raise ValueError(f"may be any of {several}, got {text!r}; write one of these")
        return found[0]

    def _text(self, choice: Any) -> str:
        if not isinstance(choice, str):
            others = [c for c in self._choices if not isinstance(c, str) and str(c) == str(choice)]
            return str(choice) if len(others) == 1 else repr(choice)
        is_seen = choice.isprintable() and choice == choice.strip() != ""
        is_alone = all(len(self._alike[key]) == 1 for key in _keys(choice))
        if is_seen and is_alone and not choice.startswith('"'):
            return choice
        return json.dumps(choice, ensure_ascii=not choice.isprintable())


def _keys(text: str) -> set[str]:
    """Keys of a text, its letters and numeric values; texts with a common key are alike."""
    letters = " ".join(unicodedata.normalize("NFC", text).split()).casefold()
    return {letters, *(f"{number:.12g}" for number in readings(text.strip()))}


def _unquoted(text: str) -> str | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, str) else None


def _means(text: str, choice: Any) -> bool:
    """Whether a text and a choice are the same truth value, or both missing."""
    word = text.strip().casefold()
    if is_missing(choice):
        return word in MISSING
    if isinstance(choice, bool) and as_float(word) in (0.0, 1.0):
        return as_float(word) == choice
    meant = str(choice).casefold()
    return any({word, meant} <= words for words in (TRUE, FALSE))
