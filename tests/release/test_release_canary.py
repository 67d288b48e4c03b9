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
from optimaldp.errors import NotCertifiedError, OptimalDPError, ReleaseError
from optimaldp.laws.law import Table
from optimaldp.questions.kinds.threshold import Threshold
from optimaldp.questions.mechanism import AtDistance
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
            "ward": ["north" if i % 3 else "Qwixotic-9917" for i in range(YES + NO)],
            "trust": ["0.5" if i % 5 else "1" for i in range(YES + NO)],
        }
    )


CSV_FORMS = {
    "late quote": ["name,number", *("a,1" for _ in range(20_000)), 'Zyzzyva-7431,"Qwixotic-9917'],
    "too many fields": ["name,number", "Zyzzyva-7431,1,Qwixotic-9917,7431", *("a,1" for _ in range(2000))],
    "a comment and an empty line": [
        "name,number",
        "# Zyzzyva-7431",
        "",
        "Qwixotic-9917,x",
        *("a,1" for _ in range(2000)),
    ],
    "one odd date": [
        "name,number,day",
        *("a,1,05/06/2020" for _ in range(2000)),
        "Zyzzyva-7431,Qwixotic-9917,13/01/2020",
    ],
    "semicolons in the rows": ["name,number", *("a;1" for _ in range(2000)), "Zyzzyva-7431;Qwixotic-9917"],
}


def csv(folder: Path, form: str) -> str:
    """A file whose reader would love to quote a line."""
    path = folder / f"{form.replace(' ', '-')}.csv"
    path.write_text("\n".join(CSV_FORMS[form]))
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
        *(ask("majority(number = 1)", source=csv(folder, form)) for form in CSV_FORMS),
        *(ask("majority(number)", source=csv(folder, form)) for form in CSV_FORMS),
        *(ask("winner(nothing, ['a'])", source=csv(folder, form)) for form in CSV_FORMS),
        *(ask("majority(number = 1)", source=csv(folder, form), types={"number": "date"}) for form in CSV_FORMS),
        *(ask("majority(number = 1)", source=csv(folder, form), encoding="ascii") for form in CSV_FORMS),
        ask("majority(name = 'a')", by="ward"),
        ask("majority(name = 'a')", by="nobody", groups=["north"]),
        ask("majority(name = 'a')", by="ward", groups=["north"], levels="trust"),
        ask("majority(name = 'a')", by="ward", groups=[]),
        ask("keys(ward)"),
        ask("keys(ward)", by="ward", groups=["north"], delta=1e-6),
        ask("keys(nobody)", delta=1e-6),
        ask("keys(name)", delta=1e-6, levels="trust"),
        ask("median(nobody, bins=[1, 2, 3])"),
        ask("quantile(number, 0, bins=[1, 2, 3])"),
        ask("median(number, bins=[1, 2, 3])", unit="person", reduce="first"),
        ask(["majority(name = 'a')", "winner(nobody, ['a'])"]),
        ask(["majority(name = 'a')", "majority(cast(text as integer) > 3)"]),
        ask("mean(number, range=[0, 10]) >= 20"),
        ask("mean(name, range=[0, 10]) >= 2"),
        ask("majority(name = 'a')", part="north"),
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
    assert failed >= 40
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
    "quantile(number, 0.9, range=[0, 100], step=10)",
    "mean(number, range=[0, 100]) >= 40",
    "share(number >= 10 among name = 'x') >= 0.4",
    "share(number >= 10 among name = 'x') > share(number >= 10 among name = 'y')",
    "winner(name, ['a', 'b', 'c', 'd', 'e', 'f', 'g'])",
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_no_release_holds_anything_but_its_answer(question: str, neighbours: str) -> None:
    assert_clean(shown(odp.release(table(), question, epsilon=1, neighbours=neighbours)))


def shown(made: odp.Release) -> list[str]:
    """All that a release shows; the number of people is public under substitution, and stands in one place."""
    document = made.to_document()
    known = document["mechanism"].pop("people", None)
    assert known is None or (made.neighbours == "substitution" and known["public"] is True)
    html = made._repr_html_().replace(TOTAL, "")
    return [repr(made), str(document), html, str(made.details()), str(made.warnings)]


