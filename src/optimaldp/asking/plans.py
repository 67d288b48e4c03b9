"""Plan files: a table, who counts as a person, a budget and questions, written down once, priced and then released.

source = "survey.csv"
unit = "patient"
neighbours = "substitution"
ledger = "survey.ledger"
budget = { epsilon = "3", delta = "1e-6" }

[[question]]
text = "share(smokes = 'yes' among age >= 18) >= 0.3"
epsilon = "0.5"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from optimaldp.asking.ask import FIELDS, MEANING, READING_FIELDS, Ask, from_json, meaning_of
from optimaldp.asking.checking import check_ask
from optimaldp.asking.previewing import preview_of
from optimaldp.asking.releasing import release_each
from optimaldp.asking.result import Release
from optimaldp.asking.session import open_table
from optimaldp.documents.toml_text import toml_key, toml_value
from optimaldp.errors import BudgetError, InputError, NoMarginError
from optimaldp.ledger import Budget, Charge, Ledger, ledger_exists, open_ledger
from optimaldp.ledger.ledger import AS_STORED
from optimaldp.privacy import Epsilon
from optimaldp.privacy.numbers import fraction_text

_OF_TABLE = tuple(name for name in FIELDS if meaning_of(name).of_table)
_TOP = {"source", "ledger", "budget", "n", "question", "dataset", "meaning", *_OF_TABLE}
_QUESTION = {"text", "level_sizes", *FIELDS} - {"question", *_OF_TABLE}


@dataclass(frozen=True)
class Plan:
    """What a plan file says, checked for unknown names."""

    source: str
    questions: tuple[Mapping[str, Any], ...]
    unit: str | None = None
    neighbours: str | None = None
    ledger: str | None = None
    budget: Mapping[str, Any] | None = None
    types: Mapping[str, str] | None = None
    delimiter: str | None = None
    encoding: str | None = None
    description: str | None = None
    n: int | None = None
    dataset: str | None = None
    meaning: int = 1
    """Which version of meaning its questions have; plans of version 0.2 say none and mean 1."""
    folder: Path = field(default_factory=Path)

    def place(self, name: str) -> str:
        """A path in the plan is meant beside the plan."""
        return name if "://" in name else str(self.folder / name)

    @property
    def reading(self) -> dict[str, Any]:
        """How the cells of the source are read, as far as the plan says so."""
        said = {name: getattr(self, name) for name in READING_FIELDS}
        if said["description"] is not None:
            said["description"] = self.place(said["description"])
        return {name: value for name, value in said.items() if value is not None}

    def asks(self) -> list[Ask]:
        """The questions of the plan, each with what the plan says of the table."""
        of_table = {"unit": self.unit, "neighbours": self.neighbours, **self.reading}
        return [
            from_json(dict(one) | of_table | {"question": one["text"]}, remedy="correct the plan", keys=False)
            for one in self.questions
        ]

    def to_toml(self) -> str:
        """The plan as the text of a plan file: ``parse_plan(plan.to_toml()) == plan``, but for the folder."""
        names = ("source", "meaning", "ledger", "dataset", "n", "budget", *_OF_TABLE)
        top = [f"{name} = {toml_value(getattr(self, name))}" for name in names if getattr(self, name) is not None]
        questions = [
            "\n[[question]]\n" + "\n".join(f"{toml_key(name)} = {toml_value(value)}" for name, value in one.items())
            for one in self.questions
        ]
        return "\n".join([*top, *questions]) + "\n"


def read_plan(path: str | Path) -> Plan:
    """Read a plan file (TOML)."""
    file = Path(path)
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        raise InputError("plan", str(path), f"cannot be read ({error.strerror})", "check the path") from None
    except UnicodeDecodeError as error:
        raise InputError("plan", str(path), f"is not TOML ({error})", "see docs/questions.md for an example") from None
    return parse_plan(text, name=str(path), folder=file.parent)


def parse_plan(text: str, *, name: str = "the plan", folder: Path | None = None) -> Plan:
    """A plan from the text of its file; *folder* is where its paths begin."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError("plan", name, f"is not TOML ({error})", "see docs/questions.md for an example") from None
    except RecursionError:
        raise InputError("plan", name, "is nested too deeply", "see docs/questions.md for an example") from None
    except ValueError:
        raise InputError("plan", name, "holds a number with too many digits", "write a shorter number") from None
    _known(content, _TOP, "plan")
    questions = content.get("question")
    if "source" not in content or not isinstance(questions, list) or not questions:
        remedy = "write source = '...' and at least one [[question]] with text and epsilon"
        raise InputError("plan", name, "names no source or no question", remedy)
    for question in questions:
        _known(question, _QUESTION, "question")
        if not {"text", "epsilon"} <= set(question):
            raise InputError("question", question, "has no text or no epsilon", "there is no default epsilon")
    if type(content.get("meaning", 1)) is not int or not 1 <= content.get("meaning", 1) <= MEANING:
        remedy = f"this version knows the meanings 1 to {MEANING}"
        raise InputError("meaning", content["meaning"], "is not a version of meaning", remedy)
    options = {key: content[key] for key in content if key not in ("source", "question")}
    return Plan(str(content["source"]), tuple(questions), **options, folder=folder or Path())


