"""The configuration of a curator: data sets with their budgets, and who may ask what. Read once, checked, frozen.

A file is refused with a whole sentence. Nothing has a default that would give somebody a right: no asker has a data set, no data
set a budget, unless the file says so.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from enum import StrEnum
from fractions import Fraction
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from optimaldp.errors import InputError, LevelError
from optimaldp.ledger import Budget
from optimaldp.ledger.budget import budget_words, readable
from optimaldp.ledger.composition.rules import read_rule
from optimaldp.ledger.opening import is_server
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.privacy.numbers import fraction_text, is_whole, read_probability

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
_NAME_RULE = "is not a name of up to 64 letters, digits and _ . @ -"
SANITISE = "sanitise"


class Role(StrEnum):
    """What somebody may do."""

    ASKER = "asker"
    APPROVER = "approver"
    STEWARD = "steward"
    AUDITOR = "auditor"


@dataclass(frozen=True)
class Grant:
    """What an asker may spend on one data set."""

    epsilon: Epsilon | None = None
    """Her own limit; ``None`` where she shares all of the data set's."""
    delta: Fraction | None = None
    """Her own limit; ``None`` where only the data set's holds."""
    per: Literal["month"] | None = None
    shared: bool = False
    """Whether it is a share of what everybody may spend, so that such limits may add up to more than the data set's."""

    def budget(self, whole: Budget) -> Budget | None:
        """Her own budget within *whole*; ``None`` where she shares it."""
        if self.epsilon is None:
            return None
        return Budget(self.epsilon, whole.delta if self.delta is None else self.delta)

    def to_document(self) -> dict[str, Any]:
        said = {
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "delta": None if self.delta is None else fraction_text(self.delta),
            "per": self.per,
            "shared": self.shared or None,
        }
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True)
class AskerRules:
    """Which data sets somebody may ask, within which budget, and which of her questions wait for an approver."""

    name: str
    datasets: Mapping[str, Grant]
    approve_above: Epsilon | None = None
    """A larger level waits; ``None``: no level does."""
    approve_kinds: frozenset[str] = frozenset()

    def to_document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "datasets": {name: grant.to_document() for name, grant in self.datasets.items()},
            "approve_above": None if self.approve_above is None else str(self.approve_above),
            "approve_kinds": sorted(self.approve_kinds),
        }


@dataclass(frozen=True)
class Dataset:
    """A table that is asked, by its reviewed description."""

    name: str
    description: str
    budget: Budget
    composition: Mapping[str, Any]
    ledger: str
    """Where its budget is kept."""
    share_answers: bool = False
    approve_kinds: frozenset[str] = frozenset()


