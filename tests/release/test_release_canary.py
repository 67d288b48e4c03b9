"""The canary: rare strings and odd counts in a table, every error provoked, and nothing of it in anything that comes out."""

from __future__ import annotations

import contextlib
import logging
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.cli import main
from optimaldp.errors import OptimalDPError, ReleaseError
from optimaldp.questions import answering
from optimaldp.tables.tally import Counted

CANARIES = ("Zyzzyva-7431", "Qwixotic-9917", "7431", "9917")
YES, NO = 7431, 9917  # odd counts: no other number in the project looks like them
TOTAL = str(YES + NO)


def table() -> pyarrow.Table:
    names = ["Zyzzyva-7431"] * YES + ["Qwixotic-9917"] * NO
    return pyarrow.table(
        {
            "name": names,
            "text": ["12"] * (YES + NO - 1) + ["Zyzzyva-7431"],
            "number": list(range(YES + NO)),
            "level": ["0.5"] * (YES + NO - 1) + ["Qwixotic-9917"],
            "person": [i // 2 for i in range(YES + NO)],
        }
    )


def csv(folder: Path) -> str:
    """A file whose reader fails late, on a line that it would love to quote."""
    path = folder / "broken.csv"
    lines = ["name,number", *("a,1" for _ in range(50_000)), 'Zyzzyva-7431,"Qwixotic-9917']
    path.write_text("\n".join(lines))
    return str(path)


def everything(error: BaseException) -> Iterator[str]:
    """All that can be reached from an exception: messages, attributes, traceback text and frames' variables."""
    seen: set[int] = set()
    queue: list[BaseException | None] = [error]
    while queue:
        current = queue.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield from (str(current), repr(current), repr(vars(current)))
        yield "".join(traceback.format_exception(current))
        for frame, _ in traceback.walk_tb(current.__traceback__):
            if "/optimaldp/" in frame.f_code.co_filename:
                yield from (repr(value) for name, value in frame.f_locals.items() if name not in ("source", "opened"))
        queue += [current.__cause__, current.__context__]


def assert_clean(texts: Iterator[str] | list[str]) -> None:
    for text in texts:
        for canary in (*CANARIES, TOTAL):
            assert not re.search(rf"(?<!\d){re.escape(canary)}(?!\d)", text), f"{canary} in {text[:300]!r}"


Provoked = Callable[[], Any]


def provocations(folder: Path) -> list[Provoked]:
    data = table()

    def ask(question: Any, source: Any = data, **options: Any) -> Provoked:
        return lambda: odp.release(source, question, **({"epsilon": 1} | options))

    return [
        ask("majority(nothing = 1)"),
        ask("majority(name)"),
        ask("majority(name > 3 + 'x')"),
        ask("majority(cast(name as integer) > 3)"),
        ask("majority(cast(text as integer) > 3)"),
        ask("majority(1 / (number - 7) > 1)"),
        ask("majority(name = (select 1))"),
        ask("winner(name)"),
        ask("winner(nobody, ['a'])"),
        ask("median(name, bins=[1, 2])"),
        ask("median(text, bins=[1, 2])"),
        ask("majority(name = 'a')", unit="nobody"),
        ask("majority(name = 'a')", levels="level"),
        ask("majority(name = 'a')", levels="name"),
        ask("majority(name = 'a')", levels="number"),
        ask("winner(name, ['a'])", unit="person", reduce="first"),
        ask("winner(name, ['a'])", unit="person", reduce="never"),
        ask("majority(name = 'a')", where="number"),
        ask("majority(name = 'a')", epsilon=-1),
        ask("majority(name = 'a')", delta=1),
        ask("majority(number = 1)", source=csv(folder)),
        ask("share(name = 'a') >= 0.1", source="nothing.csv"),
        ask("share(name = 'a') >= 0.1", source=object()),
        ask("share(name = 'a') >= 0.1", ledger=folder / "none.ledger"),
    ]


def test_no_error_holds_anything_of_the_data(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    failed = 0
    for provoke in provocations(tmp_path):
        try:
            assert_clean([repr(provoke())])
        except OptimalDPError as error:
            failed += 1
            assert_clean(everything(error))
    assert failed >= 18
    shown = capfd.readouterr()
    assert_clean([shown.out, shown.err, caplog.text])


QUESTIONS = [
    "majority(name = 'Zyzzyva')",
    "share(number >= 10) >= 0.4",
    "count(number < 100) >= 99",
    "compare(name, 'x', 'y')",
    "winner(name, ['x', 'y'])",
    "median(number, bins=[0, 10, 100])",
    "majority(number > 5) and any(name = 'x')",
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_no_release_holds_anything_but_its_answer(question: str, neighbours: str) -> None:
    made = odp.release(table(), question, epsilon=1, neighbours=neighbours)
    assert_clean([repr(made), made.to_json(), made._repr_html_(), str(made.details())])


@pytest.mark.parametrize("broken", ["truth", "flips"])
def test_an_unforeseen_error_after_counting_is_sealed(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug that puts counts into its message: they must not get out, by no path."""
    from optimaldp.questions.thresholds import Threshold

    def burst(_: Threshold, counts: tuple[int, ...], *__: object) -> int:
        raise ValueError(f"unexpected counts {counts}")

    monkeypatch.setattr(Threshold, broken, burst)
    with pytest.raises(ReleaseError) as caught:
        odp.release(table(), "majority(number < 7431)", epsilon=1)
    texts = [text.replace("majority(number < 7431)", "") for text in everything(caught.value)]
    assert_clean([text.replace("number < 7431", "") for text in texts])
    assert caught.value.kind == "ValueError"


def test_counts_have_no_readable_form() -> None:
    counted = Counted.of((YES, NO))
    assert_clean([repr(counted), str(counted), f"{counted}", f"{[counted]}"])


def test_the_command_line_is_clean_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(table(), tmp_path / "t.parquet")
    questions = ["majority(cast(text as integer) > 3)", "majority(name)", "winner(name)", "winner(name, ['a', 'b'])"]
    for question in questions:
        arguments = [
            "optimaldp",
            "release",
            "--data",
            str(tmp_path / "t.parquet"),
            "--question",
            question,
            "--epsilon",
            "1",
        ]
        monkeypatch.setattr(sys, "argv", arguments)
        with contextlib.suppress(SystemExit):
            main()
    shown = capfd.readouterr()
    assert shown.err
    assert_clean([shown.out, shown.err])


def test_the_canary_itself_sings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the seal the same burst does leak: the check can fail."""
    monkeypatch.setattr(sys.modules["optimaldp.release"], "sealed", lambda work: work())
    monkeypatch.setattr(answering.AtDistance, "draw", lambda self, counted, source: 1 // (counted.counts[0] - YES))
    with pytest.raises(ZeroDivisionError):
        odp.release(table(), "majority(name like 'Zyz%')", epsilon=1)
    with pytest.raises(AssertionError):
        assert_clean([f"unexpected counts {(YES, NO)}"])
