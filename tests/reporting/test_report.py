"""The report on a ledger: one page with every question, what it means and its proof; and what results save and draw."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from command_line import run_cli

import optimaldp as odp
from optimaldp.errors import InputError
from optimaldp.ledger import Budget
from optimaldp.reporting.reliability import question_texts, reliability_of
from optimaldp.reporting.report import report_html, write_report

TABLE = pyarrow.table(
    {
        "smokes": ["yes"] * 300 + ["no"] * 700,
        "ward": (["a"] * 5 + ["<b>&"] * 5) * 100,
        "age": [20 + i % 60 for i in range(1000)],
    }
)


class Outline(HTMLParser):
    """Whether every element is closed, and what would be fetched from elsewhere."""

    VOID = ("meta", "line", "rect", "polyline", "br")

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.links += [str(value) for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.stack.pop() == tag


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "survey.ledger"
    with odp.open(TABLE, ledger=path, budget=Budget(epsilon=10), dataset="survey <2026>") as table:
        table.ask("share(smokes = 'yes') >= 0.9", epsilon=1)
        table.ask("histogram(smokes, ['yes', 'no'])", epsilon=1)
        table.ask("majority(age < 150)", epsilon=2, by="ward", groups=["a", "<b>&"])
    return path


def test_a_report_stands_alone_and_says_everything(ledger: Path) -> None:
    page = report_html(ledger)
    outline = Outline()
    outline.feed(page)
    assert outline.stack == []
    assert outline.links == []
    assert "http://" not in page
    assert "https://" not in page
    assert "<b>" not in page
    assert "survey &lt;2026&gt;" in page
    text = re.sub(r"<[^>]+>", " ", page)
    assert "4 of 10 spent in 3 entries" in text
    assert text.count("Protected: each row counts as one person.") == 3
    assert text.count("Whoever knows everybody else") == 4  # each answer, and all together
    assert "balanced chain" in text  # the proof, in the appendix
    assert "lattice noise" in text
    assert text.index("balanced chain") > text.index("Appendix")
    assert page.count('class="picture"') == 3  # the gauge, and a curve for each question that has a margin


def test_an_empty_ledger_has_a_report_too(tmp_path: Path) -> None:
    path = tmp_path / "empty.ledger"
    odp.open(TABLE, ledger=path, budget=Budget(epsilon=1)).close()
    assert "Nothing was asked yet" in report_html(path)


def test_the_command_writes_the_page(ledger: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    ran = run_cli("report", "--ledger", str(ledger), "--output", str(output))
    assert (ran.code, ran.stdout.strip()) == (0, str(output))
    assert "Appendix: the proofs" in output.read_text("utf-8")
    for wrong in (("--ledger", str(tmp_path / "none.ledger"), "--output", str(output)), ("--output", str(output))):
        failed = run_cli("report", *wrong)
        assert failed.code == 2
        assert failed.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["report.pdf", "report", "nowhere/report.html"])
def test_a_page_that_cannot_be_written_is_told(ledger: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="output"):
        write_report(ledger, tmp_path / name)


def test_the_curve_is_that_of_the_law_that_answered() -> None:
    made = odp.release(TABLE, "majority(age < 150)", epsilon=2, by="ward", groups=["a", "<b>&"])
    shown = reliability_of(f"{made.question} | by: ward ['a', '<b>&']", made.statement)
    assert shown is not None
    law = made.statement["mechanism_document"]
    expected = odp.preview("majority(age < 150)", epsilon=law["epsilon"], neighbours=law["neighbours"])
    assert shown.error(1) == expected.error(1)
    assert reliability_of("majority(x)", None) is None
    assert question_texts("majority(x) | where: a | by: b")[-1] == "majority(x)"


def test_a_release_is_drawn_and_saved(tmp_path: Path) -> None:
    yes_no = odp.release(TABLE, "share(smokes = 'yes') >= 0.9", epsilon=1)
    counts = odp.release(TABLE, "histogram(smokes, ['yes', 'no'])", epsilon=1)
    groups = odp.release(TABLE, "majority(age < 150)", epsilon=2, by="ward", groups=["a", "<b>&"])
    for name, made in (("one", yes_no), ("counts", counts), ("groups", groups)):
        figure: Any = made.plot(tmp_path / f"{name}.svg")
        assert (tmp_path / f"{name}.svg").stat().st_size > 1000
        assert figure._repr_png_().startswith(b"\x89PNG")
    bars = counts.plot().axes[0].patches
    assert [bar.get_width() for bar in bars] == list(counts.answer.values())  # type: ignore[attr-defined]
    assert counts.save(tmp_path / "made.json").read_text("utf-8") == counts.to_json(indent=2) + "\n"
    assert "<!doctype html>" in yes_no.save(tmp_path / "made.html").read_text("utf-8")
    for wrong in ("made.xlsx", "nowhere/made.json"):
        with pytest.raises(InputError, match="path"):
            yes_no.save(tmp_path / wrong)