@dataclass(frozen=True)
class SignIn:
    """How people sign in at the page with an organisation's accounts."""

    issuer: str
    client: str
    address: str
    """Where browsers find this service: the provider sends them back there."""
    people: Mapping[str, str]
    """The claim's value of each account, and whose it is here. Nobody else is let in."""
    claim: Literal["sub", "email"] = "sub"
    secret: str | None = field(default=None, repr=False)


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can connect there."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_encrypted(url: str) -> bool:
    """Whether nobody on the way can read or change what is sent to this address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))


@dataclass(frozen=True)
class Configuration:
    """Everything that a curator was started with."""

    datasets: Mapping[str, Dataset]
    askers: Mapping[str, AskerRules] = field(default_factory=dict)
    others: Mapping[Role, Mapping[str, frozenset[str] | None]] = field(default_factory=dict)
    """Approvers, stewards and auditors, each with their data sets; ``None``: all of them."""
    host: str = "127.0.0.1"
    port: int = 8080
    ledger: str = "curator.db"
    """The store of keys and requests: a file or a PostgreSQL database. Ledgers stand beside or in it."""
    answer_after: float = 2.0
    certificate: str | None = None
    private_key: str | None = None
    workers: int = 1
    questions_at_once: int = 2
    rate: int = 120
    most_bytes: int = 1_000_000
    body_seconds: float = 10.0
    memory: int = 4096
    sign_in: SignIn | None = None
    file: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can connect."""
        return is_loopback(self.host)

    def url(self, port: int) -> str:
        """The address of the service when it listens on *port*."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.certificate is None else 'https'}://{host}:{port}"

    def names(self, role: Role) -> frozenset[str]:
        """Who has *role* by the file."""
        return frozenset(self.askers if role is Role.ASKER else self.others.get(role, {}))


# Reading a file: every key is known, and every value has its form.


def read_configuration(path: str | Path, *, ledger: str | None = None, port: int | None = None) -> Configuration:
    """Read ``curator.toml``; paths in it start at its folder. *ledger* and *port* take the place of what it says."""
    try:
        text = Path(path).read_text("utf-8")
    except FileNotFoundError:
        raise InputError("config", str(path), "does not exist", "check the path") from None
    except (OSError, UnicodeDecodeError):
        raise InputError("config", str(path), "cannot be read as UTF-8 text", "check the file and its rights") from None
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise InputError("config", str(path), f"is not TOML ({error})", "correct that line") from None
    said = {name: value for name, value in (("ledger", ledger), ("port", port)) if value is not None}
    return configuration_of(document, Path(path).resolve().parent, file=str(path), **said)


def configuration_of(
    document: Mapping[str, Any], folder: Path, *, file: str | None = None, **said: Any
) -> Configuration:
    """A configuration from the keys of its file; *said* takes the place of keys of ``[service]``."""
    sections = _Table("the configuration", document)
    sections.refuse_others("service", "datasets", "askers", "oidc", *(f"{role}s" for role in Role))
    service = {**sections.get("service", {}, "a table", _is_table), **said}
    settings = _read_service(_Table("service", service), folder)
    datasets = {
        name: _read_dataset(name, _Table(f"datasets.{name}", one), folder, settings["ledger"])
        for name, one in _named(sections, "datasets")
    }
    if not datasets:
        raise InputError("datasets", None, "is missing: a curator needs a data set", "add a table [datasets.NAME]")
    askers = {name: read_asker(name, one, datasets, f"askers.{name}") for name, one in _named(sections, "askers")}
    require_room(askers.values(), datasets)
    others: dict[Role, Mapping[str, frozenset[str] | None]] = {
        role: {
            name: _read_other(_Table(f"{role}s.{name}", one), datasets) for name, one in _named(sections, f"{role}s")
        }
        for role in Role
        if role is not Role.ASKER
    }
    named = sections.get("oidc", None, "a table", _is_table)
    sign_in = None if named is None else _read_sign_in(_Table("oidc", named), folder)
    return Configuration(datasets, askers, others, sign_in=sign_in, file=file, **settings)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


def _is_texts(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_text, value))


def _whole(least: int, most: int) -> Callable[[object], bool]:
    return lambda value: is_whole(value, least, most)


def _seconds(most: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, (int, Decimal, float)) and not isinstance(value, bool) and 0 < value <= most


@dataclass(frozen=True)
class _Table:
    """A table of the file with its name, for whole sentences."""

    place: str
    values: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping):
            raise InputError(self.place, self.values, "is not a table of settings", f"write [{self.place}]")

    def refuse_others(self, *known: str) -> None:
        for name in self.values:
            if name not in known:
                close = get_close_matches(str(name), known, n=1)
                remedy = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
                raise InputError(f"{self.place}.{name}", self.values[name], "is not a setting", remedy)

    def get(self, name: str, otherwise: Any, words: str, fits: Callable[[object], bool]) -> Any:
        value = self.values.get(name)
        if value is None:
            return otherwise
        if not fits(value):
            raise InputError(f"{self.place}.{name}", value, f"is not {words}", f"write {name} as {words}")
        return value

    def need(self, name: str, words: str, fits: Callable[[object], bool]) -> Any:
        if name not in self.values:
            raise InputError(f"{self.place}.{name}", None, "is missing", f"say {words}")
        return self.get(name, None, words, fits)


def _named(sections: _Table, kind: str) -> list[tuple[str, Mapping[str, Any]]]:
    listed = sections.get(kind, {}, "a table of tables", _is_table)
    for name in listed:
        require_name(kind, name)
    return list(listed.items())


def require_name(field: str, name: object) -> str:
    """A name of a person or a data set, or an error that says what one is."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(field, name, _NAME_RULE, "choose another name")
    return name


