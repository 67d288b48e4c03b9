"""The referee is handed the promise: what is drawn must be what was promised, and every wrong twin between the two is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import optimaldp as odp
from optimaldp.asking import corridor, releasing
from optimaldp.asking.request import Request, setting_inside
from optimaldp.certify.core import referee as promises
from optimaldp.errors import NotCertifiedError, QuestionError
from optimaldp.laws.law import Setting
from optimaldp.privacy import Neighbours, approximate
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.sanitising import planning

TABLE = pa.table(
    {
        "smokes": ["yes"] * 30 + ["no"] * 70,
        "ward": ["n", "s"] * 50,
        "trust": ["0.2"] * 40 + ["0.5"] * 60,
        "sex": ["f", "m"] * 50,
    }
)
SHARE = "share(smokes = 'yes') >= 0.3"
BY = {"by": "ward", "groups": ["n", "s"]}
LEVELS = {"levels": "trust"}


def _setting(change: Callable[[Setting], Setting]) -> Callable[[pytest.MonkeyPatch], None]:
    """A release that prepares another setting than the one that was asked for."""
    true = Request.setting

    def twin(self: Request, *given: Any) -> Setting:
        return change(true(self, *given))

    return lambda patch: patch.setattr(Request, "setting", twin)


def _inside(change: Callable[[Setting], Setting]) -> Callable[[pytest.MonkeyPatch], None]:
    def twin(request: Request, people: int | None = None) -> Setting:
        return change(setting_inside(request, people))

    def set_up(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(releasing, "setting_inside", twin)
        patch.setattr(releasing, "require_groups_together", lambda *_, **__: None)

    return set_up


def _twice(setting: Setting) -> Setting:
    level = setting.level
    doubled = tuple((own + own, size) for own, size in setting.levels)
    return replace(setting, level=approximate(level.epsilon + level.epsilon, level.delta), levels=doubled)


def _others(setting: Setting) -> Setting:
    other = Neighbours.ADD_REMOVE if setting.neighbours is Neighbours.SUBSTITUTION else Neighbours.SUBSTITUTION
    return replace(setting, neighbours=other, people=None if other is Neighbours.ADD_REMOVE else 100)


def _exchanged(setting: Setting) -> Setting:
    (low, few), (high, many) = setting.levels
    return replace(setting, levels=((low, many), (high, few)))


def _uncapped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(releasing, "losses_of", lambda levels, most, weightless: tuple((own, own) for own in levels))


def _one_for_all(patch: pytest.MonkeyPatch) -> None:
    true = releasing._by_group

    def twin(*given: Any) -> Any:
        (first, *_), tables = true(*given)
        return (first, first), tables

    patch.setattr(releasing, "_by_group", twin)


def _other_question(patch: pytest.MonkeyPatch) -> None:
    true = releasing.certify

    def twin(mechanism: Any) -> Any:
        other = odp.questions.parse("share(smokes = 'yes') >= 0.9")
        return true(other.mechanism(mechanism.setting))

    patch.setattr(releasing, "certify", twin)


TWINS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], dict[str, Any]]] = {
    "twice epsilon": (_setting(_twice), {}),
    "other neighbours": (_setting(_others), {}),
    "other neighbours of add-remove": (_setting(_others), {"neighbours": "add-remove"}),
    "a delta that nobody asked for": (
        _setting(lambda one: replace(one, level=approximate(one.level.epsilon, Fraction(1, 100)))),
        {},
    ),
    "levels ignored": (_setting(lambda one: replace(one, levels=())), LEVELS),
    "levels exchanged": (_setting(_exchanged), LEVELS),
    "levels uncapped": (_uncapped, LEVELS | {"epsilon": "0.3"}),
    "levels doubled": (
        _setting(lambda one: replace(one, levels=tuple((own + own, size) for own, size in one.levels))),
        LEVELS | {"epsilon": "1"},
    ),
    "all groups from one": (_one_for_all, BY),
    "groups at twice epsilon": (_inside(_twice), BY),
    "groups for other neighbours": (_inside(_others), BY),
    "public groups at twice epsilon": (_inside(_twice), BY | {"public_groups": True}),
    "another question": (_other_question, {}),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_between_request_and_draw_is_refused(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_up, options = TWINS[name]
    asked = {"epsilon": "0.5"} | options
    assert odp.release(TABLE, SHARE, **asked).answer, "it is refused for what the twin does alone"
    ledger = tmp_path / "t.ledger"
    odp.open(TABLE, ledger=ledger, budget=odp.Budget(9), neighbours=options.get("neighbours")).close()
    set_up(monkeypatch)
    with pytest.raises((NotCertifiedError, odp.errors.ReleaseError)):
        odp.release(TABLE, SHARE, ledger=ledger, **asked)
    with odp.ledger.open_ledger(ledger) as book:
        assert book.spent().epsilon.is_zero


def _shared_bits(patch: pytest.MonkeyPatch) -> None:
    def twin(self: Any, tables: Any, source: Any) -> Any:
        words: list[int] = []

        class Again:
            def __init__(self) -> None:
                self.place = 0

            def take(self, count: int) -> int:
                while len(words) <= self.place:
                    words.append(source.take(count))
                self.place += 1
                return words[self.place - 1] & ((1 << count) - 1)

        return {name: one.mechanism.draw(table, Again()) for (name, one), table in zip(self.parts, tables)}

    patch.setattr(releasing.Prepared, "draw", twin)


def _best_of_three(patch: pytest.MonkeyPatch) -> None:
    true = releasing.draw

    def twin(certified: Any, table: Any, source: Any) -> Any:
        drawn = [true(certified, table, source) for _ in range(3)]
        return max(drawn, key=drawn.count)

    patch.setattr(releasing, "draw", twin)


def _truth(patch: pytest.MonkeyPatch) -> None:
    def twin(certified: Any, table: Any, source: Any) -> Any:
        question = certified.mechanism.question
        return question.answers[question.truth(question.fold(table.cells))]

    patch.setattr(releasing, "draw", twin)


def _fresh_bits(patch: pytest.MonkeyPatch) -> None:
    """Bits of one's own instead of those that are handed in: of a seed that somebody knows, for example."""
    true = releasing.draw
    patch.setattr(releasing, "draw", lambda certified, table, _: true(certified, table, promises.FixedBits("known")))


