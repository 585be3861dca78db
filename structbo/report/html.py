"""Markup: whatever is not markup already is escaped, names and labels from anybody included."""

import html
from collections.abc import Iterable, Sequence


class Html(str):
    """Markup, as `tag` makes it. Any other string is a text."""


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


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table that scrolls by itself where the page is too narrow.

    Args:
        caption: what it shows.
        header: names of the columns.
        rows: their cells; the first of each says what the row is about.
    """
    head = tag("tr", *(tag("th", name, scope="col") for name in header))
    body = (
        tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in cells))
        for first, *cells in rows
    )
    cells = tag("table", tag("thead", head), tag("tbody", *body))
    # What scrolls must be within reach of the keyboard, too.
    scrolling = tag("div", cells, class_="scroll", tabindex="0", role="region", aria_label=caption)
    return tag("figure", tag("figcaption", caption), scrolling)
