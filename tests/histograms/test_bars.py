"""A histogram is drawn as bars: in a notebook, and in a terminal of any width."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.cli.options import bar_lines
from optimaldp.results import html_bars

ODD = "<b>&x"


class Page(HTMLParser):
    """Fails on tags that do not close; keeps the widths of bars and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.widths: list[float] = []
        self.text: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        style = dict(attrs).get("style") or ""
        if tag == "div" and "width:" in style:
            self.widths.append(float(style.rpartition("width:")[2].rstrip("%")))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_bars_of_a_notebook_are_as_long_as_their_counts() -> None:
    page = Page(html_bars(["a", ODD, "c", "d"], [40, 10, 0, -7], ["36 to 44"]))
    assert page.widths == [100, 25]
    assert page.text == ["a", "40", "36 to 44", ODD, "10", "c", "0", "d", "-7"]


def test_long_histograms_end_somewhere() -> None:
    page = Page(html_bars([str(place) for place in range(2000)], [1] * 2000))
    assert len(page.widths) == 50
    assert page.text[-1] == "… and 1,950 more"


def test_nobody_anywhere_has_no_bar() -> None:
    assert not Page(html_bars(["a", "b"], [0, 0])).widths


PEOPLE = pyarrow.table({"vote": ["a"] * 900 + [ODD] * 300, "ward": ["n", "s"] * 600, "age": [20, 70, 30] * 400})
VOTES = odp.histogram("vote", ["a", ODD])


@pytest.mark.parametrize(
    ("made", "bars"),
    [
        (lambda: odp.private_histogram([900, 300], epsilon=5), 2),
        (lambda: odp.release(PEOPLE, VOTES, epsilon=5), 2),
        (lambda: odp.release(PEOPLE, VOTES, epsilon=5).histogram(), 2),
        (lambda: odp.release(PEOPLE, VOTES, epsilon=5, by="ward", groups=["n", "s"]), 4),
        (lambda: odp.sanitise(PEOPLE, {"vote": ["a", ODD], "age": odp.bins([0, 50, 100])}, epsilon=5), 4),
        (lambda: odp.sanitise(PEOPLE, {"vote": ["a", ODD]}, epsilon=5).margin("vote"), 2),
    ],
)
def test_every_histogram_has_bars_in_a_notebook(made: Any, bars: int) -> None:
    page = Page(made()._repr_html_())
    large = [width for width in page.widths if width > 10]
    assert len(large) == bars
    assert max(large) == 100


def test_a_release_of_many_counts_has_a_short_line() -> None:
    made = odp.release(PEOPLE, odp.histogram("age", list(range(3000))), epsilon=1)
    assert repr(made) == "Release(3,001 answers, (1, 0)-DP, substitution, certified)"
    assert len(made.sentences()[0]) < 20_000


@pytest.mark.parametrize("columns", [20, 30, 44, 80, 200])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    names = [
        "a",
        "strong Republican",
        "an option whose name is far too long for any terminal that is narrow, or even for wide ones",
    ]
    lines = bar_lines(names, [1234, 617, 3], columns=columns)
    assert max(map(len, lines)) <= columns
    full, half = (line.count("█") for line in lines[:2])
    assert full >= 4
    assert abs(full - 2 * half) <= 1
    if columns < 60:
        assert "…" in lines[2]
