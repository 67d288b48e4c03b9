"""The report on a ledger: one page with every question, what it means and its proof; and what results save and draw."""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pyarrow
import pytest
from command_line import run_cli

import optimaldp as odp
from optimaldp.errors import InputError
from optimaldp.ledger import Budget
from optimaldp.reporting import printing
from optimaldp.reporting.pictures import reliability_curve
from optimaldp.reporting.report import documents_html, question_texts, reliability_of, report_html, write_report

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
    assert text.count("Someone who knows everyone else") == 4  # each answer, and all together
    assert "balanced chain" in text  # the proof, in the appendix
    assert "lattice noise" in text
    assert text.index("balanced chain") > text.index("Appendix")
    # The gauge, a curve for each question that has a margin, and what epsilon means for one person.
    assert page.count('class="picture"') == 4
    assert "1. Is the share of people who smoke at least 90 %?" in text
    assert "2. How many people have each value of smokes: yes or no?" in text
    assert "3. For each ward: is the share of people whose age is below 150 more than 50 %?" in text


def test_options_and_groups_stay_in_the_order_of_the_question(tmp_path: Path) -> None:
    path = tmp_path / "order.ledger"
    with odp.open(TABLE, ledger=path, budget=Budget(epsilon=100)) as table:
        table.ask("histogram(smokes, ['yes', 'no'])", epsilon=20)
        table.ask("majority(age < 150)", epsilon=20, by="ward", groups=["a", "<b>&"])
        table.ask("histogram(ward: ['a'], smokes: ['yes'])", epsilon=20)
    page = report_html(path)
    text = re.sub(r"<[^>]+>", " ", page)
    assert "yes: 300; no: 700; (everyone else): 0" in text
    assert "a: yes; &lt;b&gt;&amp;: yes" in text
    head = "<tr><th>ward</th><th>smokes: yes</th><th>smokes: (everyone else)</th><th>all</th></tr><tr><td>a</td>"
    assert head in page  # with its margins
    assert "a table of 4 counts" in page


def test_a_number_is_said_with_its_interval(tmp_path: Path) -> None:
    path = tmp_path / "number.ledger"
    with odp.open(TABLE, ledger=path, budget=Budget(epsilon=100)) as table:
        made = table.ask("count(smokes = 'yes')", epsilon=1)
    for page in (report_html(path), documents_html([made]), documents_html([json.loads(made.to_json())])):
        assert page.count(html.escape(made.said())) == 2  # in the table of all answers, and beside its question
        assert "1. How many people smoke?" in page


def test_curves_that_look_alike_are_drawn_once() -> None:
    shown = odp.preview("majority(age < 150)", epsilon=1, n=1000)
    (first, errors), *others = shown.series
    twins = replace(shown, series=((first, errors), ("a twin", tuple(e + 1e-3 for e in errors)), *others))
    assert reliability_curve(twins).count("<polyline") == reliability_curve(shown).count("<polyline")
    assert f"{first} = a twin" in reliability_curve(twins)
    sure = replace(shown, series=((first, tuple(0.001 for _ in errors)), *others))
    assert "<svg" not in reliability_curve(sure)
    assert "99.5 %" in reliability_curve(sure)


def test_an_ethics_board_reads_what_it_means_for_one_person(ledger: Path) -> None:
    text = re.sub(r"<[^>]+>", " ", report_html(ledger))
    board = text[text.index("Appendix: for an ethics board") :]
    for head in ("What is protected", "What is not protected", "What it means for one person", "What remains"):
        assert head in board
    assert "epsilon 4" in board
    assert "98.3 of 100 guesses are right" in board  # e^4 / (1 + e^4), rounded up
    assert "4 of 10 spent" in board
    mixed = [
        odp.release(TABLE, "majority(age < 150)", epsilon=1, neighbours=one) for one in ("substitution", "add-remove")
    ]
    assert "each answer says what it means" in documents_html(mixed)
    # A replaced record is one removed and one added: e^2 / (1 + e^2), not e / (1 + e).
    for made, right in zip(mixed, ("73.2", "88.1"), strict=True):
        assert f"{right} of 100 guesses are right" in documents_html([made])


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


@pytest.mark.parametrize("name", ["report.docx", "report", "nowhere/report.html", "nowhere/report.pdf"])
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


def _released(folder: Path) -> tuple[Path, Path]:
    """Two files as the command line writes them: one release, and a list of two."""
    one = odp.release(TABLE, "share(smokes = 'yes') >= 0.9", epsilon=1)
    two = odp.release(TABLE, ["majority(age < 150)", "histogram(smokes, ['yes', 'no'])"], epsilon="0.5")
    first, second = folder / "one.json", folder / "two.json"
    one.save(first)
    second.write_text(json.dumps([made.to_document() for made in two]), "utf-8")
    return first, second


