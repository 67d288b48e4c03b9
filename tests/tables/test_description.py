"""The description of a table: read, checked, hashed, and the way its cells are read by it."""

from __future__ import annotations

import copy
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from optimaldp.errors import QuestionError, TableError
from optimaldp.tables import Condition, Options, People, Tally, count_people, open_source
from optimaldp.tables.description import parse_description, read_description

HOSPITAL: dict[str, Any] = {
    "name": "hospital",
    "licenses": [{"name": "CC0"}],
    "resources": [
        {
            "name": "patients",
            "path": "patients.csv",
            "encoding": "latin-1",
            "dialect": {"delimiter": ";"},
            "schema": {
                "missingValues": ["", "n/a"],
                "fields": [
                    {"name": "patient_id", "type": "string"},
                    {"name": "ward", "type": "string", "constraints": {"enum": ["Cardiology", "Chirurgie à jour"]}},
                    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 110, "required": True}},
                    {"name": "cost", "type": "number", "decimalChar": ",", "groupChar": "."},
                    {"name": "smokes", "type": "boolean", "trueValues": ["ja"], "falseValues": ["nein"]},
                    {"name": "admitted", "type": "date", "format": "%d.%m.%Y"},
                ],
            },
        }
    ],
    "optimaldp": {"person": "patient_id", "neighbours": "substitution", "reviewed": True, "reduce": {"cost": "sum"}},
}
ROWS = (
    "patient_id;ward;age;cost;smokes;admitted\n"
    "P1;Cardiology;40;1.234,56;ja;31.12.2024\n"
    "P2;Chirurgie à jour;n/a;1234,56;nein;01.01.2025\n"
    "P3;n/a;x;1,234.56;JA;2024-12-31\n"
)


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    (tmp_path / "patients.csv").write_text(ROWS, encoding="latin-1")
    return written(tmp_path, HOSPITAL)


def written(folder: Path, document: object) -> Path:
    file = folder / "hospital.datapackage.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def changed(path: str, value: object) -> dict[str, Any]:
    """HOSPITAL with one key set; a key of a field as field.NAME.KEY."""
    document = copy.deepcopy(HOSPITAL)
    *way, last = path.split(".")
    place: Any = document
    for word in way:
        if word == "resource":
            place = place["resources"][0]
        elif isinstance(place, list):
            place = next(one for one in place if one["name"] == word)
        elif word == "field":
            place = place["resources"][0]["schema"]["fields"]
        else:
            place = place[word]
    place[last] = value
    return document


def yes(file: Path, condition: str) -> int:
    return count_people(open_source(file), Tally((Condition(condition),))).counts[0]


@pytest.mark.parametrize(
    ("condition", "people"),
    [
        ("cost >= 1234.5", 2),
        ("cost is null", 1),
        ("smokes", 1),
        ("smokes is null", 1),
        ("admitted = date '2024-12-31'", 1),
        ("admitted is null", 1),
        ("ward is null", 1),
        ("age = 0", 2),  # required: what is missing or unreadable is read as the minimum
        ("age is null", 0),
    ],
)
def test_cells_are_read_as_described(hospital: Path, condition: str, people: int) -> None:
    assert yes(hospital, condition) == people


def test_the_enum_lists_the_options(hospital: Path) -> None:
    assert count_people(open_source(hospital), Tally((Options("ward", None),))).counts == (1, 1, 1)


def test_a_required_enum_leaves_nobody_out(hospital: Path) -> None:
    enum = {"enum": ["Chirurgie à jour", "Cardiology"], "required": True}
    written(hospital.parent, changed("field.ward.constraints", enum))
    opened = open_source(hospital)
    assert opened.schema["ward"].required
    assert count_people(opened, Tally((Options("ward", None),))).counts == (2, 1, 0)


def test_an_unreviewed_description_opens_nothing(hospital: Path) -> None:
    written(hospital.parent, changed("optimaldp.reviewed", False))
    with pytest.raises(TableError, match="not reviewed"):
        open_source(hospital)
    assert open_source(hospital, unreviewed=True).description is not None


