"""An assistant asks a table that it cannot see: the real command, driven by the SDK's own client over its pipes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the service extra is not installed")

import anyio
from mcp import Client, StdioServerParameters, stdio_client

from optimaldp.assistant import OPTIONS

HOSPITAL = Path(__file__).parents[2] / "examples" / "curator" / "hospital.datapackage.json"
PROGRAM = "from optimaldp.cli import main; main()"


def talk(arguments: list[str], calls: list[tuple[str, dict[str, Any]]], **environment: str) -> list[Any]:
    """The tools of a server, then what each call gave: (whether it failed, its text)."""

    async def session() -> list[Any]:
        import os

        server = StdioServerParameters(
            command=sys.executable, args=["-c", PROGRAM, "mcp", *arguments], env={**os.environ, **environment}
        )
        async with Client(stdio_client(server)) as client:
            heard: list[Any] = [(await client.list_tools()).tools]
            for name, said in calls:
                result = await client.call_tool(name, said)
                heard.append((bool(result.is_error), "".join(getattr(part, "text", "") for part in result.content)))
            return heard

    with anyio.from_thread.start_blocking_portal() as portal:
        return portal.call(session)


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    ledger = tmp_path_factory.mktemp("assistant") / "hospital.ledger"
    asked = {"question": "count(smokes = true)", "epsilon": "0.5"}
    return talk(
        ["--data", str(HOSPITAL), "--ledger", str(ledger), "--budget", "0.8"],
        [
            ("schema", {}),
            ("preview", asked),
            ("ask", asked),
            ("ask", asked),
            ("remaining", {}),
            ("ask", {"question": "count(age >= 65)", "epsilon": 0.5}),
            ("ask", {"question": "count(nobody = 1)", "epsilon": 0.1}),
            ("ask", {"question": "count(smokes = true)"}),
            ("ask", {"question": "count(days >= 5)", "epsilon": 0.1, "were": "ward = 'Surgery'"}),
            ("ask", {"question": "count(days >= 5)", "epsilon": 0.1, "where": 3}),
            ("read", {}),
            ("remaining", {}),
        ],
    )


@pytest.mark.long
def test_the_tools_say_what_they_take(heard: list[Any]) -> None:
    tools = {tool.name: tool for tool in heard[0]}
    assert set(tools) == {"schema", "preview", "ask", "remaining"}
    for name in ("preview", "ask"):
        schema = tools[name].input_schema
        assert set(OPTIONS) <= set(schema["properties"])
        assert schema["required"] == ["question", "epsilon"]
        assert all(one["description"] for option, one in schema["properties"].items() if option in OPTIONS)
    assert tools["ask"].annotations.destructive_hint
    assert not tools["ask"].annotations.read_only_hint
    assert tools["preview"].annotations.read_only_hint


@pytest.mark.long
def test_the_schema_is_the_description_and_no_data(heard: list[Any]) -> None:
    failed, text = heard[1]
    assert not failed
    shown = json.loads(text)
    assert [one["name"] for one in shown["columns"]] == ["patient", "ward", "age", "smokes", "days", "cost"]
    assert shown["columns"][1]["options"] == ["Cardiology", "Oncology", "Surgery"]
    assert (shown["columns"][2]["minimum"], shown["columns"][2]["maximum"]) == (0, 110)
    assert "p0001" not in text
    assert "600" not in text  # how many people there are stands in releases, where it is public


def test_a_question_is_previewed_asked_and_paid_once(heard: list[Any]) -> None:
    preview, first, again, remaining = (json.loads(text) for failed, text in heard[2:6] if not failed)
    assert preview["question"] == "count(smokes = true)"
    assert first["answer"] == again["answer"]
    assert first["sentences"][0].startswith("About ")
    assert first["document"]["spent"] == {"epsilon": "0.5", "delta": "0"}
    assert again["document"]["spent"] == {"epsilon": "0", "delta": "0"}
    assert remaining["epsilon"] == "0.3"


def test_refusals_are_told_in_words(heard: list[Any]) -> None:
    over, unknown, no_level, typo, no_text, no_tool, remaining = heard[6:13]
    assert over[0]
    assert "0.3 remains" in over[1]
    assert unknown[0]
    assert "is not a column" in unknown[1]
    assert no_level[0]
    assert "epsilon" in no_level[1]
    assert typo[0]
    assert "is not an argument of ask" in typo[1]
    assert no_text[0]
    assert "is not a text" in no_text[1]
    assert no_tool[0]
    assert json.loads(remaining[1])["epsilon"] == "0.3"  # nothing was spent on any of them


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name --url, or --data with --ledger"),
        (["--url", "http://127.0.0.1:1", "--data", "x.csv"], "name --url, or --data with --ledger"),
        (["--url", "http://127.0.0.1:1"], "OPTIMALDP_KEY"),
        (["--url", "http://127.0.0.1:1", "--key-file", "/nowhere"], "cannot be read"),
        (["--data", str(HOSPITAL)], "name a file that keeps the budget"),
    ],
)
def test_what_cannot_be_served_is_refused(arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    monkeypatch.delenv("OPTIMALDP_KEY", raising=False)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "mcp", *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == ""