def _always_yes(patch: pytest.MonkeyPatch) -> None:
    true = releasing.draw

    def twin(certified: Any, table: Any, source: Any) -> Any:
        true(certified, table, source)
        return "yes"

    patch.setattr(releasing, "draw", twin)


@pytest.mark.parametrize(
    ("twin", "options"),
    [
        (_shared_bits, BY),
        (_best_of_three, {}),
        (_best_of_three, LEVELS),
        (_truth, {}),
        (_fresh_bits, {}),
        (_always_yes, {}),
    ],
)
def test_a_twin_of_the_draw_is_refused(twin: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    question = "share(smokes = 'yes') >= 0.5"
    asked = {"epsilon": "0.2"} | options
    assert odp.release(TABLE, question, **asked).answer
    promises._try_draws.cache_clear()  # what draws is tried once, and a twin is other code
    twin(monkeypatch)
    with pytest.raises((NotCertifiedError, odp.errors.ReleaseError)):
        odp.release(TABLE, question, **asked)


def test_full_epsilon_for_each_marginal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotCertifiedError, match="together cost more"):
        promises.require_shares(Epsilon.read(1), [Epsilon.read("0.6"), Epsilon.read("0.6")])
    promises.require_shares(Epsilon.read("1+ln(2)"), [Epsilon.read("ln(2)"), Epsilon.read(1)])
    monkeypatch.setattr(planning, "_shares", lambda method, epsilon, sizes: (epsilon,) * len(sizes))
    monkeypatch.setattr(planning, "require_mbi", lambda: None)
    columns = {"sex": ["m", "f"], "ward": ["n", "s"]}
    with pytest.raises(NotCertifiedError, match="together cost more"):
        odp.sanitise(TABLE, columns, epsilon=1, marginals="sex; ward")


def test_levels_under_add_remove_have_one_rule() -> None:
    """Which levels occur would stand in the ledger, and with it whether somebody is there."""
    options: dict[str, Any] = {"epsilon": 1, "levels": "trust", "neighbours": "add-remove"}
    refusals = []
    for ask in (
        lambda: odp.release(TABLE, SHARE, **options),
        lambda: odp.sanitise(TABLE, {"sex": ["m", "f"]}, **options),
    ):
        with pytest.raises(QuestionError) as refused:
            ask()
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]


class Wordy(BaseException):
    """Raised by a handler of the caller; it cannot be made without words."""

    def __init__(self, words: object) -> None:
        super().__init__(words)


