"""docs/proven.md marks every theorem, each mark names a statement that exists, and every main statement is marked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.proof_values import computed_file
from tools.proofs import (
    COMPUTED,
    MAIN_WITH_SECTION,
    PROOFS,
    STATEMENT,
    forbidden_words,
    main,
    without_comments,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "proven.md"
_NAMED = re.compile(r"((?:`[\w']+`(?:, )?)+) \(`(\w+)\.v`\)")
_CHECKED = re.compile(rf"\*Machine-checked:\* (?:{_NAMED.pattern}(?:; )?)+")
_MARK = re.compile(r"\*Machine-checked:\*|\*[Pp]roved on paper\.?\*|\*Measured\.?\*")
# A statement says so, has a proof, or is a paragraph or an item with a heading of its own.
_STATEMENT = re.compile(r"\*\*(?:Theorem|Lemma)|∎|\*Proof\.\*|^(?:- |\*\*)")


def units(page: str) -> list[str]:
    """The page in pieces: each begins with a paragraph or list item that states or proves, and goes on to the next such one."""
    blocks = re.split(r"\n\n|\n(?=- )", page)
    found: list[str] = []
    for block in blocks:
        if block.startswith("#") or _STATEMENT.search(block):
            found.append(block)
        elif found:
            found[-1] += "\n\n" + block
    return found


def unmarked(page: str) -> list[str]:
    """The first words of every theorem that says neither machine-checked nor proved on paper nor measured.

    A statement whose proof is the next paragraph may have its mark there.
    """
    numbered, heading, studies = page.partition("## What is measured")
    pieces = [*units(numbered), *([] if _MARK.search(studies) else [heading])]
    states = [piece.startswith("## What") or bool(_STATEMENT.search(piece)) for piece in pieces]
    return [
        piece[:60]
        for piece, is_statement, following in zip(pieces, states, [*pieces[1:], ""])
        if is_statement and not _MARK.search(piece) and not (following.startswith("*Proof") and _MARK.search(following))
    ]


def marked(page: str) -> dict[tuple[str, str], str]:
    """File and name of every statement that the page calls machine-checked, with the section where it says so."""
    found: dict[tuple[str, str], str] = {}
    section = ""
    for line in page.splitlines():
        heading = re.match(r"## (\d+)\.", line)
        section = heading[1] if heading else section
        for checked in _CHECKED.finditer(line):
            for names, file in _NAMED.findall(checked[0]):
                for name in re.findall(r"`([\w']+)`", names):
                    found[file, name] = section
    return found


def proven() -> dict[tuple[str, str], str]:
    """File and name of every statement with a sentence of the page above it, with the section that the comment names."""
    return {
        (path.stem, name): section
        for path in PROOFS.glob("*.v")
        for section, name in MAIN_WITH_SECTION.findall(path.read_text())
    }


def test_every_theorem_has_a_mark() -> None:
    assert unmarked(PAGE.read_text()) == []


def test_marks_and_statements_are_the_same() -> None:
    assert marked(PAGE.read_text()) == proven()


def test_missing_and_stale_marks_are_found() -> None:
    page = PAGE.read_text()
    without = page.replace("*Machine-checked:* `counts_private`", "`counts_private`")
    assert any("**Theorem** (counts)" in words for words in unmarked(without))
    assert marked(page.replace("`hedge_private`", "`hedge_proven`")) != proven()
    assert marked(page.replace("`counts_private`, ", "")) != proven()
    assert marked(page.replace("## 14. Numbers", "## 15. Numbers")) != proven()


def test_every_machine_checked_mark_is_needed() -> None:
    page = PAGE.read_text()
    assert page.count("*Machine-checked:*") == len(re.findall(r"\*Machine-checked:\* `", page)) > 20
    for found in re.finditer(r"\*Machine-checked:\* ", page):
        assert marked(page[: found.start()] + page[found.end() :]) != proven(), page[found.start() - 80 : found.end()]


def test_every_file_opens_with_its_idea() -> None:
    assert [path.name for path in PROOFS.glob("*.v") if not path.read_text().startswith("(** ")] == []


def test_no_word_hides_a_missing_proof() -> None:
    assert {path.name: words for path in PROOFS.glob("*.v") if (words := forbidden_words(path.read_text()))} == {}


@pytest.mark.parametrize(
    "word",
    [
        "Admitted.",
        "Axiom a : False.",
        "Parameter f : nat.",
        "Conjectures c : False.",
        "admit.",
        "Admit Obligations.",
        "Declare Module M : T.",
        "Unset Guard Checking.",
        "Unset Universe Checking.",
        "#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n.",
        "Hypothesis h : False.",
        "#[local] Variables (a : False) (b : False).",
        "Context (h : False).",
        "Section S. Variable n : nat. End S. Hypothesis h : False.",
        "Module M. Variable h : False. End M.",
        'Definition s := "(*". Axiom a : False. Definition t := "*)".',
        "(* (* *) *) Axiom a : False.",
    ],
)
def test_such_words_are_found(word: str) -> None:
    assert forbidden_words(f"Lemma b : False.\n{word}") != []


@pytest.mark.parametrize(
    "text",
    [
        "(* (* Axiom *) Admitted *) Lemma a : True.",
        "Section S.\n  Variable n : nat.\n  Section T. End T.\n  Hypothesis h : n = n.\nEnd S.",
        "Module M := N. Section S. Context {A : Type}. End S.",
    ],
)
def test_other_words_are_not(text: str) -> None:
    assert forbidden_words(text) == []


def test_every_kind_of_statement_is_asked_for_its_assumptions() -> None:
    text = "Lemma a : T.\n  #[local] Fact b : T.\nLocal Example c : T.\nProgram Theorem d : T.\n(* Lemma e : T. *)"
    assert STATEMENT.findall(without_comments(text)) == ["a", "b", "c", "d"]


def test_values_are_those_of_our_functions() -> None:
    assert COMPUTED.read_text() == computed_file()


def test_without_coq_it_is_a_skip_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert main(["check"]) == 0
    assert "coqc is not installed" in capsys.readouterr().out
