"""Let an assistant ask a table that it cannot see: a server for the Model Context Protocol, on standard input and output.

The assistant gets the reviewed description of the table, previews, private answers that are paid from a budget, and what
remains. It never gets a row, a count or a file. The one home of the MCP SDK.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field
from typing import TYPE_CHECKING, Any

from optimaldp import __version__
from optimaldp.asking.ask import FIELDS, meaning_of
from optimaldp.asking.releasing import open_read
from optimaldp.asking.result import Release
from optimaldp.client import Curator, WaitingRequest
from optimaldp.documents.json_text import json_text
from optimaldp.errors import InputError, OptimalDPError
from optimaldp.extras import requiring
from optimaldp.privacy.numbers import is_whole
from optimaldp.tables.description import public_schema

if TYPE_CHECKING:
    from mcp.server import Server

    from optimaldp.asking.session import OpenTable

Document = dict[str, Any]

OPTIONS = tuple(name for name in FIELDS if not meaning_of(name).of_table)
"""What an assistant says with a question: everything that is not said once for the table."""
_INSTRUCTIONS = (
    "You can ask a table of people that you cannot see. Call `schema` first: it says which columns and values there are. "
    "`preview` says how reliable an answer would be and costs nothing. `ask` spends privacy budget, which never comes back: "
    "preview first, ask once, and quote the error that is stated with the answer. `remaining` says what is left."
)


# Whom the tools ask.


class AssistantDesk(ABC):
    """Where questions of an assistant go."""

    @abstractmethod
    def schema(self) -> Document:
        """The reviewed description of the table."""

    @abstractmethod
    def preview(self, options: Mapping[str, Any], n: int | None) -> Document:
        """How reliable an answer would be."""

    @abstractmethod
    def ask(self, options: Mapping[str, Any]) -> Document:
        """A private answer, or that an approver has to decide."""

    @abstractmethod
    def remaining(self) -> Document:
        """What is left of the budget."""


@dataclass(frozen=True)
class OwnTable(AssistantDesk):
    """A table on this machine that was opened with a ledger."""

    table: OpenTable

    def schema(self) -> Document:
        opened = open_read(self.table.source, **dict(self.table.reading))
        return {"dataset": self.table.ledger.opening.dataset, **public_schema(opened)}

    def preview(self, options: Mapping[str, Any], n: int | None) -> Document:
        return self.table.preview(n=n, **options).to_document()

    def ask(self, options: Mapping[str, Any]) -> Document:
        return answered(self.table.ask(**options)) | {"remaining": self.remaining()}

    def remaining(self) -> Document:
        return self.table.remaining.to_document()


@dataclass(frozen=True)
class RemoteDesk(AssistantDesk):
    """A data set of a curator's service."""

    curator: Curator
    dataset: str

    def schema(self) -> Document:
        found = [one for one in self.curator.datasets() if one["name"] == self.dataset]
        if not found:
            raise InputError("dataset", self.dataset, "is not a data set of this key", "ask the steward")
        return found[0]

    def preview(self, options: Mapping[str, Any], n: int | None) -> Document:
        return self.curator.table(self.dataset).preview(n=n, **options).to_document()

    def ask(self, options: Mapping[str, Any]) -> Document:
        made = self.curator.table(self.dataset).ask(**options)
        return {**(answered(made) if isinstance(made, Release) else waiting(made)), "remaining": self.remaining()}

    def remaining(self) -> Document:
        return self.curator.table(self.dataset).remaining.to_document()

    def request(self, number: str) -> Document:
        """What became of a question that waits for an approver."""
        asked = self.curator.request(number)
        return answered(asked.wait()) if asked.settled else waiting(asked)


def answered(release: Release) -> Document:
    """A release for an assistant: the sentences first, then the document that can be verified."""
    return {"answer": release.answer, "sentences": release.sentences(), "document": release.to_document()}


def waiting(request: WaitingRequest) -> Document:
    """That somebody has to decide, and how to hear of it."""
    words = (
        "An approver has to let this question through. Nothing was spent yet. Look again later with the tool `request`."
    )
    return {"status": request.document["status"], "request": request.id, "words": words}


def only_dataset(curator: Curator, wanted: str | None) -> str:
    """The data set that is meant: the one that was named, or the only one that the key may see."""
    names = [str(one["name"]) for one in curator.datasets()]
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted not in names:
        raise InputError(
            "dataset", wanted, "is not a data set of this key", f"name one of {', '.join(names) or 'none'}"
        )
    return wanted


# The tools.


