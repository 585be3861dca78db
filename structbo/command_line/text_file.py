"""Text files as editors and spreadsheets save them."""

import codecs
from pathlib import Path

WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""The first bytes of spreadsheet workbooks, in new and old formats."""


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, UTF-16 or Windows code page 1252.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is a workbook, or in another encoding.
    """
    data = path.read_bytes()
    if data.startswith(WORKBOOKS):
        raise ValueError(
            f"{path} is a spreadsheet workbook: save the sheet with the table as CSV UTF-8."
        )
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise ValueError(f"{path} is not readable as text: save it as UTF-8.")
