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
WORD = "lead"


def test_the_file_is_all_that_makes_the_kind_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = re.search(r"file\.write_text\('''\n(.*?)'''\)", PAGE.read_text("utf-8"), re.DOTALL)
    assert written is not None
    text = f"{WORD}(vote, 'a', 'b', 10)"
    with pytest.raises(QuestionError, match="known are"):
        odp.questions.parse(text)
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    (tmp_path / "lead.py").write_text(written[1], "utf-8")
    forms.forms.cache_clear()
    try:
        assert str(odp.questions.parse(text)) == text
    finally:
        monkeypatch.undo()
        forms.forms.cache_clear()


def test_nothing_in_the_project_knows_of_it() -> None:
    named = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*.py")
        if re.search(rf'\bLead\b|"{WORD}"|kinds\.{WORD}\b', path.read_text("utf-8"))
    ]
    assert named == []
