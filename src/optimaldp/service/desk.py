"""The desk: who may ask what, what becomes of a request, and what each person may see.

Every method begins with who calls. What is not hers does not exist for her: the answer is the same for somebody else's data set
or request as for one that nobody has.
"""

from __future__ import annotations

import datetime
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from optimaldp.documents.json_text import json_text
from optimaldp.errors import InputError
from optimaldp.ledger import Ledger
from optimaldp.ledger.askers import AskersLedger, Behalf
from optimaldp.ledger.composition.rules import read_rule
from optimaldp.service.asked import ASK_KEYS, PREVIEW_KEYS, SANITISE_KEYS, refuse_others
from optimaldp.service.configuration import (
    SANITISE,
    AskerRules,
    Configuration,
    Dataset,
    Grant,
    Role,
    read_asker,
    require_name,
    require_room,
)
from optimaldp.service.keys import DAYS, Person, create_key, is_key, moment, number_of
from optimaldp.service.refusals import FAILED, NO_KEY, Refused, unknown
from optimaldp.service.store import STATUSES, RequestRecord, ServiceStore, TakenError, noted
from optimaldp.tables import Description

_LOST_SECONDS = 900
_NUMBER = re.compile("[0-9a-f]{16,32}")  # of a key or a request; anything else would only ask the database
_LONGEST_REASON = 1000
_LONGEST_IDEMPOTENCY = 200
_WATCHERS = (Role.STEWARD, Role.AUDITOR)
Document = dict[str, Any]


@dataclass(frozen=True)
class Begun:
    """A request that is on its way, and what the clerk is told."""

    record: RequestRecord
    payload: str


