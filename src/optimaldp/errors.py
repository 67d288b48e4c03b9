"""Every error that optimaldp raises on purpose, in one tree.

A message says *what, with the value; the rule; the way out*. The parts are attributes too, so that a caller
can build a message of its own. An error that is raised after data was read never holds a value from the data.
"""

from __future__ import annotations

from decimal import Decimal

_SHOWN = 80  # characters of a bad value that a message quotes: enough to recognise it, never a screenful


class OptimalDPError(Exception):
    """The root of the tree: catch this to catch everything that optimaldp raises on purpose."""


def shorten(value: object) -> str:
    """Return a one-line ``repr`` of *value*, cut to a readable length."""
    # A number of a file is shown as the file has it, not as Python writes decimals.
    try:
        text = str(value) if isinstance(value, Decimal) or (isinstance(value, str) and not value) else repr(value)
    except ValueError:  # Python refuses to print whole numbers of more than 4,300 digits
        text = f"a value of type {type(value).__name__} that is too long to print"
    text = " ".join((text or "''").split())
    # Both ends: the end of a path says more than its beginning.
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]}…{text[-_SHOWN // 2 + 1 :]}"


def printable(text: str) -> str:
    """The text with what would steer a terminal written out: names of columns come from files."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in text)


class InputError(OptimalDPError, ValueError):
    """Something that the caller handed in breaks a rule. Nothing was read, sampled or spent."""

    def __init__(self, field: str, value: object, rule: str, remedy: str = "") -> None:
        self.field = field
        self.value = value
        self.rule = rule
        self.remedy = remedy
        way_out = f"; {remedy.rstrip('.')}" if remedy else ""
        end = "" if way_out.endswith("?") else "."
        subject = field if value is None else f"{field}: {shorten(value)}"  # what was left out has no value to show
        super().__init__(printable(f"{subject} {rule.rstrip('.')}{way_out}{end}"))


class LevelError(InputError):
    """A privacy level that is not one (a negative epsilon, a delta above 1, ...)."""


class GraphError(InputError):
    """A graph of datasets that cannot be built or used as asked."""


class ProblemError(InputError):
    """A design problem (graph, preferences, fixed values) or its file breaks a rule."""


class MechanismError(InputError):
    """A mechanism whose rows are not distributions, or that does not fit its graph."""


class CertificateError(InputError):
    """A certificate that does not prove what it claims."""


class NotCertifiedError(OptimalDPError):
    """Something that has not been certified was about to be sampled."""


class SecondCalculationError(NotCertifiedError):
    """What was about to be answered is not what a second calculation gives. One fixed sentence, whatever the data is."""

    def __init__(self) -> None:
        super().__init__(
            "A second calculation did not confirm the answer, so none is given. What was reserved stays spent."
        )


class RandomnessError(OptimalDPError):
    """The operating system's generator is visibly broken. One fixed sentence, whatever the data is."""

    def __init__(self) -> None:
        super().__init__(
            "The operating system's random bits are missing, repeat themselves or are not fair, so they decide nothing. "
            "No answer was given. What was reserved stays spent."
        )


class ChannelError(InputError):
    """A channel, prior or gain that breaks a rule."""


class HistogramError(InputError):
    """Counts, bins or a prior that cannot make a histogram."""


class QuestionError(InputError):
    """A question or predicate that cannot be asked, or not of this table."""


class NoMarginError(QuestionError):
    """A question whose error does not depend on a margin, so that there is no curve to show."""


class TableError(InputError):
    """A source that cannot be opened or counted. The message never quotes a cell."""


class ReleaseError(OptimalDPError):
    """Something unforeseen went wrong after data was read. Only the kind of error is told: its words might hold data."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(
            f"the release stopped on an unforeseen {kind} after data was read, whose words are withheld. No answer was given."
        )


class LedgerError(OptimalDPError):
    """A ledger that cannot be opened, was damaged, or does not fit the request."""


class BudgetError(LedgerError):
    """A spend that the budget does not cover. Nothing was sampled and nothing was spent."""

    def __init__(
        self, message: str, *, needs: object = None, spent: object = None, budget: object = None, entries: int = 0
    ) -> None:
        self.needs = needs
        self.spent = spent
        self.budget = budget
        self.entries = entries
        super().__init__(f"{message.rstrip('.')}. Nothing was sampled and nothing was spent.")


class ServiceError(OptimalDPError):
    """A curator's service that cannot be reached, gave no answer, or does not allow what was wanted."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        self.status = status
        """The status of the HTTP answer; ``None`` where there was none."""
        super().__init__(message)


class AccessError(ServiceError):
    """A key that is missing, wrong, expired or revoked, or that does not allow this."""


class NotApprovedError(ServiceError):
    """An approver refused the question. Nothing was sampled and nothing was spent."""


class StillWaitingError(ServiceError, TimeoutError):
    """Nobody has decided yet. The question goes on waiting."""


class PaidRepeatWarning(UserWarning):
    """A question that was paid for already is about to be paid for again. As an error it stops the question before it is."""


class ReadingWarning(UserWarning):
    """A column is read in a way that nobody declared, or each row is taken for a person though a column names persons."""


class MissingExtraError(OptimalDPError, ImportError):
    """An optional part is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed. It is an optional part: pip install 'optimaldp[{extra}]'.")
