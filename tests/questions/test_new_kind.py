"""A kind of question is one file: what the page on adding one shows is all there is to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import optimaldp as odp
from optimaldp.errors import QuestionError
from optimaldp.questions import forms, kinds

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "new-question.md"
KINDS = {"lead": "lead(vote, 'a', 'b', 10)", "unlisted": "unlisted(vote, ['a', 'b'])"}
"""A kind with a list of answers, and one with a number: its word, and a question."""


@pytest.mark.parametrize("word", KINDS)
def test_the_file_is_all_that_makes_the_kind_known(word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = re.findall(r"\.write_text\('''\n(.*?)'''\)", PAGE.read_text("utf-8"), re.DOTALL)
    (written,) = [one for one in files if f'Form("{word}"' in one]
    text = KINDS[word]
    with pytest.raises(QuestionError, match="known are"):
        odp.questions.parse(text)
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    (tmp_path / f"{word}.py").write_text(written, "utf-8")
    forms.forms.cache_clear()
    try:
        assert str(odp.questions.parse(text)) == text
    finally:
        monkeypatch.undo()
        forms.forms.cache_clear()


@pytest.mark.parametrize("word", KINDS)
def test_nothing_in_the_project_knows_of_it(word: str) -> None:
    named = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*.py")
        if re.search(rf'\b{word.title()}\b|"{word}"|kinds\.{word}\b', path.read_text("utf-8"))
    ]
    assert named == []
