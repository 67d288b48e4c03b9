"""What every question is: public text, public answers, the counts it needs, what is true, and how it is answered.

A kind of question owns itself: one module in :mod:`optimaldp.questions.kinds` says how it is written, what it counts, what is
true, how far a table is from another answer, and which mechanism answers it. Nothing else needs to know that it exists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from optimaldp.errors import NoMarginError, QuestionError
from optimaldp.laws.law import Aim, Cells, Setting
from optimaldp.laws.votes import Moves
from optimaldp.privacy import Neighbours, read_number
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.literals import check_among
from optimaldp.results import Given
from optimaldp.tables.tally import Condition, KeyTally, Option, Reading, Tally

if TYPE_CHECKING:
    from optimaldp.histograms.margins import CrossTable
    from optimaldp.questions.accuracy import Accuracy, Rival
    from optimaldp.questions.mechanism import QuestionMechanism
    from optimaldp.tables.schema import Schema

YES_NO = ("yes", "no")
NULL_NOTE = 'somebody whose value is missing or NULL counts as "no" and is protected'

Spec = dict[str, Any]
"""A question in plain public numbers: what the referee reads, so that it needs none of this code."""


class NumberPreview(NamedTuple):
    """How far off a number will be: expected errors by mechanism, ours first, sentences, and figures for a document."""

    errors: dict[str, float]
    sentences: tuple[str, ...]
    figures: dict[str, Any]


class Question(ABC, Generic[Given]):
    """An immutable question with public answers. ``str(question)`` is its text and parses back to it.

    What its answer is, is part of its type: a ``Question[str]`` is released as a ``Release[str]``.
    """

    among: str | None = None
    """A condition: only the people who satisfy it are asked. Who they are is private."""

    @property
    @abstractmethod
    def readings(self) -> tuple[Reading, ...]:
        """What is read of each person's record, without *among*."""

    @property
    def tally(self) -> Tally | KeyTally:
        """Which counts of people it needs."""
        asked = () if self.among is None else (Condition(self.among),)
        return Tally((*self.readings, *asked))

    @property
    def cells(self) -> int:
        """Into how many cells a record can fall; 0 where that is not known beforehand."""
        tally = self.tally
        return 0 if isinstance(tally, KeyTally) else tally.size

    @property
    @abstractmethod
    def answers(self) -> Sequence[str] | None:
        """The public answers in their public order; ``None`` where they are not a list that is known beforehand."""

    @abstractmethod
    def fold(self, cells: Cells) -> Any:
        """The counts that :meth:`truth` and :meth:`flips` take, from the cells of the tally."""

    @abstractmethod
    def read_counts(self, counts: Sequence[int]) -> Any:
        """The same from a list that a caller made up, in the documented order."""

    @abstractmethod
    def truth(self, counts: Any) -> int:
        """The position of the true answer. Private."""

    @abstractmethod
    def flips(self, counts: Any, neighbours: Neighbours) -> Moves:
        """The least number of neighbour moves that change the true answer; ``math.inf`` if none can. Private."""

    distance: Callable[[Any, Neighbours], Moves] | None = None
    """What a chain counts instead of the flips: never more than they are, and one move changes it by at most one. Private."""

    @abstractmethod
    def mechanism(self, setting: Setting) -> QuestionMechanism:
        """How it is answered at this setting: public, and not yet examined by the referee."""

    def published_mechanism(self, setting: Setting, document: Mapping[str, Any]) -> QuestionMechanism:
        """The mechanism that a document names, for the referee to examine: as today, or by a law that an older version used."""
        return self.mechanism(setting)

    @property
    def unnamed(self) -> Question[Given]:
        """The same question about a condition without a name, for the referee: counts decide its law, whoever was counted.

        So what was examined for one condition serves them all. A question that is not told apart by conditions is itself.
        """
        return self

    @abstractmethod
    def spec(self) -> Spec:
        """The question in plain numbers, for the referee."""

    def accuracy(self, setting: Setting) -> Accuracy:
        """How often the answer is right by margin, and how far off a wrong one is: public, for previews."""
        raise NoMarginError("question", str(self), "has no margin", "its error does not depend on one")

    def noise_rival(self, setting: Setting) -> Rival | None:
        """What an expert would do with noise: on the one number that decides, where there is one. For previews."""
        return None

    def words(self) -> str:
        """The question as a person would ask it, in one public sentence; its text where a kind has no words of its own.

        >>> as_question("share(smokes = 'yes' among age >= 18) >= 0.3").words()
        'Among people whose age is at least 18, is the share of those who smoke at least 30 %?'
        """
        return str(self)

    def restored(self, answer: object) -> Given:
        """An answer that was read from a file, as it was when it was drawn."""
        given: Given = answer  # type: ignore[assignment]
        return given

    def answer_words(self, answer: Any, statement: Mapping[str, Any]) -> str:
        """An answer in the question's own words; none where it speaks for itself."""
        return ""

    def group_words(self, statement: Mapping[str, Any]) -> dict[str, str]:
        """The answer of each group in the question's own words; empty without groups, or where answers speak for themselves."""
        return {}

    def cross_table(self, answer: Any, details: Mapping[str, Any]) -> CrossTable:
        """The table of an answer that is one."""
        raise QuestionError(
            "question", str(self), "is no cross table", "ask histogram(sex: ['m', 'f'], age: bins=[0, 18, 65])"
        )

    def trust_words(self, statement: Mapping[str, Any]) -> str:
        """How far to trust an answer, behind the answer in words."""
        return str(statement["reliable"])

    small_twin: Question | None = None
    """The same question with a few options or bins, where there are many: what the referee tries on all small tables."""

    def with_options(self, options: tuple[Option, ...]) -> Question:
        """The same question with the options that the column's type lists."""
        return self

    def settled(self, schema: Schema, *, everybody_has_a_row: bool) -> Question:
        """The same question about a table with these columns; refuses what its types do not allow. No row is looked at.

        *everybody_has_a_row*: each row is a person who is asked, so nobody is without a value but by the row itself.
        """
        return self

    asks_the_schema = False
    """Whether :meth:`settled` may change or refuse it."""

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        """What a reader must know about who is counted: public sentences."""
        return ()

    def joins_groups(self, whole: Setting) -> bool:
        """Whether all private groups are answered by one draw at the whole level, which is the *setting* of all of them."""
        return False

    def groups_sentence(self, setting: Setting, groups: int) -> str:
        """How far off the numbers of so many groups are at once; nothing for other questions. *setting*: that of each group."""
        return ""

    where_is_among = False
    """Whether ``where`` would be misread as "among" when each row is a person."""

    def opposite_places(self) -> tuple[int, int, str] | None:
        """Two places of its reading such that the truth changes as people go from one to the other, and what is assumed if
        everybody is in one of them, in words: for previews of people's own levels. ``None`` where there is no margin."""
        return None

    def expected_errors(self, setting: Setting) -> dict[str, float] | None:
        """By how much counts are expected to be off, by mechanism, ours first; ``None`` for questions with a margin."""
        return None

    def number_preview(self, setting: Setting, people: int | None) -> NumberPreview | None:
        """How far off an answer that is a number will be; ``None`` for other questions. *people*: how many are supposed."""
        return None

    def half_width(self, setting: Setting, confidence: Fraction, people: int | None) -> Fraction:
        """The distance from the truth that an answer keeps with this probability, for questions about numbers."""
        remedy = "ask for a count, share, sum or mean without a comparison"
        raise QuestionError("within", str(self), "is for questions whose answer is a number", remedy)

    def query_sentences(self, setting: Setting) -> tuple[str, ...]:
        """How far off a single count and a sum of counts are, in sentences, for previews of counts."""
        return ()

    default_aim: Aim = Aim.TYPICAL
    """What is aimed at for people with levels of their own where nothing is said."""

    aims_agree = False
    """Whether one law for people's own levels serves both aims."""

    takes_prior = False
    """Whether the best answer on average over a prior can be worked out: for yes and no about everybody."""

    reliable_by_arrays = False
    """Whether the sentence on how reliable its answer is takes arrays, which need not be installed."""

    needs_a_filter = False
    """Whether the question says nothing about the whole table when its number of people is public."""

    def __and__(self, other: Question) -> Question[str]:
        """Both at once: for thresholds on counts and shares."""
        return _joined("and", self, other)

    def __or__(self, other: Question) -> Question[str]:
        """One or the other: for thresholds on counts and shares."""
        return _joined("or", self, other)

    def __repr__(self) -> str:
        return f"Question({str(self)!r})"


