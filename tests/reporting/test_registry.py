"""The record for the public registry: its own schema accepts it, it says what is public, and blanks are marked."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow
import pytest
import yaml
from command_line import run_cli
from hypothesis import example, given
from hypothesis import strategies as st

import optimaldp as odp
from optimaldp.errors import InputError
from optimaldp.ledger import Budget
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.questions.claims import CLAIMS, COMPARISONS, optimality_sentence
from optimaldp.reporting.registry import (
    BLANK,
    claimed,
    number_at_least,
    registry_record,
    write_registry_record,
    yaml_text,
)

# The registry's own file, with its licence beside it.
SCHEMA = yaml.safe_load((Path(__file__).parents[1] / "fixtures/registry/deployments-schema.yaml").read_text("utf-8"))
TABLE = pyarrow.table(
    {
        "smokes": ["yes"] * 300 + ["no"] * 700,
        "ward": (["a"] * 5 + ["b"] * 5) * 100,
        "age": [20 + i % 60 for i in range(1000)],
        "level": ["1"] * 400 + ["0.5"] * 600,
    }
)
ALL_FIELDS = {
    "url_slug": "survey-2026",
    "name": "A survey",
    "data_curators": "The clinic; The city",
    "description": "Answers about smoking.",
    "intended_use": "Planning.",
    "data_product_type": "Summary statistics",
    "data_product_region": "Nowhere",
    "publication_date": "2026-05-31",
    "data_product_sector": "Healthcare",
    "data_source_type": "Static",
    "access_type": "Non-interactive",
    "access_type_details": "Everybody.",
    "preprocessing_and_hyperparameter_tuning": "None.",
    "justification": "A board decided.",
    "sources": "None.",
    "registry_authors": "A steward",
}


def accepts(record: object) -> None:
    checker = jsonschema.FormatChecker(["date"])
    jsonschema.Draft202012Validator(SCHEMA, format_checker=checker).validate(record)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("registry") / "survey.ledger"
    with odp.open(TABLE, ledger=path, budget=Budget(epsilon=10), dataset="Survey: <2026>") as table:
        table.ask("share(smokes = 'yes') >= 0.9", epsilon="0.3")
        table.ask("histogram(smokes, ['yes', 'no'])", epsilon=1)
        table.ask("majority(age < 150)", epsilon=2, by="ward", groups=["a", "b"])
    return path


def test_the_registrys_schema_accepts_the_record_of_a_ledger(ledger: Path, tmp_path: Path) -> None:
    output = tmp_path / "record.yaml"
    ran = run_cli(
        "report", "--ledger", str(ledger), "--registry", str(output), "--field", "intended_use=Planning: wards"
    )
    assert (ran.code, ran.stdout.strip()) == (0, str(output)), ran.stderr
    record = yaml.safe_load(output.read_text("utf-8"))
    accepts(record)
    assert record == registry_record(ledger, fields={"intended_use": "Planning: wards"})
    deployment = record["deployment"]
    assert record["url_slug"] == "survey-2026"
    assert deployment["basic"]["name"] == "Survey: <2026>"
    assert deployment["dp_variant"]["variant_name"] == "Pure DP"
    assert "The number of people is public (1,000)." in deployment["dp_variant"]["unprotected_quantities"]
    assert "['a', 'b']" in deployment["dp_variant"]["unprotected_quantities"]
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 3.3}
    assert "stays the same" in deployment["privacy_loss"]["privacy_unit_details"]
    assert deployment["deployment_model"]["model_name"] == "Central"
    assert "Histograms were mapped after the noise (" in deployment["accounting"]["post_processing"]
    mechanisms = deployment["implementation"]["mechanisms"]
    assert optimality_sentence("chain") in mechanisms
    assert optimality_sentence("lattice noise") in mechanisms
    assert "no float decides an answer" in mechanisms


def test_blanks_are_marked_and_the_notes_name_every_one(ledger: Path) -> None:
    deployment = registry_record(ledger)["deployment"]
    notes = deployment["administrative"]["notes"]
    for section, content in deployment.items():
        for name, value in content.items():
            assert (BLANK in str(value)) == (f"{section}.{name}," in notes) or name == "notes"
    for section in ("basic.intended_use", "basic.data_curators", "deployment_model.access_type (", "registry_authors"):
        assert section in notes
    filled = registry_record(ledger, fields=ALL_FIELDS)
    accepts(filled)
    assert filled["url_slug"] == "survey-2026"
    own = filled["deployment"]
    assert own["basic"]["data_curators"] == ["The clinic", "The city"]
    given = {name: own[section][name] for section in own for name in ALL_FIELDS if name in own[section]}
    assert BLANK not in str(given)
    assert set(given) == set(ALL_FIELDS) - {"url_slug"}


@pytest.mark.parametrize(
    "fields",
    [
        {"colour": "red"},
        {"intended_use": " "},
        {"access_type": "Open"},
        {"publication_date": "May"},
        {"url_slug": "a/b"},
    ],
)
def test_a_wrong_field_is_told_and_nothing_is_written(ledger: Path, tmp_path: Path, fields: dict[str, str]) -> None:
    with pytest.raises(InputError, match="field"):
        write_registry_record(ledger, tmp_path / "record.yaml", fields=fields)
    assert list(tmp_path.iterdir()) == []


def test_the_command_needs_something_to_write(ledger: Path, tmp_path: Path) -> None:
    for wrong in (
        (),
        ("--registry", str(tmp_path / "record.txt")),
        ("--registry", str(tmp_path / "r.yaml"), "--field", "name"),
        ("--registry", str(tmp_path / "r.yaml"), "--field", "name=a", "--field", "name=b"),
        ("--output", str(tmp_path / "r.html"), "--field", "name=a"),
    ):
        ran = run_cli("report", "--ledger", str(ledger), *wrong)
        assert ran.code == 2
        assert ran.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    both = ("--registry", str(tmp_path / "r.yaml"), "--output", str(tmp_path / "r.html"))
    assert run_cli("report", "--ledger", str(ledger), *both).code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"r.yaml", "r.html"}


def test_documents_with_delta_units_and_private_size() -> None:
    asked: dict[str, Any] = {"epsilon": "ln(3)", "delta": "1e-6", "neighbours": "add-remove"}
    made = [odp.release(TABLE, "count(smokes = 'yes')", **asked), odp.release(TABLE, "majority(age < 150)", **asked)]
    record = registry_record(documents=made)
    accepts(record)
    deployment = record["deployment"]
    assert deployment["dp_variant"]["variant_name"] == "Approximate DP"
    assert "The number of people is protected." in deployment["dp_variant"]["unprotected_quantities"]
    assert "1,000" not in json.dumps(record)
    assert "1000" not in json.dumps(record)
    assert "added or removed" in deployment["privacy_loss"]["privacy_unit_details"]
    parameters = deployment["privacy_loss"]["privacy_parameters"]
    assert parameters["delta"] == "1e-06"  # the count has no use for delta
    assert 2.19722457733 < parameters["epsilon"] < 2.19722457734


def test_personal_levels_are_named_as_public() -> None:
    made = odp.release(TABLE, "share(smokes = 'yes') >= 0.9", levels="level", epsilon=1)
    record = registry_record(documents=[made])
    accepts(record)
    public = record["deployment"]["dp_variant"]["unprotected_quantities"]
    assert "own privacy level is public" in public
    assert "400 people" in public
    assert record["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}


def test_a_record_is_refused_where_it_would_not_be_true(tmp_path: Path) -> None:
    document = odp.release(TABLE, "share(smokes = 'yes') >= 0.9", epsilon=1).to_document()
    changed = copy.deepcopy(document)
    changed["mechanism"]["epsilon"] = "0.1"
    with pytest.raises(InputError, match="not confirmed"):
        registry_record(documents=[changed])
    other = odp.release(TABLE, "majority(age < 150)", epsilon=1, neighbours="add-remove")
    with pytest.raises(InputError, match="same people"):
        registry_record(documents=[document, other])
    path = tmp_path / "empty.ledger"
    odp.open(TABLE, ledger=path, budget=Budget(epsilon=1)).close()
    with pytest.raises(InputError, match="no entry"):
        registry_record(path)


def test_only_claims_of_the_table_are_printed() -> None:
    for key, claim in CLAIMS.items():
        assert claimed(optimality_sentence(key)) == f"{claim.sentence()} ({claim.reference})"
    for key in COMPARISONS:
        assert claimed(optimality_sentence(key)) == optimality_sentence(key)
    assert claimed("the best of all mechanisms") == claimed(None) == "not claimed"


@pytest.mark.long
@example("\n\x01")
@given(
    st.recursive(
        st.text() | st.floats(0, 1e20) | st.integers(),
        lambda own: st.dictionaries(st.from_regex("[a-z]{2,5}_", fullmatch=True), own),
    )
)
def test_what_is_written_is_what_a_yaml_reader_reads(value: object) -> None:
    content = {"own": value, "many": [str(value), "x\n\n- y: `z` # $"]}
    assert yaml.safe_load(yaml_text(content)) == content


@given(st.fractions(0, 20))
def test_an_epsilon_is_never_understated(exact: Any) -> None:
    shown = number_at_least(Epsilon.read(str(exact)))
    assert Epsilon.read(repr(shown)) >= Epsilon.read(str(exact))
    assert shown <= float(exact) * (1 + 1e-15) + 1e-300
