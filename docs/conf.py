"""The site: Markdown pages, pages made at build time from the code itself, mathematics without any server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from generate import write_all  # noqa: E402  (found by the line above)

from optimaldp import __version__  # noqa: E402

project = "optimaldp"
author = "the optimaldp project"
copyright = "the optimaldp project"
release = version = __version__

extensions = ["myst_parser", "sphinx-mathjax-offline"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 4
nitpicky = True
exclude_patterns = ["generate", "build", "verify", "decisions/0000-template.md"]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"optimaldp {__version__}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def list_other_pages(_: Any, docname: str, source: list[str]) -> None:
    """Pages that the front page does not name take the place of its line "every-other-page", so that none gets lost."""
    if docname != "index":
        return
    written = [page.relative_to(HERE).with_suffix("").as_posix() for page in HERE.rglob("*.md")]
    others = [
        page
        for page in written
        if not page.startswith(("generated/", "index", "decisions/0000")) and f"\n{page}\n" not in source[0]
    ]
    source[0] = source[0].replace("every-other-page\n", "".join(f"{page}\n" for page in sorted(others)))


def setup(app: Any) -> None:
    """Before pages are collected, write those that come from the code."""
    app.connect("builder-inited", lambda _: write_all(HERE / "generated"))
    app.connect("source-read", list_other_pages)
