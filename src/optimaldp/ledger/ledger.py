"""The ledger: reserve durably, then sample, then record.

A crash between the steps may lose budget, never privacy: what was released had been written down before it was drawn.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from optimaldp.errors import LedgerError
from optimaldp.ledger.budget import single_bound
from optimaldp.ledger.chain import asked, read_whole
from optimaldp.ledger.entry import Answer, Entry, Opening, Spend, hash_of
from optimaldp.ledger.history import History, Line
from optimaldp.ledger.remaining import Remaining
from optimaldp.ledger.reservation import Reservation
from optimaldp.ledger.store import Row, Store
from optimaldp.privacy.levels import Bound, Level
from optimaldp.privacy.neighbours import Neighbours, read_neighbours

_NOTHING_SPENT = "Nothing was sampled and nothing was spent."


class Ledger:
    """One ledger of one data set, shared by every process that opens it.

    **Guarantee.** When :meth:`reserve` returns, the spend is durable and the total of all spends in all processes keeps the
    budget; when it raises, nothing was spent. Entries are only ever added. Threads may share a ledger.

    Get one from :func:`optimaldp.ledger.open_ledger`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.RLock()
        try:
            self._chain = read_whole(store)
            self._secret = store.secret()
        except BaseException:
            store.close()
            raise

    @property
    def location(self) -> str:
        return self._store.location

    @property
    def opening(self) -> Opening:
        """Whose ledger this is: data set, budget, neighbours, unit, composition, parts, groups."""
        return self._chain.opening

    @property
    def head(self) -> str:
        """The hash of the last entry. Noted elsewhere, it proves later that nothing before it was changed."""
        with self._lock:
            self._refresh()
            return self._chain.head

    def reserve(
        self,
        *,
        question: str,
        level: Level,
        neighbours: str | Neighbours,
        unit: str | None = None,
        dataset: str | None = None,
        data_version: str | None = None,
        part: str | None = None,
        personal: Mapping[str, Level] | None = None,
    ) -> Reservation:
        """Spend *level* durably, before anything is sampled.

        *dataset* is checked if it is given. *data_version* is any text that changes when the data do; it is stored as a keyed
        code and lets the same question be answered again for nothing. *part* is a declared disjoint part that the question
        reads alone; *personal* gives the stricter levels of level groups.

        Raises :class:`~optimaldp.errors.BudgetError` if the budget does not cover it, another
        :class:`~optimaldp.errors.LedgerError` if the request does not fit this ledger. In both cases nothing was spent.
        """
        self._require_same(neighbours, unit, dataset)
        parts = self._spend_parts(question, level, data_version, part, personal)

        def next_entry(sequence: int, previous: str) -> Entry:
            spend = Spend(sequence, previous, _now(), **parts)
            self._chain.account.require(spend)
            return spend

        made = self._append(next_entry)
        assert isinstance(made, Spend)
        return Reservation(self, made)

    def require(
        self,
        *,
        question: str,
        level: Level,
        neighbours: str | Neighbours,
        unit: str | None = None,
        dataset: str | None = None,
        part: str | None = None,
        personal: Mapping[str, Level] | None = None,
    ) -> None:
        """Raise what :meth:`reserve` would raise now, and spend nothing: ask this before reading any data."""
        self._require_same(neighbours, unit, dataset)
        parts = self._spend_parts(question, level, None, part, personal)
        with self._lock:
            self._refresh()
            self._chain.account.require(Spend(self._chain.last + 1, self._chain.head, _now(), **parts))

    def answered(
        self,
        question: str,
        level: Level,
        data_version: str | None,
        *,
        part: str | None = None,
    ) -> Answer | None:
        """The recorded answer to the same question at the same level on the same data version, which costs nothing."""
        parts = self._spend_parts(question, level, data_version, part, None)
        key = asked(Spend(0, "", "", **parts))
        with self._lock:
            self._refresh()
            return None if key is None else self._chain.answered.get(key)

    def spent(self, *, part: str | None = None, group: str | None = None) -> Bound:
        """What was spent: on the persons who lost most, or on those of one part or level group."""
        with self._lock:
            self._refresh()
            return self._chain.account.spent(part=part, group=group)

    def remaining(self, *, part: str | None = None, group: str | None = None) -> Remaining:
        """What is left of the budget, exactly where it can be written exactly."""
        spent = self.spent(part=part, group=group)
        account = self._chain.account
        return Remaining(account.budget_of(group), spent, account.spends, account.rule.name)

    def groups(self) -> dict[str, Remaining]:
        """What every level group has spent and has left: persons with a level of their own may have lost less."""
        self.spent()
        return {group: self.remaining(group=group) for group in self._chain.account.groups()}

    def history(self) -> History:
        """Every spend with its answer, in order."""
        with self._lock:
            self._refresh()
            spends = [entry for entry in self._chain.entries if isinstance(entry, Spend)]
            return History(
                self.opening, tuple(Line(spend, self._chain.answers.get(spend.sequence)) for spend in spends)
            )

    def entries(self) -> Sequence[Entry]:
        """Every entry, in order."""
        with self._lock:
            self._refresh()
            return tuple(self._chain.entries)

    def hashes(self) -> Sequence[str]:
        """The hash of every entry, in order."""
        with self._lock:
            self._refresh()
            return tuple(self._chain.hashes)

    def code_of(self, data_version: str) -> str:
        """The keyed code of a data version: equal for equal versions, and useless without the ledger's own key."""
        return hmac.new(self._secret, data_version.encode("utf-8"), hashlib.sha256).hexdigest()

    def record(self, reservation: Reservation, answer: Any, certificate: Any = None) -> Answer:
        """Write the released answer of a reservation; once only."""
        plain_answer, plain_certificate = _plain(answer), _plain(certificate)

        def next_entry(sequence: int, previous: str) -> Entry:
            if reservation.sequence in self._chain.answers:
                raise LedgerError(
                    f"spend #{reservation.sequence} already has its answer: every answer needs a spend of its own."
                )
            return Answer(sequence, previous, _now(), reservation.sequence, plain_answer, plain_certificate)

        try:
            entry = self._append(next_entry)
        except LedgerError as error:
            raise LedgerError(f"{error} The spend #{reservation.sequence} stays, without an answer.") from None
        assert isinstance(entry, Answer)
        return entry

    def close(self) -> None:
        """Let go of files and connections."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self.opening.dataset!r}, {self.remaining().summary()}, {self.opening.neighbours})"

    def _append(self, next_entry: Any) -> Entry:
        made: Entry

        def decide(rows: Sequence[Row]) -> Row:
            nonlocal made
            known = self._chain.last  # more than was asked for, when this is a second attempt after a collision
            self._chain.follow(row for row in rows if row.sequence > known)
            made = next_entry(self._chain.last + 1, self._chain.head)
            text = made.text()
            return Row(made.sequence, text, hash_of(text))

        with self._lock:
            row = self._store.append(self._chain.last, decide)
            self._chain.extend(made, row)
        self._store.remember_head(row)
        return made

    def _refresh(self) -> None:
        self._chain.follow(self._store.rows(self._chain.last))

    def _spend_parts(
        self,
        question: str,
        level: Level,
        data_version: str | None,
        part: str | None,
        personal: Mapping[str, Level] | None,
    ) -> dict[str, Any]:
        groups = sorted((personal or {}).items())
        return {
            "question": question,
            "bound": single_bound(level),
            "part": part,
            "personal": tuple((group, single_bound(own)) for group, own in groups),
            "data": None if data_version is None else self.code_of(data_version),
        }

    def _require_same(self, neighbours: str | Neighbours, unit: str | None, dataset: str | None) -> None:
        """A sum of guarantees means something only if all of them speak of the same neighbours and persons."""
        opening = self.opening
        asked_for = read_neighbours(neighbours)
        if asked_for is not opening.neighbours:
            raise LedgerError(
                f"ledger {self.location!r} adds up guarantees for neighbours {opening.neighbours.value!r} "
                f"({opening.neighbours.words}), and the question was asked for {asked_for.value!r} ({asked_for.words}): "
                f"the two do not add up. Ask with neighbours={opening.neighbours.value!r}. {_NOTHING_SPENT}"
            )
        if unit != opening.unit:
            raise LedgerError(
                f"ledger {self.location!r} protects {_unit_words(opening.unit)}, and the question was asked for "
                f"{_unit_words(unit)}: the two do not add up. Ask with unit={opening.unit!r}. {_NOTHING_SPENT}"
            )
        if dataset is not None and dataset != opening.dataset:
            raise LedgerError(
                f"ledger {self.location!r} belongs to the data set {opening.dataset!r}, not to {dataset!r}. "
                f"Every data set has a ledger of its own. {_NOTHING_SPENT}"
            )


def new_opening(opening: Mapping[str, Any]) -> Row:
    """The first row of a new ledger."""
    text = Opening(1, "0" * 64, _now(), **opening).text()
    return Row(1, text, hash_of(text))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _unit_words(unit: str | None) -> str:
    return "single rows (no unit column)" if unit is None else f"persons named by the column {unit!r}"


def _plain(value: Any) -> Any:
    """A JSON value: what the ledger can keep for ever. Answers are released already, so they may be written as they are."""
    if hasattr(value, "to_document"):
        value = value.to_document()
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        raise LedgerError(
            "an answer or certificate that is not plain JSON cannot be recorded. The spend stays, without its answer."
        ) from None
