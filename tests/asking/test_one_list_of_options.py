"""The options of a question are declared once, in Ask: this is the one test that finds a place which forgot one."""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typer

import optimaldp as odp
from optimaldp.asking import ask as ask_module
from optimaldp.asking.ask import FIELDS, READING_FIELDS, Ask, AskOptions, from_json, key_of, meaning_of
from optimaldp.asking.checking import check_request
from optimaldp.asking.plans import _QUESTION, _TOP, Plan, parse_plan
from optimaldp.asking.session import OpenTable
from optimaldp.cli import COMMANDS, app
from optimaldp.cli.options import flag_of
from optimaldp.studio.desk import OPTIONS

OF_TABLE = {name for name in FIELDS if meaning_of(name).of_table}
ALONE = {"question", "by", "groups", "public_groups", "groups_per_person", "aim"}
"""What a sanitised table does not have: it is one answer to everybody, and its law has one aim."""


def commands() -> dict[str, Any]:
    for name in COMMANDS:
        import_module(f"optimaldp.cli.{name}")
    group: Any = typer.main.get_command(app)
    found = dict(group.commands)
    found |= {
        f"{name} {inner}": one for name, whole in found.items() for inner, one in getattr(whole, "commands", {}).items()
    }
    return found


def flags(command: Any) -> set[str]:
    return {flag for parameter in command.params for flag in parameter.opts}


def signature(function: Any) -> set[str]:
    return set(inspect.signature(function).parameters)


def document() -> dict[str, Any]:
    table = pa.table({"smokes": ["yes", "no"] * 20})
    made: dict[str, Any] = json.loads(odp.release(table, "majority(smokes = 'yes')", epsilon=1).to_json())
    return made


def forgotten(names: set[str]) -> dict[str, set[str]]:
    """Which of *names* each place does not know."""
    every, of_table = names, names & OF_TABLE | names - set(FIELDS)
    typed = {name: flag_of(name) if name in FIELDS else f"--{name}" for name in names}
    known: dict[str, tuple[set[str], set[str]]] = {
        "readers of types": (every - {"question"}, set(AskOptions.__annotations__)),
        "odp.release": (every, signature(odp.release)),
        "table.ask": (every, signature(OpenTable.ask)),
        "odp.preview": (every, signature(odp.preview)),
        "table.preview": (every, signature(OpenTable.preview)),
        "check_request": (every, signature(check_request)),
        "odp.open": (of_table, signature(odp.open)),
        "odp.sanitise": (every - ALONE, signature(odp.sanitise)),
        "a plan": (every - {"question"}, _TOP | _QUESTION),
        "a plan's fields": (of_table, signature(Plan)),
        "a form of the studio": (every - {"question", "epsilon"} - OF_TABLE, set(OPTIONS)),
        "a document": ({key_of(name) if name in FIELDS else name for name in every}, set(document())),
    }
    for name, command in commands().items():
        own = flags(command)
        wanted = {"release": every, "preview": every, "sanitise": every - ALONE, "ledger create": of_table}.get(name)
        if wanted is None and "--data" in own:
            wanted = of_table & set(READING_FIELDS) | names - set(FIELDS)
        known[f"optimaldp {name}"] = ({typed[one] for one in wanted or ()}, own)
    return {place: wanted - there for place, (wanted, there) in known.items() if wanted - there}


def test_every_place_knows_every_option() -> None:
    assert forgotten(set(FIELDS)) == {}


def test_a_new_option_would_be_missed_everywhere() -> None:
    missed = forgotten({*FIELDS, "mood"})
    assert set(missed) >= {"readers of types", "odp.release", "odp.open", "odp.sanitise", "a plan", "a document"}
    assert {"optimaldp release", "optimaldp preview", "optimaldp sanitise", "optimaldp ledger create"} <= set(missed)


WRITTEN: dict[str, Any] = {
    "question": "mean(cost, range=[0, 5], step=1) >= 3",
    "epsilon": "0.5",
    "delta": "1e-6",
    "neighbours": "substitution",
    "unit": "patient",
    "reduce": {"cost": "mean"},
    "reduce_order": "day",
    "where": "age >= 18",
    "by": "ward",
    "groups": ["n", "s"],
    "public_groups": True,
    "groups_per_person": 2,
    "levels": "trust",
    "aim": "every-table",
    "part": "north",
    "types": {"cost": "number 1,234.5"},
    "delimiter": ";",
    "encoding": "latin-1",
    "description": "hospital.datapackage.json",
}


def test_an_ask_survives_a_plan_and_a_document() -> None:
    assert set(WRITTEN) == set(FIELDS), "one value for each field"
    said = from_json(WRITTEN, remedy="", keys=False)
    assert said == Ask(**{**WRITTEN, "groups": ("n", "s")})
    assert from_json({key_of(name): value for name, value in WRITTEN.items()}, remedy="") == said
    one = {name: value for name, value in WRITTEN.items() if name not in {*OF_TABLE, "question"}}
    plan = Plan("t.csv", ({"text": WRITTEN["question"], **one},), **{name: WRITTEN[name] for name in OF_TABLE})
    assert parse_plan(plan.to_toml()) == plan
    assert parse_plan(plan.to_toml()).asks() == [said]


@pytest.mark.parametrize("name", FIELDS)
def test_a_value_of_another_form_is_refused_by_its_name(name: str) -> None:
    wrong: Any = 3.5 if meaning_of(name).form in (ask_module.TEXT, ask_module.PART) else [["x"]]
    if meaning_of(name).form is ask_module.LIST:
        wrong = "x"
    with pytest.raises(odp.errors.InputError, match=key_of(name)):
        from_json({**{key_of(n): v for n, v in WRITTEN.items()}, key_of(name): wrong}, remedy="write it right")


def test_what_was_said_stands_in_the_document_and_is_read_back(tmp_path: Path) -> None:
    """Two releases that read 1.500 as 1500 and as 1.5 have different documents, and both verify."""
    table = tmp_path / "t.csv"
    table.write_bytes("région;cost\nn;1.500\ns;2.000\nn;3.000\n".encode("latin-1"))
    question = "mean(cost, range=[0, 5], step=1) >= 3"
    readings = ({"types": {"cost": "number 1,234.5"}}, {"types": {"cost": "number 1.234,5"}})
    documents = []
    for reading in readings:
        made = odp.release(table, question, epsilon=1, encoding="latin-1", delimiter=";", **reading)
        documents.append(made.to_document())
        assert odp.verify(made)
        assert documents[-1]["encoding"] == "latin-1"
        assert documents[-1]["delimiter"] == ";"
        assert documents[-1]["types"] == reading["types"]
        assert documents[-1]["meaning"] == ask_module.MEANING


def test_an_answer_is_not_replayed_for_cells_that_are_read_otherwise(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("cost\n" + "1.500\n" * 40)
    ledger = tmp_path / "t.ledger"
    question = "mean(cost, range=[0, 2000], step=1) >= 100"
    with odp.open(table, ledger=ledger, budget=odp.Budget(100)):
        pass
    first = odp.release(table, question, epsilon=20, ledger=ledger, types={"cost": "number 1,234.5"})
    again = odp.release(table, question, epsilon=20, ledger=ledger, types={"cost": "number 1,234.5"})
    with pytest.warns(odp.errors.PaidRepeatWarning):
        other = odp.release(table, question, epsilon=20, ledger=ledger, types={"cost": "number 1.234,5"})
    assert [one.recorded for one in (first, again, other)] == [False, True, False]
    assert [first.answer, other.answer] == ["no", "yes"]