def _known(table: object, names: set[str], what: str) -> None:
    if not isinstance(table, Mapping):
        raise InputError(what, table, "is not a table of names and values", "see docs/questions.md for an example")
    if unknown := sorted(set(table) - names):
        raise InputError(what, unknown[0], "is not a name that a plan knows", f"known are: {', '.join(sorted(names))}")


def preview_plan(plan: Plan) -> dict[str, Any]:
    """What the plan would cost and how reliable its answers would be. Reads no row and spends nothing."""
    shown, charges = [], []
    total, delta = Epsilon.read(0), Fraction(0)
    for ask, question in zip(plan.asks(), plan.questions):
        sizes = question.get("level_sizes")
        unread = replace(ask, levels=None, part=None)
        request = check_ask(unread, data=plan.place(plan.source), personal=sizes is not None)
        total, delta = total + request.level.epsilon, delta + request.level.delta
        charges.append(Charge(request.text, request.level))
        try:
            shown.append(preview_of(request, n=plan.n, level_sizes=sizes).to_document())
        except NoMarginError as error:
            price = {"epsilon": str(request.level.epsilon), "delta": fraction_text(request.level.delta)}
            shown.append({"question": str(request.question), **price, "notes": [str(error)]})
    priced: dict[str, Any] = {"epsilon": str(total), "delta": fraction_text(delta), "budget": plan.budget}
    return {**priced, **_covered(plan, charges, total, delta), "questions": shown}


def _covered(plan: Plan, charges: Sequence[Charge], epsilon: Epsilon, delta: Fraction) -> dict[str, Any]:
    """What is left now, and whether it pays for everything if nothing is on record: of the ledger, or of a budget to come."""
    if plan.ledger is not None and ledger_exists(plan.place(plan.ledger)):
        with open_ledger(plan.place(plan.ledger), readonly=True) as book:
            return {"remaining": book.remaining().to_document(), "covered": _pays(book, charges)}
    if plan.budget is None:
        return {"remaining": None, "covered": None}
    budget = Budget(**plan.budget)
    return {"remaining": None, "covered": budget.unlimited or (epsilon <= budget.epsilon and delta <= budget.delta)}


def _pays(book: Ledger, charges: Sequence[Charge]) -> bool:
    try:
        book.require_together(charges)
    except BudgetError:
        return False
    return True


def release_plan(plan: Plan) -> list[Release]:
    """Release every question of the plan: all are checked, then charged together or not at all."""
    source = plan.place(plan.source)
    if plan.ledger is None:
        return release_each(source, plan.asks())
    with open_table(
        source,
        ledger=plan.place(plan.ledger),
        budget=None if plan.budget is None else Budget(**plan.budget),
        dataset=plan.dataset,
        neighbours=plan.neighbours,
        unit=AS_STORED if plan.unit is None else plan.unit,
        **plan.reading,
    ) as table:
        return release_each(source, plan.asks(), ledger=table.ledger)
