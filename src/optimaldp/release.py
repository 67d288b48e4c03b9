"""The one place where table, mechanism, ledger and sampler meet: a question in, one private answer out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.errors import LevelError, OptimalDPError, QuestionError, ReleaseError
from optimaldp.privacy import ApproximateDP, Level, Neighbours, level, read_neighbours
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.answering import (
    Answering,
    ForHistogram,
    Personalised,
    answering,
    answering_personally,
    hypothetical,
)
from optimaldp.questions.base import Question, as_question
from optimaldp.questions.choices import Histogram
from optimaldp.questions.personal import check_personal, read_levels
from optimaldp.request import Request
from optimaldp.results import Result
from optimaldp.sampling import SystemBits
from optimaldp.tables.tally import Counted

if TYPE_CHECKING:
    from optimaldp.ledger import Ledger


_SMALLEST_BITS = 200  # 2^-200 is 6e-61: nobody means less
_LARGEST = 1000  # e^1000 has 435 digits, and the referee's exact sums multiply it


@dataclass(frozen=True, repr=False)
class Release(Result):
    """A private answer that may be published, with what is proven about it. Nothing else in it was computed from the data."""

    answer: Any
    question: str
    level: ApproximateDP
    neighbours: Neighbours
    certificate: dict[str, Any]

    def summary(self) -> str:
        return f"Release({self.answer!r}, {self.level}, {self.neighbours}, certified)"

    def to_document(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "question": self.question,
            "epsilon": str(self.level.epsilon),
            "delta": fraction_text(self.level.delta),
            "neighbours": str(self.neighbours),
            "certificate": self.certificate,
        }

    def details(self) -> list[tuple[str, str]]:
        return [
            ("question", self.question),
            ("answer", str(self.answer)),
            ("level", str(self.level)),
            ("neighbours", self.neighbours.words),
            *((name, _words(value)) for name, value in self.certificate.items()),
        ]


def _words(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def release(
    source: Any,
    question: Question | str,
    *,
    epsilon: Any,
    delta: Any = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
    unit: str | None = None,
    reduce: str | None = None,
    reduce_order: str | None = None,
    levels: str | None = None,
    where: str | None = None,
    part: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
) -> Release:
    """Answer *question* about the table *source* privately.

    **Guarantee.** The answer is (epsilon, delta)-differentially private for the stated neighbours and persons, drawn exactly,
    from a mechanism that the referee has passed; nothing else that was computed from the data leaves, in an error neither. With
    *levels* (a column with each person's own epsilon, public) nobody's level is above *epsilon*.

    The order: check the question and the level, count, certify, sample. With a *ledger* the spend is durable before the draw, and
    *part* (a condition that the ledger declares as a disjoint part) asks and charges the persons of that part alone.

    >>> import pyarrow
    >>> table = pyarrow.table({"smokes": ["yes"] * 10 + ["no"] * 990})
    >>> release(table, "share(smokes = 'yes') >= 0.3", epsilon=1, delta=1e-6)
    Release('no', (1, 1e-06)-DP, substitution, certified)
    """
    request = Request(
        as_question(question),
        read_level(epsilon, delta),
        read_neighbours(neighbours),
        unit,
        reduce,
        reduce_order,
        levels,
        where,
        part,
    )
    if part is not None:
        _check_part(request, ledger)
    if levels is not None:
        check_personal(request.question, request.neighbours)
    if ledger is None:
        return _release(source, request)
    return _on_ledger(source, request, ledger)


def _check_part(request: Request, ledger: Any) -> None:
    """Charging a part alone is right only if nobody outside of it can change the answer."""
    remedy = "ask without a part"
    if ledger is None:
        raise QuestionError("part", request.part, "means nothing without a ledger that declares it", remedy)
    if request.neighbours is not Neighbours.SUBSTITUTION:
        rule = "cannot be charged alone under add-remove: persons outside are counted too, so one more or less of them shows"
        raise QuestionError("part", request.part, rule, remedy)


def read_level(epsilon: Any, delta: Any = 0) -> ApproximateDP:
    """A level that a release can promise: a finite epsilon, and a delta below 1."""
    made = level(epsilon, delta)
    if not isinstance(made, ApproximateDP) or not made.is_single:
        raise LevelError("epsilon", str(made), "is not a single (epsilon, delta)", "write epsilon=1, delta=1e-6")
    if made.epsilon.infinite:
        raise LevelError("epsilon", "inf", "promises nothing", "a release needs a finite epsilon")
    if float(made.epsilon) > _LARGEST:
        raise LevelError("epsilon", str(epsilon), "is too large to mean privacy", f"a release takes at most {_LARGEST}")
    for name, zeros in (("epsilon", _leading_zeros(made)), ("delta", _bits_below_one(made.delta))):
        if zeros > _SMALLEST_BITS:
            raise LevelError(name, f"2^-{zeros}", "is too small to be told from 0 in reasonable time", "write 0")
    if made.delta >= 1:
        raise LevelError("delta", fraction_text(made.delta), "promises nothing", "a release needs a delta below 1")
    return made


def _leading_zeros(made: ApproximateDP) -> int:
    return 0 if made.epsilon.is_zero else made.epsilon.leading_zeros()


def _bits_below_one(number: Fraction) -> int:
    return max(0, number.denominator.bit_length() - number.numerator.bit_length()) if number else 0


def _release(source: Any, request: Request) -> Release:
    from optimaldp.tables import check, open_source

    opened = open_source(source)
    check(opened, request.question.tally, request.counting())
    answer, prepared = sealed(lambda: _draw(*_count(opened, request)))
    return _released(request, answer, prepared)


def _count(opened: Any, request: Request) -> tuple[Counted, Answering]:
    """Count, then certify: the certificate depends on public things only (options of a type, levels)."""
    from optimaldp.tables import count

    counted = count(opened, request.question.tally, request.counting())
    question = request.question if counted.options is None else request.question.with_options(counted.options)
    if request.levels is None:
        return counted, answering(question, request.level, request.neighbours)
    by_level = read_levels(counted, request.level.epsilon)
    persons = [(epsilon, sum(counts)) for epsilon, counts in by_level]
    return counted, answering_personally(question, request.level, request.neighbours, persons)


def _draw(counted: Counted, prepared: Answering) -> tuple[Any, Answering]:
    return prepared.draw(counted, SystemBits()), prepared


def sealed(work: Callable[[], Any]) -> Any:
    """Run what has seen data; an unforeseen error leaves without its message, its cause and its frames' variables."""
    try:
        return work()
    except OptimalDPError as error:
        failure: Exception = error.with_traceback(None)
    except Exception as error:
        failure = ReleaseError(type(error).__name__)
    failure.__context__ = None
    failure.__cause__ = None
    raise failure


def _released(request: Request, answer: Any, prepared: Answering) -> Release:
    certificate = prepared.statement() | {
        "neighbours": request.neighbours.words,
        "persons": request.persons(),
        "notes": request.notes(),
    }
    return Release(answer, str(prepared.question), request.level, request.neighbours, certificate)


def _on_ledger(source: Any, request: Request, ledger: Ledger | str | os.PathLike[str]) -> Release:
    """Spend first, then draw: a crash may lose budget, never privacy."""
    from optimaldp.ledger import Ledger, open_ledger

    if isinstance(ledger, Ledger):
        return _spend_and_draw(source, _completed(request, ledger), ledger)
    with open_ledger(ledger) as book:
        return _spend_and_draw(source, _completed(request, book), book)


def _completed(request: Request, book: Ledger) -> Request:
    """The ledger remembers who a person is and what a part is: neither need be said again in full."""
    unit = book.opening.unit if request.unit is None else request.unit
    part = None if request.part is None else str(book.part(request.part))
    return replace(request, unit=unit, part=part)


def _spend_and_draw(source: Any, request: Request, book: Ledger) -> Release:
    from optimaldp.tables import check, open_source

    opened = open_source(source)
    check(opened, request.question.tally, request.counting())
    asked: dict[str, Any] = {"question": request.text, "level": request.level}
    asked |= {"neighbours": request.neighbours, "unit": request.unit, "part": request.part, "levels": request.levels}
    version = opened.version()
    if recorded := _recorded(book, request, version):
        return recorded
    book.require(**asked)
    counted, prepared = sealed(lambda: _count(opened, request))
    reservation = book.reserve(**asked, data_version=version, personal=_personal(prepared), used=_used(prepared))
    answer, prepared = sealed(lambda: _draw(counted, prepared))
    made = _released(request, answer, prepared)
    reservation.record(made.answer, made.certificate)
    return made


def _used(prepared: Answering) -> Level:
    """A histogram of known cells has no use for a delta, so it is charged none."""
    return level(prepared.level.epsilon) if isinstance(prepared, ForHistogram) else prepared.level


def _personal(prepared: Answering) -> dict[str, Level]:
    """What the release costs the level groups that it costs less."""
    own = prepared.levels if isinstance(prepared, Personalised) else ()
    return {str(epsilon): level(epsilon, prepared.level.delta) for epsilon in own if epsilon < prepared.level.epsilon}


def _recorded(book: Ledger, request: Request, version: str | None) -> Release | None:
    """The answer that the ledger already holds for this very question, level, persons and data: it costs nothing."""
    same = book.opening.neighbours is request.neighbours and book.opening.unit == request.unit
    found = (
        book.answered(request.text, request.level, version, part=request.part) if same and version is not None else None
    )
    if found is None:
        return None
    return Release(found.answer, str(request.question), request.level, request.neighbours, dict(found.certificate))


def release_many(
    question: Question | str,
    counts: Sequence[int],
    *,
    draws: int,
    epsilon: Any,
    delta: Any = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
) -> dict[str, int]:
    """NOT a release: simulate *draws* answers for hypothetical *counts*, and say how often each came.

    For studies of accuracy with made-up counts. Many answers about one real table spend the budget many times, so no table is
    accepted here.

    >>> sum(release_many("majority(x)", [60, 40], draws=100, epsilon=1).values())
    100
    """
    from optimaldp.sampling.batch import draw_many

    asked = as_question(question)
    if isinstance(asked, Histogram):
        raise QuestionError(
            "question", str(asked), "has no finite list of answers", "simulate it with optimaldp.histograms"
        )
    relation, bound = read_neighbours(neighbours), read_level(epsilon, delta)
    answers = answering(asked, bound, relation).answers
    drawn = draw_many(hypothetical(asked, bound, relation, counts), draws)
    return {name: int((drawn == position).sum()) for position, name in enumerate(answers)}
