"""The pages of the service: sign in with a key, ask, wait, see, approve. They hold nothing and compute nothing.

One page for all views. Its look is the studio's, whose files are served here too. The key is kept by the browser for its tab
alone (sessionStorage) and travels in a header. No script stands in the page, and a form can be sent nowhere.
"""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from optimaldp import __version__
from optimaldp.asking.ask import FIELDS, key_of, meaning_of
from optimaldp.studio.pages import asset as studio_asset

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_OWN = {"curator.css": "text/css", "curator.js": "text/javascript", "answer.js": "text/javascript"}
_OF_STUDIO = {
    "studio.css": "text/css",
    "theme.js": "text/javascript",
    "studio.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_ASKED_FIRST = ("question", "epsilon", "delta")
MORE = tuple(name for name in FIELDS if not meaning_of(name).of_table and name not in _ASKED_FIRST)
"""The options of a question that are folded away."""


def page_routes(*, accounts: bool = False) -> list[Route]:
    """The page and its files, by name: no path from a request ever reaches the file system.

    *accounts*: whether people can sign in with accounts of their organisation.
    """
    files_ = [
        *(Route(f"/static/{name}", _file(_own(name), kind)) for name, kind in _OWN.items()),
        *(Route(f"/static/{name}", _file(studio_asset(name), kind)) for name, kind in _OF_STUDIO.items()),
    ]
    page = _file(page_html(accounts), "text/html")
    return [Route("/", page, methods=["GET"]), *files_]


def _file(text: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def show(_: Request) -> Response:
        return PlainTextResponse(text, media_type=kind, headers=HEADERS)

    return show


@cache
def _own(name: str) -> str:
    return (files("optimaldp.service") / "static" / name).read_text("utf-8")


@cache
def page_html(accounts: bool = False) -> str:
    """The whole page: our own file, with the options of a question from their one list."""
    link = '<p><a id="with-account" href="/sign-in">Sign in with your organisation\u2019s account</a></p>'
    parts = {
        "version": __version__,
        "options": "\n".join(_option(name) for name in MORE),
        "accounts": link if accounts else "",
    }
    made = _own("curator.html")
    for name, text in parts.items():
        made = made.replace("{{" + name + "}}", text)
    return made


def _option(name: str) -> str:
    """A field for one option: its name, its meaning, and how its text is read by the page."""
    meaning, key = meaning_of(name), key_of(name)
    words, title = html.escape(meaning.words), html.escape(name.replace("_", " "))
    if meaning.form.switch:
        box = f'<input type="checkbox" id="of-{key}" data-option="{key}" data-form="switch">'
        return f'<label class="check" for="of-{key}">{box} <span>{title} <small>{words}</small></span></label>'
    form = {"a list": "list", "a whole number": "whole", "a text or an object of texts": "rules"}.get(
        meaning.form.words, "text"
    )
    field = f'<input id="of-{key}" data-option="{key}" data-form="{form}" autocomplete="off">'
    return f'<div><label for="of-{key}">{title} <small>{words}</small></label>{field}</div>'