class CuratorDesk:
    """Everything that is decided without reading a table. Threads may share it."""

    def __init__(self, config: Configuration) -> None:
        self.config = config
        self.descriptions: dict[str, Description] = {}
        self._ledgers: dict[str, Ledger] = {}
        self.store = ServiceStore(config.ledger)
        try:
            for dataset in config.datasets.values():
                self._register(dataset)
            require_room(self._all_askers().values(), config.datasets)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the store and the ledgers."""
        for ledger in self._ledgers.values():
            ledger.close()
        self.store.close()

    def _register(self, dataset: Dataset) -> None:
        """Open a data set by its description and its ledger: what is wrong with either is said now, and not to an asker."""
        from optimaldp.asking.session import open_table
        from optimaldp.tables import open_source
        from optimaldp.tables.description import is_description

        field = f"datasets.{dataset.name}.description"
        if not is_description(dataset.description):
            remedy = "make one with: optimaldp describe TABLE --output NAME.datapackage.json"
            raise InputError(field, dataset.description, "is not named like a description", remedy)
        told = open_source(dataset.description).description
        assert told is not None
        table = open_table(
            dataset.description,
            ledger=dataset.ledger,
            budget=dataset.budget,
            dataset=dataset.name,
            composition=read_rule(dict(dataset.composition)),
        )
        self.descriptions[dataset.name], self._ledgers[dataset.name] = told, table.ledger

    # Who calls.

    def person(self, key: str | None) -> Person:
        """Who has this key; one refusal for every reason why nobody has it."""
        number = None if key is None else number_of(key)
        known = None if number is None else self.store.key(number)
        if not is_key(key or "", known, moment()) or known is None:
            raise Refused(401, NO_KEY, headers={"WWW-Authenticate": "Bearer"})
        roles = {role for role in Role if known.name in self.config.names(role)}
        if known.name not in self.config.askers and known.name in self.store.askers():
            roles.add(Role.ASKER)
        if not roles:  # the steward took the name away: its key opens nothing
            raise Refused(401, NO_KEY, headers={"WWW-Authenticate": "Bearer"})
        return Person(known.name, frozenset(roles), known)

    def _all_askers(self, granted: Mapping[str, Document] | None = None) -> dict[str, AskerRules]:
        """Who is named in the file, and those to whom a steward *granted* something; as the store has it, if nothing is said."""
        added = {
            name: read_asker(name, document, self.config.datasets, f"askers.{name}")
            for name, document in (self.store.askers() if granted is None else granted).items()
            if name not in self.config.askers
        }
        return {**added, **self.config.askers}

    def _rules(self, name: str) -> AskerRules:
        found = self.config.askers.get(name) or self._all_askers().get(name)
        return AskerRules(name, {}) if found is None else found

    def _sees(self, person: Person, *roles: Role) -> frozenset[str]:
        """The data sets that she may look at in one of these *roles* of hers."""
        seen: set[str] = set()
        for role in person.roles & set(roles):
            if role is Role.ASKER:
                seen |= set(self._rules(person.name).datasets)
            else:
                named = self.config.others[role][person.name]
                seen |= set(self.config.datasets) if named is None else named
        return frozenset(seen)

    def _dataset(self, person: Person, name: object, *roles: Role) -> Dataset:
        if not isinstance(name, str):
            raise Refused(
                400,
                "The field dataset is not a name. Name one of the data sets that GET /v1/datasets lists.",
                field="dataset",
                rule="is not a name",
                remedy="say dataset",
            )
        if name not in self._sees(person, *(roles or tuple(Role))):
            raise unknown("data set")
        return self.config.datasets[name]

    # What she may look at.

    def me(self, person: Person) -> Document:
        return {"name": person.name, "roles": sorted(person.roles), "expires": person.key.expires}

    def datasets(self, person: Person) -> Document:
        seen = self._sees(person, *Role)
        shown = [self._about(person, dataset) for name, dataset in self.config.datasets.items() if name in seen]
        return {"datasets": shown}

    def _about(self, person: Person, dataset: Dataset) -> Document:
        rules = self._rules(person.name)
        mine = rules.datasets.get(dataset.name)
        return {
            "name": dataset.name,
            "description": self._described(dataset.name),
            "budget": mine.to_document() if mine is not None else dataset.budget.to_document(),
            "share_answers": dataset.share_answers,
            "approve_above": None if rules.approve_above is None else str(rules.approve_above),
            "approve_kinds": sorted(rules.approve_kinds | dataset.approve_kinds),
        }

    def _described(self, name: str) -> Document:
        """The reviewed description as an asker may see it, with the neighbours for which its budget holds."""
        return self.descriptions[name].shown() | {"neighbours": self._ledgers[name].opening.neighbours.value}

    def remaining(self, person: Person, name: object) -> Document:
        dataset = self._dataset(person, name)
        if person.has(*_WATCHERS) and dataset.name in self._sees(person, *_WATCHERS):
            askers = [one for one in self._all_askers().values() if dataset.name in one.datasets]
            own = {one.name: self._remaining(one.name, dataset, one.datasets[dataset.name]) for one in askers}
            return self._remaining(None, dataset, Grant(shared=True)) | {"askers": own}
        return self._own_remaining(person.name, dataset)

    def _own_remaining(self, asker: str, dataset: Dataset) -> Document:
        return self._remaining(asker, dataset, self._rules(asker).datasets.get(dataset.name, Grant(shared=True)))

    def _remaining(self, asker: str | None, dataset: Dataset, grant: Grant) -> Document:
        behalf = Behalf(asker or "", grant.budget(dataset.budget), grant.per)
        return AskersLedger(self._ledgers[dataset.name], behalf).remaining_document()

    def history(self, person: Person, name: object) -> Document:
        dataset = self._dataset(person, name, Role.ASKER, *_WATCHERS)
        ledger = self._ledgers[dataset.name]
        if dataset.name not in self._sees(person, *_WATCHERS):
            ledger = AskersLedger(ledger, Behalf(person.name))
        return ledger.history().to_document()

    def entries(self, person: Person, name: object) -> Document:
        dataset = self._dataset(person, name, *_WATCHERS)
        ledger = self._ledgers[dataset.name]
        written = [{"text": one.text(), "hash": digest} for one, digest in zip(ledger.entries(), ledger.hashes())]
        return {"dataset": dataset.name, "head": written[-1]["hash"], "entries": written}

    def log(self, person: Person, after: object) -> Document:
        number = str(after or "0")
        if not (number.isascii() and number.isdigit() and len(number) < 16):
            raise InputError("after", after, "is not the number of an entry of the log", "write a whole number")
        seen = self._sees(person, *_WATCHERS)
        return {"log": self.store.log(int(number), None if seen == set(self.config.datasets) else sorted(seen))}

    # Requests.

    def requests(self, person: Person, dataset: object, status: object) -> Document:
        if dataset is not None:
            self._dataset(person, dataset)
        wanted = None if status is None else str(status)
        if wanted not in (None, *STATUSES):
            raise InputError("status", status, "is not a state of a request", f"write one of {', '.join(STATUSES)}")
        found: dict[str, RequestRecord] = {}
        of_everybody = self._sees(person, Role.APPROVER, *_WATCHERS)
        for asker, seen in ((person.name, self._sees(person, Role.ASKER)), (None, of_everybody)):
            named = sorted(seen if dataset is None else seen & {str(dataset)})
            if named:
                listed = self.store.requests(asker=asker, datasets=named, status=wanted)
                found |= {one.id: one for one in listed}
        newest_first = sorted(found.values(), key=lambda one: one.created, reverse=True)
        return {"requests": [self._shown(one) for one in newest_first]}

    def request(self, person: Person, number: str) -> Document:
        record = self._request(person, number)
        document = self._shown(record)
        if record.asker == person.name and record.answer is not None:
            document["answer"] = json.loads(record.answer)
        return document

    def _request(self, person: Person, number: str, *roles: Role) -> RequestRecord:
        record = self.store.request(number) if _NUMBER.fullmatch(number) else None
        if record is None:
            raise unknown("request")
        # Her name alone does not make it hers: somebody else may have had it, on data sets that she does not have.
        mine = not roles and record.asker == person.name and record.dataset in self._sees(person, Role.ASKER)
        if not mine and record.dataset not in self._sees(person, *(roles or (Role.APPROVER, *_WATCHERS))):
            raise unknown("request")
        return record

    def _shown(self, record: RequestRecord) -> Document:
        """A request without its answer; one whose process is gone will not be answered any more."""
        since = record.started or record.created
        age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(since)
        if record.status == "running" and age.total_seconds() > _LOST_SECONDS + 10 * self.config.answer_after:
            record = replace(record, status="failed", reason=FAILED)
        return record.to_document()

    def begin(
        self, person: Person, kind: str, body: Mapping[str, Any], idempotency: str | None
    ) -> Begun | RequestRecord:
        """Take in a question: what the clerk is told, or the request that was sent with the same idempotency key before."""
        said = dict(body)
        dataset = self._dataset(person, said.pop("dataset", None), Role.ASKER)
        refuse_others(said, SANITISE_KEYS if kind == SANITISE else ASK_KEYS)
        if idempotency is not None and not 0 < len(idempotency) <= _LONGEST_IDEMPOTENCY:
            rule = f"is longer than {_LONGEST_IDEMPOTENCY} characters"
            raise InputError("Idempotency-Key", idempotency, rule, "send a random text of 32 characters")
        record = RequestRecord(
            secrets.token_hex(16),
            kind,
            person.name,
            dataset.name,
            json_text(dict(sorted(said.items()))),
            "running",
            moment(),
            started=moment(),
            idempotency=idempotency,
        )
        try:
            self.store.add_request(record)
        except TakenError:
            return self._sent_before(record)
        return Begun(record, self._payload(record, dataset, approver=None))

    def _sent_before(self, record: RequestRecord) -> RequestRecord:
        before = self.store.request_sent(record.asker, str(record.idempotency))
        same = before is not None and all(
            getattr(before, name) == getattr(record, name) for name in ("kind", "dataset", "body")
        )
        if before is None or not same:
            message = "This Idempotency-Key was sent with another question before. Nothing was done; send a new one."
            raise Refused(409, message, field="Idempotency-Key")
        return before

    def replay(self, before: RequestRecord) -> tuple[int, Document]:
        """What is answered to a request that is sent a second time: what became of the first one."""
        if before.status == "answered" and before.answer is not None:
            remaining = self._own_remaining(before.asker, self.config.datasets[before.dataset])
            return 200, {**json.loads(before.answer), "request": before.id, "remaining": remaining}
        if before.status == "waiting":
            return 202, {"request": before.id, "status": "waiting"}
        message = f"This was sent before and is {before.status}. It is not done again; to ask anew, send a new Idempotency-Key."
        raise Refused(409, message if before.reason is None else f"{message} {before.reason}")

    def _payload(self, record: RequestRecord, dataset: Dataset, *, approver: str | None) -> str:
        rules = self._rules(record.asker)
        grant = rules.datasets.get(dataset.name)
        if grant is None:  # taken away while the request waited
            raise Refused(
                409,
                "The asker may not ask this data set any more. Refuse the request, or ask the steward to let her.",
                field="dataset",
            )
        budget = grant.budget(dataset.budget)
        behalf = {
            "asker": record.asker,
            "budget": None if budget is None else budget.to_document(),
            "per": grant.per,
            "approver": approver,
            "request": record.id,
            "shares": dataset.share_answers,
        }
        rule = None if approver is not None else self._rule(rules, dataset)
        return json_text({"dataset": dataset.name, "ask": record.asked, "behalf": behalf, "rule": rule})

    def _rule(self, rules: AskerRules, dataset: Dataset) -> Document:
        above = None if rules.approve_above is None else str(rules.approve_above)
        return {"above": above, "kinds": sorted(rules.approve_kinds | dataset.approve_kinds)}

    def preview_payload(self, person: Person, body: Mapping[str, Any]) -> str:
        """What the clerk is told to preview: public, so that everybody who sees the data set may."""
        said = dict(body)
        dataset = self._dataset(person, said.pop("dataset", None), Role.ASKER, Role.APPROVER, Role.STEWARD)
        refuse_others(said, (*ASK_KEYS, *PREVIEW_KEYS))
        rule = self._rule(self._rules(person.name), dataset) if person.has(Role.ASKER) else None
        return json_text({"dataset": dataset.name, "ask": said, "rule": rule})

    def settle(self, record: RequestRecord, status: int, document: Document) -> tuple[int, Document]:
        """What became of a question that was asked directly."""
        if status == 202:
            waits = noted(record.asker, "ask", "waits for an approver", record)
            self.store.move_request(record.id, "running", noted=waits, status="waiting")
            return 202, {"request": record.id, "status": "waiting"}
        if status in (200, 500):
            return self._settled(record, status, document)
        uncovered = noted(record.asker, record.kind, "the budget does not cover it", record)
        self.store.drop_request(record.id, uncovered if status == 409 else None)
        return status, document

    def _settled(self, record: RequestRecord, status: int, document: Document) -> tuple[int, Document]:
        if status == 500:
            failed = noted(record.asker, record.kind, "failed", record)
            self.store.move_request(
                record.id, "running", noted=failed, status="failed", reason=FAILED, decided=moment()
            )
            return status, document
        remaining = document.pop("remaining")  # as the clerk's ledger says, which has just written the answer
        answer = json.dumps(document, allow_nan=False)
        recorded = int(document["replayed"])
        moved: dict[str, Any] = {"status": "answered", "answer": answer, "recorded": recorded, "decided": moment()}
        outcome = "answered from the record" if recorded else "answered"
        said = noted(record.asker, record.kind, outcome, record)
        self.store.move_request(record.id, "running", noted=said, **moved)
        return status, {**document, "request": record.id, "remaining": remaining}

    def approve(self, person: Person, number: str) -> Begun:
        """Let a waiting question through: the asker pays for it, and the entry names the approver."""
        record = self._waiting(person, number)
        payload = self._payload(record, self.config.datasets[record.dataset], approver=person.name)
        started: dict[str, Any] = {"status": "running", "approver": person.name, "started": moment()}
        if not self.store.move_request(record.id, "waiting", **started):
            raise _not_waiting()
        return Begun(replace(record, status="running", approver=person.name), payload)

    def settle_approved(self, record: RequestRecord, status: int, document: Document) -> tuple[int, Document]:
        """What became of a question that was approved; the approver does not see the answer."""
        if status in (200, 500):
            self._settled(record, status, document)
            self.store.note(str(record.approver), "approve", "answered" if status == 200 else "failed", record)
            settled = self.store.request(record.id)
            return (200, self._shown(settled or record)) if status == 200 else (status, document)
        back: dict[str, Any] = {"status": "waiting", "approver": None, "started": None}
        outcome = "the budget does not cover it" if status == 409 else "refused"
        said = noted(str(record.approver), "approve", outcome, record)
        self.store.move_request(record.id, "running", noted=said, **back)
        return status, document

    def refuse(self, person: Person, number: str, body: Mapping[str, Any]) -> Document:
        """Refuse a waiting question, with the reason that the asker reads."""
        reason = body.get("reason")
        if not isinstance(reason, str) or not reason.strip() or len(reason) > _LONGEST_REASON or "\0" in reason:
            rule = f"is not a text of up to {_LONGEST_REASON} characters, none of them a zero byte"
            raise InputError("reason", reason, rule, "say in a sentence why")
        record = self._waiting(person, number)
        said: dict[str, Any] = {
            "status": "refused",
            "approver": person.name,
            "reason": reason.strip(),
            "decided": moment(),
        }
        if not self.store.move_request(record.id, "waiting", **said):
            raise _not_waiting()
        self.store.note(person.name, "refuse", "refused", record)
        return self._shown(replace(record, **said))

    def _waiting(self, person: Person, number: str) -> RequestRecord:
        record = self._request(person, number, Role.APPROVER)
        if record.asker == person.name:
            raise Refused(403, "Nobody approves or refuses a question of her own. Another approver has to do it.")
        if record.status != "waiting":
            raise _not_waiting()
        return record

    # What a steward does.

    def askers(self, person: Person) -> Document:
        hers = self._sees(person, Role.STEWARD)
        shown = [
            one.to_document() | {"declared": "file" if one.name in self.config.askers else "service"}
            for one in self._all_askers().values()
            if hers >= set(one.datasets)
        ]
        return {"askers": sorted(shown, key=lambda one: str(one["name"]))}

    def put_asker(self, person: Person, name: str, document: Mapping[str, Any]) -> Document:
        """Let somebody ask, or change what she may: budgets still add up to no more than each data set's."""
        require_name("name", name)
        self._require_undeclared(name)
        rules = read_asker(name, document, self.config.datasets, name)
        self._require_hers(person, rules.datasets)
        self._require_hers(person, self._rules(name).datasets)
        written = rules.to_document()
        kept = {key: value for key, value in written.items() if key != "name" and value is not None}

        def leaves_room(granted: Mapping[str, Document]) -> None:
            require_room((self._all_askers(granted) | {name: rules}).values(), self.config.datasets)

        self.store.put_asker(name, kept, leaves_room)
        self.store.note(person.name, f"put asker {name}", "done")
        return written | {"declared": "service"}

    def drop_asker(self, person: Person, name: str) -> Document:
        """Take somebody's right to ask away, and her keys with it: whoever gets the name next is somebody else."""
        self._require_undeclared(name)
        rules = self._all_askers().get(name)
        if rules is None or not self._sees(person, Role.STEWARD) >= set(rules.datasets):
            raise unknown("asker")
        self.store.drop_asker(name)
        self.store.note(person.name, f"drop asker {name}", "done")
        return {"name": name, "dropped": True}

    def _require_undeclared(self, name: str) -> None:
        if any(name in self.config.names(role) for role in Role):
            message = (
                f"{name} stands in the configuration file of the service. Change it there, and start the service anew."
            )
            raise Refused(409, message, field="name", value=name)

    def _require_hers(self, person: Person, datasets: Mapping[str, Any] | Sequence[str]) -> None:
        """A steward of some data sets gives no rights to others."""
        for name in datasets:
            self._dataset(person, name, Role.STEWARD)

    def keys(self, person: Person) -> Document:
        return {"keys": [one.to_document() for one in self.store.all_keys() if self._may_revoke(person, one.name)]}

    def _may_revoke(self, person: Person, name: str) -> bool:
        """Whether the name belongs to a steward: of some data sets to her only whoever asks no others."""
        hers = self._sees(person, Role.STEWARD)
        only_asks = not any(name in self.config.names(role) for role in Role if role is not Role.ASKER)
        return hers == set(self.config.datasets) or (only_asks and hers >= set(self._rules(name).datasets))

    def create_key(self, person: Person, body: Mapping[str, Any]) -> Document:
        """A key for an asker; keys of other roles are made on the machine itself, so that no key makes its own like."""
        name, days = body.get("name"), body.get("days", DAYS)
        askers = self._all_askers()
        hers = self._sees(person, Role.STEWARD)
        if isinstance(name, str) and not hers >= set(askers[name].datasets if name in askers else self.config.datasets):
            raise unknown("asker")
        if not isinstance(name, str) or name not in askers:
            rule = "is not an asker; keys of other roles are made where the service runs"
            raise InputError("name", name, rule, "write: optimaldp serve --config F key create NAME")
        if any(name in self.config.names(role) for role in Role if role is not Role.ASKER):
            rule = "has other roles too; such a key is made where the service runs"
            raise InputError("name", name, rule, f"write: optimaldp serve --config F key create {name}")
        key = create_key(self.config, name, days=days, store=self.store)
        made = self.store.key(str(number_of(key)))
        assert made is not None
        self.store.note(person.name, f"create key for {name}", "done")
        return {"id": made.id, "name": name, "key": key, "expires": made.expires}

    def revoke_key(self, person: Person, number: str) -> Document:
        known = self.store.key(number) if _NUMBER.fullmatch(number) else None
        if known is None or not self._may_revoke(person, known.name):
            raise unknown("key")
        self.store.revoke_key(number)
        self.store.note(person.name, f"revoke key {number}", "done")
        return {"id": number, "revoked": True}


def _not_waiting() -> Refused:
    return Refused(409, "The request does not wait for an approver any more. Look at its status.", field="status")


def clerk_settings(config: Configuration) -> Document:
    """What a clerk starts with: never a key."""
    named = {one.name: {"description": one.description, "ledger": one.ledger} for one in config.datasets.values()}
    return {"memory": config.memory, "datasets": named}
