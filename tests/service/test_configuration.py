"""The file of a curator: what it says is kept exactly, and what it may not say is refused with a whole sentence."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from running import SETTINGS, merged, write_data

from optimaldp.errors import InputError, LedgerError, TableError
from optimaldp.ledger import Budget
from optimaldp.privacy import Epsilon
from optimaldp.service.configuration import Role, configuration_of, read_configuration
from optimaldp.service.desk import CuratorDesk

DOCUMENTED = """
[service]
host = "127.0.0.1"
port = 8080
ledger = "curator.db"                     # or postgresql://…
answer_after = 2.0                        # seconds

[datasets.hospital]
description = "hospital.datapackage.json"
budget = {epsilon = 3, delta = 1e-6}
share_answers = true

[askers.ann]
datasets = {hospital = {epsilon = 1, per = "month"}}
approve_above = 0.5                       # a larger level waits for an approver
"""


def test_the_documented_file(tmp_path: Path) -> None:
    path = tmp_path / "curator.toml"
    path.write_text(DOCUMENTED)
    read = read_configuration(path)
    hospital, ann = read.datasets["hospital"], read.askers["ann"]
    assert (read.host, read.port, read.answer_after, read.is_local) == ("127.0.0.1", 8080, 2.0, True)
    assert hospital.budget == Budget(3, Fraction(1, 10**6))
    assert hospital.share_answers
    assert hospital.ledger == str(tmp_path / "curator.hospital.ledger")
    assert ann.approve_above == Epsilon.read("1/2")
    assert (ann.datasets["hospital"].epsilon, ann.datasets["hospital"].per) == (Epsilon.read(1), "month")
    assert read.names(Role.ASKER) == {"ann"}
    server = read_configuration(path, ledger="postgresql://u@h/d", port=9)
    assert (server.port, server.datasets["hospital"].ledger) == (9, "postgresql://u@h/d?ledger=hospital")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"service": {"prot": 1}}, r"service.prot: 1 is not a setting; did you mean port\?"),
        ({"service": {"port": 70000}}, "service.port: 70000 is not a port"),
        ({"service": {"answer_after": 0}}, "service.answer_after: 0 is not a number of seconds"),
        ({"service": {"certificate": "c.pem"}}, "is only one of certificate and private_key"),
        ({"people": {}}, "the configuration.people"),
        ({"datasets": None}, "a curator needs a data set"),
        ({"datasets": {"hospital": {"budget": None}}}, "datasets.hospital.budget is missing"),
        ({"datasets": {"hospital": {"budget": {"epsilon": -1}}}}, "datasets.hospital.budget.epsilon: -1"),
        ({"datasets": {"hospital": {"budget": {"epsilon": "inf"}}}}, "is no limit"),
        ({"datasets": {"hospital": {"budget": {"delta": 2}}}}, "datasets.hospital.budget.delta: 2"),
        ({"datasets": {"hospital": {"approve_kinds": ["crosstab"]}}}, "'crosstab' is not a kind of question"),
        ({"datasets": {"hospital": {"share_answers": "yes"}}}, "is not true or false"),
        ({"datasets": {"a/b": {}}}, "'a/b' is not a name"),
        ({"askers": {"ann": {"datasets": None}}}, "askers.ann.datasets is missing"),
        ({"askers": {"ann": {"datasets": {"other": {"epsilon": 1}}}}}, "'other' is not a data set"),
        ({"askers": {"ann": {"datasets": {"hospital": {"epsilon": None}}}}}, "epsilon is missing"),
        ({"askers": {"ann": {"datasets": {"hospital": {"per": "week"}}}}}, "per: 'week' is not \"month\""),
        ({"askers": {"ann": {"datasets": {"hospital": {"epsilon": "1.001"}}}}}, "have epsilon 3.001 together"),
        ({"askers": {"ann": {"datasets": {"hospital": {"delta": "1e-5"}}}}}, "have delta 1e-05 together"),
        ({"askers": {"ann": {"key": "secret"}}}, "askers.ann.key"),
        ({"approvers": {"dora": {"datasets": ["x"]}}}, "'x' is not a data set"),
    ],
)
def test_what_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    configuration_of(SETTINGS, tmp_path)
    with pytest.raises(InputError, match=words):
        configuration_of(merged(SETTINGS, changes), tmp_path)


def test_shared_budgets_may_add_up_to_more(tmp_path: Path) -> None:
    more = {"askers": {"ann": {"datasets": {"hospital": {"epsilon": 3, "shared": True}}}}}
    read = configuration_of(merged(SETTINGS, more), tmp_path)
    assert read.askers["ann"].datasets["hospital"].budget(Budget(3)) == Budget(3)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('"reviewed": true', '"reviewed": false', "is not reviewed"),
        ('"name": "age"', '"name": "years"', "is not a column"),
        ("patients.csv", "nowhere.csv", "nowhere.csv"),
    ],
)
def test_sources_are_validated_when_they_are_registered(tmp_path: Path, before: str, after: str, words: str) -> None:
    write_data(tmp_path)
    described = tmp_path / "hospital.datapackage.json"
    described.write_text(described.read_text().replace(before, after))
    with pytest.raises(TableError, match=words):
        CuratorDesk(configuration_of(SETTINGS, tmp_path))


def test_a_table_without_a_description_is_refused(tmp_path: Path) -> None:
    write_data(tmp_path)
    more = {"datasets": {"hospital": {"description": "patients.csv"}}}
    with pytest.raises(InputError, match="is not named like a description"):
        CuratorDesk(configuration_of(merged(SETTINGS, more), tmp_path))


def test_another_budget_than_the_ledger_remembers_is_refused(tmp_path: Path) -> None:
    write_data(tmp_path)
    CuratorDesk(configuration_of(SETTINGS, tmp_path)).close()
    more = {"datasets": {"hospital": {"budget": {"epsilon": 30}}}}
    with pytest.raises(LedgerError, match="was opened with budget"):
        CuratorDesk(configuration_of(merged(SETTINGS, more), tmp_path))