def test_documents_of_releases_make_a_report_without_a_ledger(tmp_path: Path) -> None:
    first, second = _released(tmp_path)
    ran = run_cli("report", str(first), str(second), "--output", str(tmp_path / "report.html"))
    assert ran.code == 0, ran.stderr
    page = (tmp_path / "report.html").read_text("utf-8")
    outline = Outline()
    outline.feed(page)
    assert (outline.stack, outline.links) == ([], [])
    text = re.sub(r"<[^>]+>", " ", page)
    assert "3 questions" in text
    assert "these answers together cost at most epsilon 2, delta 0." in text
    assert "No ledger kept count" in text
    assert text.count("it holds.") == 3
    assert page.count('class="picture"') == 3


def test_a_changed_document_is_not_reported_as_if_it_held(tmp_path: Path) -> None:
    document = odp.release(TABLE, "share(smokes = 'yes') >= 0.9", epsilon=1).to_document()
    document["mechanism"] = document["mechanism"] | {"epsilon": "0.1"}
    page = documents_html([document])
    assert "it does not hold" in page
    assert "it holds." not in page


def test_answers_about_different_people_are_not_added_up() -> None:
    asked = {"question": "majority(age < 150)", "epsilon": 1}
    releases = [odp.release(TABLE, **asked, neighbours=name) for name in ("substitution", "add-remove")]
    page = documents_html(releases)
    assert "differs from answer to answer" in page
    assert "together cost" not in page


@pytest.mark.parametrize("content", ["[]", "{}", "[1]", '{"question": "majority(x)"}', "no JSON", "\xff"])
def test_a_file_that_is_no_release_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(content, "latin-1")
    with pytest.raises(InputError):
        write_report(output=tmp_path / "report.html", documents=[path])
    assert not (tmp_path / "report.html").exists()


def test_a_ledger_and_documents_are_one_too_many(ledger: Path, tmp_path: Path) -> None:
    first, _ = _released(tmp_path)
    for arguments in ([str(first), "--ledger", str(ledger)], []):
        failed = run_cli("report", *arguments, "--output", str(tmp_path / "report.html"))
        assert failed.code == 2
        assert "ledger" in failed.stderr


def _only(monkeypatch: pytest.MonkeyPatch, folder: Path, scripts: dict[str, str]) -> None:
    """A machine on which these programs, and no other printers of pages, are installed."""
    folder.mkdir()
    for name, body in scripts.items():
        (folder / name).write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{body}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(printing.shutil, "which", lambda name: str(folder / name) if name in scripts else None)


_PRINTS = "Path(sys.argv[2]).write_bytes(b'%PDF-1.7 ' + Path(sys.argv[1]).read_bytes())"
_BROWSES = """
target = next(word.partition("=")[2] for word in sys.argv if word.startswith("--print-to-pdf="))
assert "--headless" in sys.argv and sys.argv[-1].startswith("file://")
Path(target).write_bytes(b"%PDF-1.4 by a browser")
"""


def test_a_report_is_printed_by_what_is_installed(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _only(monkeypatch, tmp_path / "bin", {"weasyprint": _PRINTS})
    printed = write_report(ledger, tmp_path / "report.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert b"Appendix: the proofs" in printed


def test_a_printer_that_fails_leaves_the_work_to_the_next(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _only(monkeypatch, tmp_path / "bin", {"wkhtmltopdf": "sys.exit(1)", "msedge": _BROWSES})
    assert write_report(ledger, tmp_path / "report.pdf").read_bytes() == b"%PDF-1.4 by a browser"


@pytest.mark.parametrize("scripts", [{}, {"chromium": "sys.exit(0)"}, {"chromium": "sys.exit(3)"}])
def test_without_a_printer_a_sentence_says_what_to_do(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripts: dict[str, str]
) -> None:
    _only(monkeypatch, tmp_path / "bin", scripts)
    with pytest.raises(InputError, match=r"write an \.html and print it in a browser"):
        write_report(ledger, tmp_path / "report.pdf")
    assert not (tmp_path / "report.pdf").exists()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_real_browser_prints_the_report(ledger: Path, tmp_path: Path) -> None:
    ran = run_cli("report", "--ledger", str(ledger), "--output", str(tmp_path / "report.pdf"))
    assert ran.code == 0, ran.stderr
    printed = (tmp_path / "report.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert len(printed) > 10_000


def test_a_browser_is_asked_for_no_user_where_there_are_none(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Windows: no effective user, so no word about a sandbox, and programs are found by their full path."""
    monkeypatch.delattr(printing.os, "geteuid", raising=False)
    script = f"{_BROWSES}\nassert '--no-sandbox' not in sys.argv"
    _only(monkeypatch, tmp_path / "bin", {"chrome": script})
    assert write_report(ledger, tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")