def _read_service(table: _Table, folder: Path) -> dict[str, Any]:
    known = ("host", "port", "ledger", "answer_after", "certificate", "private_key", "workers", "questions_at_once")
    table.refuse_others(*known, "rate", "most_bytes", "body_seconds", "memory")
    certificate, private_key = (
        table.get(name, None, "the path of a file", _is_text) for name in ("certificate", "private_key")
    )
    if (certificate is None) != (private_key is None):
        rule = "is only one of certificate and private_key"
        raise InputError("service.certificate", certificate, rule, "name both files, or let a proxy do TLS")
    return {
        "host": table.get("host", "127.0.0.1", "an address", _is_text),
        "port": table.get("port", 8080, "a port from 0 to 65535", _whole(0, 65535)),
        "ledger": _located(table.get("ledger", "curator.db", "a path or postgresql://…", _is_text), folder),
        "answer_after": float(table.get("answer_after", 2.0, "a number of seconds up to 3600", _seconds(3600))),
        "certificate": None if certificate is None else str(folder / certificate),
        "private_key": None if private_key is None else str(folder / private_key),
        "workers": table.get("workers", 1, "a number of processes from 1 to 64", _whole(1, 64)),
        "questions_at_once": table.get("questions_at_once", 2, "a whole number from 1 to 64", _whole(1, 64)),
        "rate": table.get("rate", 120, "a number of calls a minute", _whole(1, 10**6)),
        "most_bytes": table.get("most_bytes", 1_000_000, "a number of bytes", _whole(1000, 10**9)),
        "body_seconds": float(table.get("body_seconds", 10.0, "a number of seconds up to 600", _seconds(600))),
        "memory": table.get("memory", 4096, "a number of megabytes from 512 on", _whole(512, 10**7)),
    }