@pytest.mark.parametrize(
    "options",
    [
        {"by": "ward", "groups": ["north", "(other)"]},
        {"by": "ward", "groups": ["north"], "neighbours": "add-remove"},
        {"unit": "person", "where": "number > 3"},
        {"unit": "person", "reduce": "first", "reduce_order": "number"},
        {"delta": 1e-6},
        {"answer_after": 0.01},
    ],
    ids=str,
)
def test_nor_with_any_option(options: dict[str, Any]) -> None:
    asked = "count(name = 'x') >= 3" if "where" in options else "winner(name, ['x', 'y'])"
    assert_clean(shown(odp.release(table(), asked, **({"epsilon": 1} | options))))


@pytest.mark.parametrize("aim", ["typical", "every table"])
def test_with_levels_only_their_public_sizes_are_shown(aim: str) -> None:
    made = odp.release(table(), "majority(name = 'x')", epsilon=1, levels="trust", aim=aim)
    document = made.to_document()
    sizes = document["mechanism"].pop("levels")
    assert [level for level, _ in sizes] == ["0.5", "1"]
    document["mechanism"].pop("people", None)
    assert_clean([repr(made), str(document)])


def test_keys_name_categories_and_nothing_else() -> None:
    made = odp.release(table(), "keys(ward)", epsilon=1, delta=1e-6)
    assert set(made.answer) <= {"north", "Qwixotic-9917"}
    document = made.to_document() | {"answer": None}
    document["mechanism"].pop("people", None)
    assert_clean([str(document)])


def test_a_ledger_with_parts_holds_the_answers_alone(tmp_path: Path) -> None:
    data = table().slice(0, YES).append_column("region", pyarrow.array(["east"] * (YES - 7) + ["west"] * 7))
    with odp.open(
        data, ledger=tmp_path / "t.ledger", budget=odp.Budget(9, 1e-3), parts={"region": ["east", "west"]}
    ) as opened:
        made = [
            opened.ask("winner(name, ['x', 'y'])", epsilon=1, part="west"),
            *opened.ask(["majority(number > 5)", "median(number, bins=[0, 10, 100])"], epsilon=1),
            opened.ask("keys(ward)", epsilon=1, delta=1e-6),
        ]
        with pytest.raises(OptimalDPError) as caught:
            opened.ask("majority(name = 'a')", epsilon=1, part="Zyzzyva")
        assert_clean([str(caught.value)])
        kept = [repr(opened), repr(opened.history()), repr(opened.remaining)]
    for one in made:
        document = one.to_document() | {"answer": None}
        document["mechanism"].pop("people", None)
        assert_clean([str(document)])
    assert_clean([text.replace("Qwixotic-9917", "") for text in kept])


BURSTS = [(Threshold, "truth"), (Threshold, "flips"), (Threshold, "fold"), (AtDistance, "law")]


@pytest.mark.parametrize(("owner", "broken"), BURSTS)
@pytest.mark.parametrize("options", [{}, {"by": "ward", "groups": ["north"]}], ids=["whole", "by group"])
def test_an_unforeseen_error_after_counting_is_sealed(
    owner: type, broken: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug that puts counts into its message: they must not get out, by no path. The referee's own tables are small."""
    true = getattr(owner, broken)

    def burst(self: Any, counts: Any, *more: Any) -> Any:
        total = sum(counts.cells.values()) if isinstance(counts, Table) else sum(dict(enumerate(counts)).values())
        if isinstance(counts, dict):
            total = sum(counts.values())
        if total > 2000:
            raise ValueError(
                f"unexpected counts {counts} of 7431 and {vars(counts) if isinstance(counts, Table) else counts}"
            )
        return true(self, counts, *more)

    monkeypatch.setattr(owner, broken, burst)
    with pytest.raises((ReleaseError, NotCertifiedError)) as caught:
        odp.release(table(), "majority(number < 17)", epsilon=1, **options)
    assert_clean(everything(caught.value))


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
    from optimaldp.asking import corridor

    monkeypatch.setattr(corridor, "withhold_details", lambda work, *given: work(*given))

    def burst(self: AtDistance, counted: Table, source: object) -> str:
        raise ValueError(f"unexpected counts {dict(counted.cells)}")

    odp.release(table(), "majority(name like 'Zyz%')", epsilon=1)  # examined now, so that the burst is the draw's
    monkeypatch.setattr(AtDistance, "draw", burst)
    with pytest.raises(ValueError, match="unexpected") as caught:
        odp.release(table(), "majority(name like 'Zyz%')", epsilon=1)
    with pytest.raises(AssertionError):
        assert_clean(everything(caught.value))
