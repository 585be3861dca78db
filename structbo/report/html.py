"""Markup: whatever is not markup already is escaped, names and labels from anybody included."""

import html
import re
from collections.abc import Iterable, Sequence


class Html(str):
    """Markup, as `tag` makes it. Any other string is a text."""


MAX_COLUMNS = 2
"""Columns of a table that fits on the screen of a phone."""
VOID = {"img", "meta"}
"""Elements that have nothing inside."""


def tag(name: str, /, *children: str, **attributes: str) -> Html:
    """An element.

    Args:
        name: of the element.
        *children: markup, or texts, which are escaped.
        **attributes: their values are escaped; ``class_`` is class, ``http_equiv`` is http-equiv.

    Example:
        >>> tag("p", "1 < 2 ", tag("b", "&"), class_='"')
        '<p class="&quot;">1 &lt; 2 <b>&amp;</b></p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
    )
    return Html(f"<{name}{given}>{'' if name in VOID else f'{joined(children)}</{name}>'}")


def joined(parts: Iterable[str]) -> Html:
    """Markup and texts, one after the other."""
    return Html("".join(part if isinstance(part, Html) else escaped(part) for part in parts))


def escaped(text: str) -> str:
    """A text that is no markup. Characters that cannot be seen, or turn others around, are marked.

    Example:
        >>> print(escaped("<script>\\u202e'"))
        &lt;script&gt;\ufffd&#x27;
    """
    seen = (c.isprintable() or c == "\N{NO-BREAK SPACE}" for c in text)
    shown = (c if ok else "\N{REPLACEMENT CHARACTER}" for c, ok in zip(text, seen, strict=True))
    return html.escape("".join(shown))


def details(title: str, *children: str) -> Html:
    """A part of the page that opens with a click.

    Example:
        >>> details("More", "text")
        '<details><summary>More</summary>text</details>'
    """
    return tag("details", tag("summary", title), *children)


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table; on a narrow screen every row of a wide one is a block of labeled values.

    Args:
        caption: what it shows.
        header: names of the columns.
        rows: their cells; the first of each says what the row is about.
    """
    given = list(rows)
    kinds = ["number" if _are_numbers(column) else "text" for column in zip(*given, strict=True)]
    columns = list(zip(header, kinds, strict=True)) if given else []
    head = tag("tr", *(tag("th", name, scope="col", class_=kind) for name, kind in columns))
    body = []
    for first, *others in given:
        label = tag("th", first, scope="row", class_=kinds[0], data_label=header[0])
        cells = (
            tag("td", cell, class_=kind, data_label=name)
            for cell, (name, kind) in zip(others, columns[1:], strict=True)
        )
        body.append(tag("tr", label, *cells))
    kind = "wide" if len(header) > MAX_COLUMNS else "narrow"
    whole = tag("table", tag("thead", head), tag("tbody", *body), class_=kind)
    # The keyboard must reach a box that scrolls.
    scrolling = tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)
    return tag("figure", tag("figcaption", caption), scrolling)


def _are_numbers(cells: Iterable[str]) -> bool:
    return all(re.match(r"-?\d", cell) for cell in cells)