def _read_sign_in(table: _Table, folder: Path) -> SignIn:
    table.refuse_others("issuer", "client_id", "client_secret_file", "address", "claim", "people")
    for name in ("issuer", "address"):
        _require_encrypted(table, name)
    people = table.need("people", 'whose account is whose: people = {"ann@example.org" = "ann"}', _is_table)
    for account, name in people.items():
        require_name(f"oidc.people.{account}", name)
    file = table.get("client_secret_file", None, "the path of a file", _is_text)
    try:
        secret = None if file is None else (folder / file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise InputError("oidc.client_secret_file", file, "cannot be read", "check the file and its rights") from None
    return SignIn(
        table.values["issuer"],
        table.need("client_id", "the name that the provider gave this service", _is_text),
        table.values["address"].rstrip("/"),
        dict(people),
        table.get("claim", "sub", '"sub" or "email"', lambda value: value in ("sub", "email")),
        secret,
    )


def _require_encrypted(table: _Table, name: str) -> None:
    """Who can read or change what is sent there could sign in as anybody."""
    if not is_encrypted(table.need(name, "an address: https://…", _is_text)):
        rule = "is not an address that begins with https:// (http:// is for this machine alone)"
        raise InputError(f"{table.place}.{name}", table.values[name], rule, "write https://…")


def _located(place: str, folder: Path) -> str:
    return place if is_server(place) else str(folder / place)


def _read_dataset(name: str, table: _Table, folder: Path, store: str) -> Dataset:
    table.refuse_others("description", "budget", "composition", "share_answers", "approve_kinds", "ledger")
    description = table.need("description", "the path of the reviewed description", _is_text)
    budget = _Table(f"{table.place}.budget", table.need("budget", "budget = {epsilon = 1}", _is_table))
    budget.refuse_others("epsilon", "delta")
    budget.need("epsilon", "the epsilon of the budget", lambda value: True)
    whole = Budget(_epsilon(budget, "epsilon"), _delta(budget, "delta") or 0)
    if whole.unlimited:
        raise InputError(f"{budget.place}.epsilon", "inf", "is no limit", "give the data set a finite budget")
    composition = table.get(
        "composition", "basic", "basic, or a table of a rule", lambda v: _is_text(v) or _is_table(v)
    )
    kept = table.get("ledger", None, "a path or postgresql://…", _is_text)
    return Dataset(
        name,
        str(folder / description),
        whole,
        read_rule(dict(composition) if isinstance(composition, Mapping) else composition).to_document(),
        _ledger_of(name, store) if kept is None else _located(kept, folder),
        table.get("share_answers", False, "true or false", _is_truth),
        _kinds(table),
    )


def _ledger_of(name: str, store: str) -> str:
    """Where the ledger of a data set is kept: in the database of the store, or beside its file."""
    if is_server(store):
        return f"{store}{'&' if '?' in store else '?'}ledger={name}"
    path = Path(store)
    return str(path.with_name(f"{path.stem}.{name}.ledger"))


def read_asker(name: str, document: object, datasets: Mapping[str, Dataset], place: str) -> AskerRules:
    """What somebody may ask, from the keys of the file or of a call."""
    table = _Table(place, document)  # type: ignore[arg-type]
    table.refuse_others("datasets", "approve_above", "approve_kinds")
    granted = table.need("datasets", "which data sets: datasets = {NAME = {epsilon = 1}}", _is_table)
    for one in granted:
        if one not in datasets:
            raise InputError(f"{place}.datasets", one, "is not a data set", f"the data sets are {', '.join(datasets)}")
    grants = {one: _read_grant(_Table(f"{place}.datasets.{one}", said)) for one, said in granted.items()}
    above = None if "approve_above" not in table.values else _epsilon(table, "approve_above")
    return AskerRules(name, grants, above, _kinds(table))


def _read_grant(table: _Table) -> Grant:
    table.refuse_others("epsilon", "delta", "per", "shared")
    shared = table.get("shared", False, "true or false", _is_truth)
    if "epsilon" not in table.values and not shared:
        remedy = "write epsilon = 1, or shared = true to share the data set's budget with others"
        raise InputError(f"{table.place}.epsilon", None, "is missing", remedy)
    epsilon = _epsilon(table, "epsilon") if "epsilon" in table.values else None
    per = table.get("per", None, '"month"', lambda value: value == "month")
    if epsilon is None and (per is not None or "delta" in table.values):
        raise InputError(table.place, dict(table.values), "limits nothing without an epsilon", "write epsilon = 1")
    return Grant(epsilon, _delta(table, "delta"), per, shared)


def _read_other(table: _Table, datasets: Mapping[str, Dataset]) -> frozenset[str] | None:
    table.refuse_others("datasets")
    named = table.get("datasets", None, "a list of data sets", _is_texts)
    for one in named or ():
        if one not in datasets:
            raise InputError(f"{table.place}.datasets", one, "is not a data set", f"known are {', '.join(datasets)}")
    return None if named is None else frozenset(named)


def _epsilon(table: _Table, name: str) -> Epsilon:
    try:
        return Epsilon.read(table.values[name], name=name)
    except LevelError as error:
        raise InputError(f"{table.place}.{name}", error.value, error.rule, error.remedy) from None


def _delta(table: _Table, name: str) -> Fraction | None:
    if name not in table.values:
        return None
    return read_probability(table.values[name], name=f"{table.place}.{name}", error=InputError)


def _kinds(table: _Table) -> frozenset[str]:
    from optimaldp.questions.forms import forms

    known = [*(name for name in forms() if name != "crosstab"), SANITISE]  # a cross table is written histogram
    named = table.get("approve_kinds", [], "a list of kinds of questions", _is_texts)
    for kind in named:
        if kind not in known:
            raise InputError(
                f"{table.place}.approve_kinds", kind, "is not a kind of question", f"known are {', '.join(known)}"
            )
    return frozenset(named)


def require_room(askers: Any, datasets: Mapping[str, Dataset]) -> None:
    """Budgets of askers add up to no more than the data set's, except where they are declared to be shared."""
    for dataset in datasets.values():
        own = [one.datasets[dataset.name] for one in askers if dataset.name in one.datasets]
        own = [grant for grant in own if not grant.shared]
        epsilon = sum((grant.epsilon for grant in own if grant.epsilon is not None), start=ZERO)
        delta = sum((grant.delta for grant in own if grant.delta is not None), start=Fraction(0))
        whole = dataset.budget
        if epsilon > whole.epsilon or delta > whole.delta:
            together = f"epsilon {readable(epsilon)}" if epsilon > whole.epsilon else f"delta {fraction_text(delta)}"
            rule = f"has the budget {budget_words(whole.epsilon, whole.delta)}, and its askers have {together} together"
            raise InputError("datasets", dataset.name, rule, "give less to each, or declare shared = true")