def _joined(word: str, first: Question, second: Question) -> Question[str]:
    from optimaldp.questions.kinds.several import joined_by

    # A draft stands for the question that the description of the table will make of it.
    return joined_text(first, word, second) if isinstance(second, Draft) else joined_by(word, [first, second])


@dataclass(frozen=True)
class Valued:
    """{place: people} of those who have a value, and people without one. Private."""

    values: dict[int, int]
    without: int

    @staticmethod
    def of(cells: dict[int, int], last: int) -> Valued:
        """From cells of which the last one holds those without a value."""
        return Valued(
            {place: people for place, people in cells.items() if people and place != last}, cells.get(last, 0)
        )

    def __repr__(self) -> str:
        return "Valued(private)"


def outside_last(cells: Cells, size: int, among: str | None) -> dict[int, int]:
    """Cells of (reading, among?) as cells of the reading alone: people who are not among those asked join the last cell."""
    if among is None:
        return {cell: people for cell, people in cells.items() if people}
    folded: dict[int, int] = {}
    for cell, people in cells.items():
        own, not_among = divmod(cell, 2)
        place = size - 1 if not_among else own
        folded[place] = folded.get(place, 0) + people
    return folded


def whole_numbers(counts: Sequence[int]) -> tuple[int, ...]:
    """Counts as Python's own integers: numpy's are counts too. No message quotes one."""
    if any(isinstance(count, bool) or not isinstance(count, Integral) or count < 0 for count in counts):
        raise QuestionError("counts", "the list", "does not hold whole numbers of 0 or more only")
    return tuple(int(count) for count in counts)


