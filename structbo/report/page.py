"""The page: one file that loads nothing, runs nothing, and sends nothing."""

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple

from structbo.report.html import Html, joined, tag
from structbo.report.style import STYLE


class Section(NamedTuple):
    """A part of the page.

    Args:
        title: its heading.
        finding: its result, in a sentence or two; the page begins with all findings.
        body: pictures, tables and explanations.
    """

    title: str
    finding: str
    body: Html


def html_page(title: str, remark: str, sections: Sequence[Section]) -> str:
    """The whole page.

    Args:
        title: above all.
        remark: below the title.
        sections: in their order.
    """
    anchors = [re.sub(r"\W+", "-", section.title.lower()).strip("-") for section in sections]
    findings = (
        tag("li", tag("a", section.title, href=f"#{anchor}"), " ", section.finding)
        for section, anchor in zip(sections, anchors, strict=True)
        if section.finding
    )
    body = tag(
        "main",
        tag("header", tag("h1", title), tag("p", remark)),
        tag("nav", tag("ul", *findings), class_="summary", aria_label="Summary"),
        *(_section(*both) for both in zip(sections, anchors, strict=True)),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy()),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Html(STYLE)),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', body), lang='en')}\n"


def _section(section: Section, anchor: str) -> Html:
    finding = [tag("p", section.finding, class_="finding")] if section.finding else []
    heading = tag("h2", section.title)
    return tag("section", joined([heading, *finding, section.body]), id=anchor)


def _policy() -> str:
    """Nothing but the pictures inside of the page and its own style."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"