def test_a_missing_column_is_refused_before_a_record_is_read(hospital: Path) -> None:
    written(hospital.parent, changed("field.smokes.name", "smoke"))
    (hospital.parent / "patients.csv").write_bytes(ROWS.split("\n")[0].encode() + b"\n" + b"\xff" * 99)
    with pytest.raises(TableError, match="'smoke' is not a column"):
        open_source(hospital)


def test_the_hash_is_that_of_the_keys_not_of_the_format(hospital: Path) -> None:
    made = read_description(hospital)
    turned = json.loads(json.dumps(HOSPITAL), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert parse_description(turned).hash == made.hash
    assert parse_description(changed("optimaldp.person", None)).hash != made.hash
    assert made.document["licenses"] == [{"name": "CC0"}]


def test_toml_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "p.datapackage.toml"
    file.write_text(
        '[[resources]]\npath = "p.csv"\n[resources.schema]\nfields = [{name = "age", type = "integer"}]\n'
        "[optimaldp]\nperson = false\nreviewed = true\n"
    )
    (tmp_path / "p.csv").write_text("age\n5\n")
    made = read_description(file)
    assert made.says_person
    assert made.person is None
    assert yes(file, "age = 5") == 1


def test_a_missing_word_is_missing_also_where_nothing_else_is_declared(tmp_path: Path) -> None:
    document = changed("resource.schema", {"missingValues": ["999"], "fields": [{"name": "age", "type": "any"}]})
    document["resources"][0] |= {"encoding": "utf-8", "dialect": {}}
    document["optimaldp"] = {"reviewed": True}
    (tmp_path / "patients.csv").write_text("age\n999\n40\n")
    file = written(tmp_path, document)
    assert yes(file, "age >= 18") == 1


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("resource.path", ["a.csv", "b.csv"], "path"),
        ("resource.path", "hospital.datapackage.json", "is a description itself"),
        ("field.cost.type", ["number"], "type of cost"),
        ("field.cost.constraints", {"minimum": Decimal("1e99999999")}, "more than 400 digits"),
        ("optimaldp.step", {"cost": "1e99999999"}, "more than 400 digits"),
        ("optimaldp.step", {"cost": "1e" + "9" * 30}, "is not a number"),
        ("resource.dialect", {"quoteChar": "'"}, "quoteChar"),
        ("resource.dialect", {"header": False}, "header"),
        ("resource.dialect", {"skipInitialSpace": True}, "skipInitialSpace"),
        ("field.cost.type", "money", "money"),
        ("field.cost.bareNumber", False, "bareNumber"),
        ("field.cost.decimalChar", ".", "groupChar"),
        ("field.cost.constraints", {"minimum": "much"}, "minimum"),
        ("field.cost.constraints", {"minimum": 5, "maximum": 5}, "constraints"),
        ("field.ward.constraints", {"enum": ["a", "a"]}, "enum"),
        ("field.ward.constraints", {"enum": [1]}, "enum"),
        ("field.admitted.format", "any", "format"),
        ("field.admitted.format", "%d.%m.", "format"),
        ("field.smokes.trueValues", ["nein"], "trueValues"),
        ("field.cost.name", "age", "fields"),
        ("optimaldp.person", 5, "person"),
        ("optimaldp.person", ["patient_id", "admitted"], "neighbours"),
        ("optimaldp.neighbours", "anybody", "neighbours"),
        ("optimaldp.reviewed", "yes", "reviewed"),
        ("optimaldp.reduce", {"cost": "most-frequent"}, "reduce"),
        ("optimaldp.reduce", {"ward": "sum"}, "reduce"),
        ("optimaldp.step", {"costs": 5}, "step"),
        ("optimaldp.step", {"cost": 0}, "step"),
    ],
)
def test_what_is_wrong_is_named(path: str, value: object, said: str) -> None:
    with pytest.raises(TableError) as caught:
        parse_description(changed(path, value))
    assert said in str(caught.value)


@pytest.mark.parametrize("path", ["optimaldp.public", "optimaldp.person"])
def test_a_named_column_must_be_in_the_table(hospital: Path, path: str) -> None:
    written(hospital.parent, changed(path, ["region", "town"] if path.endswith("public") else "region"))
    with pytest.raises(TableError, match="region"):
        open_source(hospital)