@pytest.mark.parametrize(
    "stop", [KeyboardInterrupt, SystemExit, ValueError, MemoryError, asyncio.CancelledError, GeneratorExit, Wordy]
)
def test_nothing_that_was_counted_is_in_the_frames_of_an_interruption(
    stop: type[BaseException], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise stop("31415")

    ledger = tmp_path / "t.ledger"
    odp.open(TABLE, ledger=ledger, budget=odp.Budget(9)).close()
    monkeypatch.setattr(releasing, "draw", interrupted)
    for options in ({}, {"ledger": ledger}):
        with pytest.raises(BaseException) as caught:  # noqa: PT011  # each of them
            odp.release(TABLE, SHARE, epsilon=1, **options)  # type: ignore[arg-type]
        error: BaseException | None = caught.value
        kept = stop is not Wordy and not issubclass(stop, Exception)
        assert isinstance(error, stop if kept else odp.errors.ReleaseError)
        assert "31415" not in str(error)
        assert error.__context__ is None
        assert error.__cause__ is None
        trace = error.__traceback__
        while trace is not None:
            if "optimaldp" in str(trace.tb_frame.f_globals.get("__name__")):
                held = repr([type(value).__name__ for value in trace.tb_frame.f_locals.values()])
                assert "Ready" not in held
                assert "Counted" not in held
                assert "Table(" not in held
                assert "'list'" not in held or trace.tb_frame.f_code.co_name != "_pay_and_draw"
            assert trace.tb_frame.f_code.co_name not in ("_pay_and_draw", "_prepare", "interrupted")
            trace = trace.tb_next


def test_the_guarantee_says_that_groups_are_public(tmp_path: Path) -> None:
    same = "replaced by another of the same group; who is in which group is public"
    ledger = tmp_path / "t.ledger"
    with odp.open(TABLE, ledger=ledger, budget=odp.Budget(9), parts={"ward": ["n", "s"]}) as table:
        plain = table.ask(SHARE, epsilon=1)
        assert same not in " ".join(plain.sentences())
        assert same not in table.ledger.neighbours_words
        for options in ({**BY, "public_groups": True}, {"part": "n"}):
            made = table.ask(SHARE, epsilon=1, **options)  # type: ignore[arg-type]
            assert f"{same} (ward)" in " ".join(made.sentences())
            assert f"{same} (ward)" in dict(made.proof())["neighbours"]
            assert odp.verify(made)
            document = json.loads(made.to_json())
            document["certificate"]["neighbours"] = plain.statement["neighbours"]
            assert not odp.verify(document), "a document that hides it is false"
        assert f"{same} (ward)" in table.ledger.neighbours_words
        assert f"{same} (ward)" in str(table.history())


def test_a_published_file_is_verified_by_its_path(tmp_path: Path) -> None:
    made = odp.release(TABLE, SHARE, epsilon=1)
    path = made.save(tmp_path / "release.json")
    assert odp.verify(path)
    assert odp.verify(str(path)).holds
    forged = json.loads(path.read_text())
    forged["epsilon"] = "0.5"
    path.write_text(json.dumps(forged))
    assert not odp.verify(path)
    with pytest.raises(odp.errors.InputError, match="cannot be read"):
        odp.verify(tmp_path / "nothing.json")


def test_what_remains_is_a_number_to_compute_with(tmp_path: Path) -> None:
    with odp.open(TABLE, ledger=tmp_path / "t.ledger", budget=odp.Budget("1+ln(2)")) as table:
        table.ask(SHARE, epsilon="0.25")
        rest = table.remaining.epsilon
        assert rest >= 0.1
        assert rest > "ln(2)"
        assert not rest < 1
        assert rest <= 2
        assert str(rest - "ln(2)") == "0.75"
        assert float(rest - 0.75) == pytest.approx(0.6931471805)
        assert f"{rest:.2f}" == "1.44"
        assert str(3 - (rest - "ln(2)")) == "2.25"
        assert float(rest - "ln(3/2)" - 0.9) <= 0.75 + 0.6931471806 - 0.4054651081 - 0.9
        with pytest.raises(odp.errors.LevelError):
            rest - 2
    for bad in ([1], {"a": 1}, True, 10**5000, "x", None):
        with pytest.raises(odp.errors.LevelError, match=r"epsilon(:| is) .*(write|too large)"):
            odp.level(bad)


def test_the_seal_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the seal the frames of the draw are there: the check above can fail."""
    monkeypatch.setattr(corridor, "withhold_details", lambda work, *given: work(*given))
    monkeypatch.setattr(releasing, "draw", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt) as caught:
        odp.release(TABLE, SHARE, epsilon=1)
    names, trace = set(), caught.value.__traceback__
    while trace is not None:
        names.add(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert "_pay_and_draw" in names


@pytest.mark.parametrize("asked", [odp.count("smokes = 'yes'") + 1, 3, None, [3], {"a": 1}])
def test_what_is_no_question_is_refused_by_our_own_error(asked: Any, tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match="is not a question"):
        odp.release(TABLE, asked, epsilon=1)
    with (
        odp.open(TABLE, ledger=tmp_path / "t.ledger", budget=odp.Budget(1)) as table,
        pytest.raises(QuestionError, match="is not a question"),
    ):
        table.ask(asked, epsilon=1)


def test_old_names_of_verdicts_stay_for_one_version_and_warn() -> None:
    from optimaldp import certify, ledger
    from optimaldp.asking import verifying

    for home, old, new in (
        (verifying, "Reexamined", "ReleaseVerdict"),
        (certify, "Verdict", "DesignVerdict"),
        (ledger, "LedgerVerdict", "LedgerCheck"),
    ):
        with pytest.warns(DeprecationWarning, match=new):
            assert getattr(home, old) is getattr(home, new)


def test_what_was_examined_for_one_condition_serves_all_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts decide a law, whoever was counted: only another number or another form of question is examined anew."""
    examined: list[str] = []
    examine = promises.examine_release
    monkeypatch.setattr(promises, "examine_release", lambda one: examined.append(str(one.question)) or examine(one))
    for text in ("smokes = 'yes'", "ward = 'n'"):
        odp.release(TABLE, f"count({text}) >= 31", epsilon="0.7331")
        odp.release(TABLE, f"count({text})", epsilon="0.7331")
        odp.release(TABLE, f"share({text} among sex = 'f') >= 0.31", epsilon="0.7331")
    assert len(examined) == 3
    odp.release(TABLE, "count(ward = 'n') >= 32", epsilon="0.7331")
    assert len(examined) == 4


@pytest.mark.parametrize(
    "change",
    [
        lambda one: replace(one, bound=one.bound + 1),
        lambda one: replace(one, comparison="<"),
        lambda one: replace(one, among="smokes = 'yes'"),
        lambda one: odp.majority("smokes = 'yes'"),
    ],
    ids=["bound", "comparison", "among", "kind"],
)
def test_another_question_than_the_one_that_was_asked_is_not_examined_in_its_place(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], Any]
) -> None:
    question: Any = odp.count("smokes = 'yes'") >= 30
    true = type(question).unnamed.fget
    monkeypatch.setattr(type(question), "unnamed", property(lambda self: change(true(self))))
    with pytest.raises(NotCertifiedError, match="What would be examined is not what was asked"):
        odp.release(TABLE, question, epsilon=1)