@dataclass(frozen=True)
class Tool:
    """Something that an assistant can call."""

    name: str
    words: str
    run: Callable[[Document], Document]
    takes: Mapping[str, Document] = field(default_factory=dict)
    """The JSON schema of each argument."""
    needs: tuple[str, ...] = ()
    spends: bool = False

    @property
    def schema(self) -> Document:
        """The JSON schema of all arguments: nothing else is taken."""
        properties = {name: dict(one) for name, one in self.takes.items()}
        return {"type": "object", "properties": properties, "required": list(self.needs), "additionalProperties": False}

    def called(self, said: Mapping[str, Any]) -> Document:
        """Run it with what the assistant said. An argument that is unknown is refused: it may have changed the question."""
        for name in said:
            if name not in self.takes:
                raise InputError(
                    name, said[name], f"is not an argument of {self.name}", f"use {', '.join(self.takes) or 'none'}"
                )
        given = {name: value for name, value in said.items() if value is not None}
        for name in self.needs:
            if name not in given:
                raise InputError(name, None, "is missing", str(self.takes[name].get("description", "")))
        return self.run(given)


def tools_of(desk: AssistantDesk) -> list[Tool]:
    """What an assistant can call at this desk."""
    asked = {name: _option(name) for name in OPTIONS}
    needs = tuple(name for name in OPTIONS if FIELDS[name].default is MISSING)
    people = {"type": "integer", "minimum": 1, "description": "How many people there are, where that is known."}
    tools = [
        Tool(
            "schema",
            "The columns, their types and public values, and who counts as a person. It never holds data.",
            lambda _: desk.schema(),
        ),
        Tool(
            "preview",
            "How reliable an answer to this question would be at this level. Reads no data and spends nothing.",
            lambda said: desk.preview({k: v for k, v in said.items() if k != "n"}, _whole(said.get("n"))),
            asked | {"n": people},
            needs,
        ),
        Tool(
            "ask",
            "Answer a question privately. This spends privacy budget that never comes back.",
            lambda said: desk.ask(_checked(said)),
            asked,
            needs,
            spends=True,
        ),
        Tool("remaining", "What is left of the privacy budget.", lambda _: desk.remaining()),
    ]
    if isinstance(desk, RemoteDesk):
        number = {"type": "string", "description": "The number of the request that `ask` gave."}
        words = "What became of a question that waits for an approver."
        tools.append(
            Tool("request", words, lambda said: desk.request(str(said["number"])), {"number": number}, ("number",))
        )
    return tools


def _option(name: str) -> Document:
    return {**meaning_of(name).form.schema, "description": meaning_of(name).words}


def _checked(said: Document) -> Document:
    """The options of a question, each in its form."""
    for name, value in said.items():
        form = meaning_of(name).form
        if not form.is_json(value):
            raise InputError(name, value, f"is not {form.words}", meaning_of(name).words)
    return said


def _whole(value: Any) -> int | None:
    if value is not None and not is_whole(value):
        raise InputError("n", value, "is not a number of people", "give a whole number")
    return value


# The server.


def server_of(desk: AssistantDesk) -> Server[Any]:
    """The MCP server whose tools ask this desk."""
    with requiring("mcp"):
        from mcp import types
        from mcp.server import Server
    import anyio

    tools = {tool.name: tool for tool in tools_of(desk)}

    def shown(tool: Tool) -> types.Tool:
        hints = types.ToolAnnotations(
            read_only_hint=not tool.spends, destructive_hint=tool.spends, open_world_hint=False
        )
        return types.Tool(name=tool.name, description=tool.words, input_schema=tool.schema, annotations=hints)

    async def list_tools(*_: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[shown(tool) for tool in tools.values()])

    async def call_tool(_: object, call: types.CallToolRequestParams) -> types.CallToolResult:
        failed, text = await anyio.to_thread.run_sync(called, tools, call.name, call.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)

    made: Server[Any] = Server(
        "optimaldp", version=__version__, instructions=_INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )
    return made


def called(tools: Mapping[str, Tool], name: str, said: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether a call failed, and its text. Of an error that is not ours only the kind is told: its words might hold data."""
    try:
        if name not in tools:
            raise InputError("tool", name, "is not one of the tools", f"use {', '.join(tools)}")
        return False, json_text(tools[name].called(said))
    except OptimalDPError as error:
        return True, str(error)
    except Exception as error:
        return True, f"an unforeseen {type(error).__name__} stopped the work; its words are withheld"


def serve(desk: AssistantDesk) -> None:
    """Serve one assistant on standard input and output until it hangs up."""
    server = server_of(desk)
    with requiring("mcp"):
        from mcp.server.stdio import stdio_server
    import anyio

    async def run() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)