def test_what_a_description_says_is_not_said_again(hospital: Path) -> None:
    with pytest.raises(TableError, match="is what the description says"):
        open_source(hospital, delimiter=",")


def test_a_described_type_must_fit_the_stored_one(hospital: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"age": [True]}), hospital.parent / "p.parquet")
    document = changed("resource.path", "p.parquet")
    document["resources"][0] |= {"encoding": "utf-8", "dialect": {}}
    document["resources"][0]["schema"]["fields"] = [{"name": "age", "type": "integer"}]
    document["optimaldp"] = {"reviewed": True}
    with pytest.raises(TableError, match="described as integer"):
        open_source(written(hospital.parent, document))


def test_people_are_counted_through_a_description(hospital: Path) -> None:
    counted = count_people(open_source(hospital), Tally((Condition("smokes"),)), People(unit="patient_id"))
    assert counted.counts == (1, 2)


def test_questions_leave_out_what_the_description_says(hospital: Path) -> None:
    import optimaldp as odp

    limits = {"minimum": 0, "maximum": 5000}
    document = changed("field.cost.constraints", limits)
    document["optimaldp"] |= {"step": {"cost": 10}, "public": ["ward"], "person": None, "reduce": {}}
    file = written(hospital.parent, document)
    made = odp.release(file, "mean(cost) >= 1000", epsilon=40)
    assert made.answer == "yes"
    assert json.loads(made.to_json())["question"].startswith("mean(cost, range=[0, 5000], step=10)")
    assert odp.release(file, "median(age)", epsilon=400).answer
    assert set(odp.release(file, "count(*) >= 1", by="ward", epsilon=40).answer) == {"Cardiology", "Chirurgie à jour"}
    with pytest.raises(odp.errors.QuestionError, match="not among the values that the description lists"):
        odp.release(file, "winner(ward, ['cardiology', 'Chirurgie à jour'])", epsilon=1)


def test_columns_that_nobody_declared_are_said(tmp_path: Path) -> None:
    import optimaldp as odp

    (tmp_path / "p.csv").write_text('patient_id,cost,day,ward\n1,"2,292.01",2024-01-31,A\n')
    with pytest.warns(odp.errors.ReadingWarning) as said:
        odp.release(
            tmp_path / "p.csv", "share(cost >= 100 and day > date '2020-01-01' and ward = 'A') >= 0.5", epsilon=1
        )
    texts = [str(one.message) for one in said]
    assert "cost was not declared: cells not written like 1234.5 count as missing." in texts
    assert "day was not declared: cells not written like 2024-01-31 count as missing." in texts
    assert any("each row counts as one person" in text for text in texts)
    assert not any(text.startswith("ward") for text in texts)


def test_an_encoding_that_nobody_said_is_proposed_and_checked(tmp_path: Path) -> None:
    import optimaldp as odp
    from optimaldp.tables.describing import check_description

    rows = ["Größe;Station"] + ["1,80;Gynäkologie", "1,70;Chirurgie"] * 3
    file = tmp_path / "k.csv"
    for codec, proposed in (("latin-1", "windows-1252"), ("utf-8", None)):
        file.write_bytes("\n".join(rows).encode(codec))
        made = odp.describe(file)
        assert made.document["resources"][0].get("encoding") == proposed
        assert made.unread() == []
    file.write_bytes("\n".join(["Size;Station", *rows[1:]]).encode("latin-1"))
    lost_cells = check_description(parse_description(odp.describe(file, encoding="utf-8").document))
    assert [str(one) for one in lost_cells] == ["Station: 3 cells cannot be read as utf-8; is the encoding right?"]
    file.write_bytes("\n".join(["a", "é", "è", "ê"]).encode() + b"\n\xe9\n")  # one bad byte is no other encoding
    assert "encoding" not in odp.describe(file).document["resources"][0]
    assert [one.cells for one in odp.describe(file).unread()] == [1]
    assert odp.describe(pa.table({"a": ["é"]})).unread() == []


