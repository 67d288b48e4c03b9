"""The pages: one frame, one fragment each. No template engine: nothing but our own files and the token goes in."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from optimaldp import __version__


@dataclass(frozen=True)
class Page:
    """A page of the studio."""

    path: str
    name: str
    title: str
    words: str
    researchers: bool = False
    """Whether it stands behind the tab for researchers."""


PAGES = (
    Page("/release", "release", "Ask", "Private answers about your table, paid from its budget."),
    Page("/sanitise", "sanitise", "Publish rows", "A whole table of made-up people like yours, which you may publish."),
    Page(
        "/explore",
        "explore",
        "Choose ε",
        "How private and how accurate would an answer be? Choose a question and move the slider: nothing is read or spent.",
    ),
    Page(
        "/research",
        "research",
        "Datasets",
        "Every dataset of a few people, the boundary graph, and the phases of a question.",
        researchers=True,
    ),
    Page(
        "/design",
        "design",
        "Design",
        "The best private mechanism on a graph of datasets, with its proof.",
        researchers=True,
    ),
    Page(
        "/channel",
        "channel",
        "Channel",
        "What a mechanism tells an attacker, and the most useful private one.",
        researchers=True,
    ),
)
API_PAGE = Page(
    "/api", "api", "API", "The same calls for programs: JSON in, JSON out, one shape for every error.", researchers=True
)
_RESEARCH = next(page for page in PAGES if page.researchers)


SHARED = ("table", "ledger", "history", "confirm")
"""Parts of several pages: choosing a table, its budget, what was asked, and the confirmation of a spend."""


@cache
def asset(name: str) -> str:
    """The text of one of our own files."""
    return (files("optimaldp.studio") / "static" / name).read_text("utf-8")


def page_html(page: Page, token: str) -> str:
    """The whole page; *token* is what its own requests carry."""
    every = (*PAGES, API_PAGE)
    links = "".join(_link(one, page) for one in every if not one.researchers)
    behind = "".join(_link(one, page) for one in every if one.researchers) if page.researchers else ""
    here = ' aria-current="true"' if page.researchers else ""
    parts = {
        "title": html.escape(page.title),
        "words": html.escape(page.words),
        "name": page.name,
        "token": html.escape(token),
        "version": __version__,
        "links": f'{links}<a href="{_RESEARCH.path}"{here}>For researchers</a>',
        "behind": f'<nav class="behind" aria-label="For researchers">{behind}</nav>' if behind else "",
        "content": asset(f"{page.name}.html"),
        **{name: asset(f"{name}.html").rstrip() for name in SHARED},
    }
    made = asset("frame.html")
    for name, text in parts.items():
        made = made.replace("{{" + name + "}}", text)
    return made


def _link(one: Page, here: Page) -> str:
    current = ' aria-current="page"' if one is here else ""
    return f'<a href="{one.path}"{current}>{html.escape(one.title)}</a>'