def counts_for(question: Question, counts: Sequence[int], *, wanted: int, least: int | None = None) -> tuple[int, ...]:
    """Checked counts, *wanted* of them; the last ones may be left out down to *least*."""
    known = whole_numbers(counts)
    if not (wanted if least is None else least) <= len(known) <= wanted:
        raise QuestionError("counts", len(known), f"is not the number of counts that {question} needs ({wanted})")
    return (*known, *[0] * (wanted - len(known)))


def among_text(among: str | None) -> str:
    return "" if among is None else f" among {among}"


class Draft(str):
    """The text of a question that leaves out a public range: the description of the table says it when the question is asked.

    >>> Draft("mean(cost)") >= 1500
    Question('mean(cost) >= 1500')
    """

    @staticmethod
    def of(word: str, parts: Iterable[str | None], among: str | None) -> Any:
        """``word(parts among condition)``. For a type checker it is the question that the description makes of it."""
        return Draft(f"{word}({', '.join(part for part in parts if part)}{among_text(check_among(among))})")

    def __ge__(self, bound: object) -> Draft:  # type: ignore[override]
        return joined_text(self, ">=", bound)

    def __gt__(self, bound: object) -> Draft:  # type: ignore[override]
        return joined_text(self, ">", bound)

    def __le__(self, bound: object) -> Draft:  # type: ignore[override]
        return joined_text(self, "<=", bound)

    def __lt__(self, bound: object) -> Draft:  # type: ignore[override]
        return joined_text(self, "<", bound)

    def __add__(self, margin: object) -> Any:
        return str.__add__(self, margin) if type(margin) is str else joined_text(self, "+", margin)

    def __sub__(self, other: object) -> Draft:
        return joined_text(self, "-", other)

    def __and__(self, other: object) -> Draft:
        return joined_text(self, "and", other)

    def __or__(self, other: object) -> Draft:
        return joined_text(self, "or", other)

    def __bool__(self) -> bool:
        raise QuestionError("question", str(self), "has no answer before it is released", "release it")

    def __repr__(self) -> str:
        return f"Question({str(self)!r})"


def joined_text(first: object, sign: str, second: object) -> Draft:
    """Two sides of a question, of which at least one is a draft. Whether they fit is decided when the ranges are known."""
    if not isinstance(second, (Draft, Question)) and not hasattr(second, "quantity"):
        second = fraction_text(read_number(second, name="bound", error=QuestionError))
    return Draft(f"{first} {sign} {second}")


def as_question(asked: object) -> Question:
    """A question from itself or from its text."""
    if isinstance(asked, Question):
        return asked
    if isinstance(asked, str):
        from optimaldp.questions.text import parse

        return parse(str(asked))  # of a draft its plain text, which an error can quote
    raise QuestionError(
        "question", asked, "is not a question", "write odp.share(\"smokes = 'yes'\") >= 0.3, or the same as text"
    )


class Detailed:
    """An answer that carries *details*, which a statement and a ledger keep under the name of its *section*."""

    section: str
    details: dict[str, Any]