def test_a_steward_is_asked_in_words_that_steer_no_terminal(tmp_path: Path) -> None:
    import typer
    from typer.testing import CliRunner

    import optimaldp as odp
    from optimaldp.cli import describe as command

    (tmp_path / "t.csv").write_text("who,w\x1b[31mard,cost\x1b[31m\n1x,a,1\n1x,b,2\n")
    made = odp.describe(tmp_path / "t.csv")
    asking = typer.Typer()
    asking.command()(lambda: command._ask(made))
    typed = ["whom", "who", "y", "NA, n/a", "a,b", "much", "0", "2.5", "total", "sum"]
    asked = CliRunner().invoke(asking, input="\n".join(typed) + "\n")
    assert asked.exit_code == 0
    assert all(line.isprintable() for line in asked.output.splitlines())
    for again in ("whom is not a column", r"write the minimum of cost\x1b[31m like", "total is not a rule here"):
        assert again in asked.output
    schema, own = made.document["resources"][0]["schema"], made.document["optimaldp"]
    assert schema["missingValues"] == ["", "NA", "n/a"]
    limits = [field.get("constraints") for field in schema["fields"]]
    assert limits == [None, {"enum": ["a", "b"]}, {"minimum": 0, "maximum": 2.5}]
    assert (own["person"], own["reduce"]) == ("who", {r"cost\x1b[31m": "sum"})


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_required_is_missing_from_no_source(ending: str, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    import optimaldp as odp

    ages, wards = [40, None, 60], ["a", None, "c"]
    pq.write_table(pa.table({"age": ages, "ward": wards, "cost": [1.5, None, math.nan]}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("age,ward,cost\n40,a,1.5\n,,\n60,c,nan\n")
    limits = {"minimum": 0, "maximum": 110, "required": True}
    fields = [
        {"name": "age", "type": "integer", "constraints": limits},
        {"name": "ward", "type": "string", "constraints": {"enum": ["a", "b"], "required": True}},
        {"name": "cost", "type": "number", "constraints": limits},
    ]
    document = {"resources": [{"path": f"t.{ending}", "schema": {"fields": fields}}]}
    file = written(tmp_path, document | {"optimaldp": {"person": None, "reviewed": True}})
    assert [yes(file, one) for one in ("age = 0", "ward = 'a'", "cost = 0", "age is null or cost is null")] == [
        1,
        3,
        2,
        0,
    ]
    made = odp.release(file, "histogram(ward)", epsilon=40)
    assert made.answer == {"a": 3, "b": 0}
    assert "ward: what is missing or cannot be read counts as a" in made.statement["notes"]


@pytest.mark.parametrize(
    "condition", ["ward = 'cardiology'", "'x' <> ward", "ward in ('Cardiology', 'x')", "ward = 'x' or age > 3"]
)
def test_a_value_that_the_description_does_not_list_is_refused(hospital: Path, condition: str) -> None:
    with pytest.raises(QuestionError, match=r"not among the values that the description lists for ward; they are Card"):
        yes(hospital, condition)


def test_values_made_of_listed_ones_are_not_listed(hospital: Path) -> None:
    written(hospital.parent, changed("field.age.constraints", {"enum": [1, 2, 40]}))
    assert yes(hospital, "ward < 'M' and lower(ward) = 'cardiology' and coalesce(ward, 'x') <> 'x'") == 1
    assert [yes(hospital, one) for one in ("abs(age) <> 3", "-age = -40", "age + 1 = 41")] == [1, 1, 1]
    for rule in ("sum", "mean", "count"):
        totals = People(unit="smokes", reduce={"age": rule})
        assert count_people(open_source(hospital), Tally((Condition("age = 3"),)), totals).counts == (0, 2)
    with pytest.raises(QuestionError, match="not among the values"):
        count_people(
            open_source(hospital), Tally((Condition("age = 3"),)), People(unit="smokes", reduce={"age": "max"})
        )


def test_a_ledger_of_rows_says_how_to_make_one_of_people(hospital: Path) -> None:
    import optimaldp as odp

    table, book = hospital.parent / "patients.csv", hospital.parent / "rows.ledger"
    odp.open(table, encoding="latin-1", delimiter=";", budget=odp.Budget(1), ledger=book)
    with pytest.raises(odp.errors.LedgerError, match=r"made for rows as people; make another one: .*--unit patient_id"):
        odp.release(hospital, "count(age >= 18)", epsilon=1, ledger=book)


def test_a_date_is_offered_no_rule_of_numbers(hospital: Path) -> None:
    import optimaldp as odp

    question = "median(admitted, range=['2024-01-01', '2025-01-01'], step='1 day')"
    with pytest.raises(QuestionError, match="choose one of median, min, max, count, first, last"):
        odp.release(hospital, question, epsilon=1)


def test_names_of_columns_steer_no_terminal_wherever_they_are_repeated(tmp_path: Path) -> None:
    import optimaldp as odp

    names = ["who\x1b[31m id", "co\x9b31m\u202est", "net\u00a0pay", "a\nb"]
    (tmp_path / "t.csv").write_text(",".join(names[:3]) + "\n1,2,3\n", encoding="utf-8")
    written_out = ("who\\x1b[31m id", "co\\x9b31m\\u202est", "net\u00a0pay", "a\\nb")
    assert open_source(tmp_path / "t.csv").schema.names == written_out[:3]
    assert open_source(pa.table({name: [1] for name in names})).schema.names == written_out
    with pytest.warns(odp.errors.ReadingWarning) as said:
        made = odp.release(tmp_path / "t.csv", f'count("{written_out[1]}" >= 1)', epsilon=1)
    assert all(str(one.message).isprintable() for one in said)
    assert all(text.isprintable() for text in made.warnings)


def test_what_cannot_be_read_is_counted_for_all_columns_and_shown_once(tmp_path: Path) -> None:
    import optimaldp as odp

    rows = "1;x;Ä\n" * 5 + "y;2;\n" + "z;x;A\n"
    (tmp_path / "t.csv").write_bytes(f"a;b;c\n{rows}".encode("latin-1"))
    proposal = odp.describe(tmp_path / "t.csv", encoding="utf-8")
    for field, kind in zip(proposal.document["resources"][0]["schema"]["fields"], ("integer", "integer", "string")):
        field["type"] = kind
    told = {one.column: (one.cells, sorted(one.examples)) for one in proposal.unread()}
    assert told == {"a": (2, ["y", "z"]), "b": (6, ["x"]), "c": (5, [])}


@pytest.mark.parametrize("number", ["1e99999999", "1e" + "9" * 30])
def test_a_number_of_too_many_digits_is_read_at_once(tmp_path: Path, number: str) -> None:
    """A few letters of a file that is handed over stood for hours of work, or for a traceback."""
    file = tmp_path / "t.datapackage.json"
    file.write_text(
        '{"note": NUMBER, "resources": [{"path": "t.csv", "schema": {"fields": [{"name": "a"}]}}]}'.replace(
            "NUMBER", number
        )
    )
    if len(number) < 20:
        assert len(read_description(file).hash) == 64
        return
    with pytest.raises(TableError, match="is neither JSON nor TOML"):
        read_description(file)


def test_a_document_holds_the_description_and_how_cells_were_read(hospital: Path) -> None:
    """Of rows and of answers alike; without the place of the table, which may be a URL with a password."""
    import optimaldp as odp

    made = odp.release(hospital, "count(smokes)", epsilon=1)
    rows = odp.sanitise(hospital, ["ward"], epsilon=1)
    bare = copy.deepcopy(HOSPITAL)
    del bare["resources"][0]["path"]
    for document in (json.loads(made.to_json()), json.loads(rows.to_json())):
        assert document["described"] == bare
        assert (document["encoding"], document["delimiter"]) == ("latin-1", ";")
        assert document["description"] == read_description(hospital).hash
        assert odp.verify(document).holds
        assert not odp.verify(document | {"encoding": "utf-8"}).holds
        unread = copy.deepcopy(document)
        unread["described"]["optimaldp"]["reviewed"] = False
        assert not odp.verify(unread).holds


def test_a_number_of_too_many_digits_is_published_as_it_is_written(hospital: Path) -> None:
    """Keys that nobody knows are kept, and their numbers are never written out: that took minutes."""
    text = json.dumps(HOSPITAL | {"rows": 7.5, "far": 12}).replace('"far": 12', '"far": 1e99999999')
    hospital.write_text(text, encoding="utf-8")
    told = read_description(hospital).published()
    assert (told["rows"], told["far"]) == (7.5, "1E+99999999")
