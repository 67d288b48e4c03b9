"""Questions to fill in: every kind brings its own sheet, and what a sheet writes is a question of that kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

import optimaldp as odp
from optimaldp.questions import kinds
from optimaldp.questions.forms import forms
from optimaldp.questions.sheets import Blank, Role, Sheet, sheets

SHEETS = {sheet.name: sheet for sheet in sheets()}
SEVERAL = {"two-shares": "ShareDifference", "two-means": "MeanDifference", "several": "Threshold"}


@pytest.mark.parametrize("sheet", SHEETS.values(), ids=lambda sheet: sheet.name)
def test_a_filled_sheet_is_a_question_that_reads_back(sheet: Sheet) -> None:
    for text in (sheet.sample(), sheet.sample(whole=True)):
        question = odp.questions.parse(text)
        assert str(question) == text
        if sheet.name in SEVERAL:
            assert type(question).__name__ == SEVERAL[sheet.name]


@pytest.mark.parametrize("sheet", SHEETS.values(), ids=lambda sheet: sheet.name)
def test_blanks_are_the_blanks_of_the_text(sheet: Sheet) -> None:
    names = [blank.name for blank in sheet.blanks]
    assert set(re.findall(r"\{(\w+)\}", sheet.text)) == set(names)
    assert len(set(names)) == len(names)
    for blank in sheet.blanks:
        assert blank.role in get_args(Role)
        assert blank.label
        assert bool(blank.choices) == (blank.role == "choice")
        assert blank.optional or not blank.before


def test_every_word_that_begins_a_question_has_a_sheet() -> None:
    begun = {re.match(r"\w+", sheet.sample())[0] for sheet in SHEETS.values()}  # type: ignore[index]
    assert begun | {"crosstab"} == set(forms())  # another name of histogram


def test_joined_sheets_are_joined_as_the_text_says() -> None:
    sheet = SHEETS["several"]
    for word in sheet.joined:
        joined = odp.questions.parse(f" {word} ".join([sheet.sample()] * sheet.most))
        assert type(joined).__name__ == "Several"
        with pytest.raises(odp.errors.QuestionError):
            odp.questions.parse(f" {word} ".join([sheet.sample()] * (sheet.most + 1)))


def test_a_new_kind_brings_its_own(tmp_path: Path) -> None:
    (tmp_path / "own_kind_of_sheet.py").write_text(
        "from optimaldp.questions.sheets import COLUMN, Sheet\n"
        "FORMS = []\n"
        "SHEETS = [Sheet('own', 'Own?', 'keys({column})', (COLUMN,), order=0)]\n"
    )
    kinds.__path__.append(str(tmp_path))
    try:
        assert sheets()[0].name == "own"
    finally:
        kinds.__path__.remove(str(tmp_path))


def test_an_empty_optional_blank_leaves_nothing_behind() -> None:
    blank = Blank("margin", "percent", "by", before=" + ", optional=True)
    sheet = Sheet("x", "x", "a{margin}", (blank,), order=1)
    assert (sheet.fill(), sheet.fill(margin=""), sheet.fill(margin="0.1")) == ("a", "a", "a + 0.1")