def _made(people: int = 40, delta: str = "0", question: str = "count(x) >= 3") -> Any:
    at = odp.level(1, delta)
    return odp.questions.parse(question).mechanism(Setting(at, Neighbours.SUBSTITUTION, people))


def test_each_group_that_was_named_is_answered_once_and_no_other_one() -> None:
    one = _made()
    promise = promises.Promise(
        one.setting.level, Neighbours.SUBSTITUTION, "count(x) >= 3", groups=("a", "b"), public_groups=True
    )
    promises.require_promise(promise, [("a", one), ("b", _made(people=7))])
    for names in (("a",), ("a", "c"), ("b", "a"), ("a", "b", "b"), (None,)):
        with pytest.raises(NotCertifiedError, match="each group once"):
            promises.require_promise(promise, [(name, one) for name in names])
    shared, other = (replace(made, setting=replace(made.setting, groups=2)) for made in (one, _made(people=7)))
    with pytest.raises(NotCertifiedError, match="do not have one mechanism"):
        promises.require_promise(promise, [("a", shared), ("b", other)])
    with pytest.raises(NotCertifiedError) as caught:  # for another reason: it answers each at the level of all
        promises.require_promise(promise, [("a", shared), ("b", shared)])
    assert "one mechanism" not in str(caught.value)


def test_a_delta_that_moves_nothing_is_told_from_one_that_does() -> None:
    promises.require_unused_delta(_made(delta="1e-9", question="count(x)"))
    with pytest.raises(NotCertifiedError, match="moves the law"):
        promises.require_unused_delta(_made(delta="0.1"))
