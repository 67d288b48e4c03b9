"""Links between pages lead somewhere, and every command line that is shown parses."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fenced import ROOT

PAGES = sorted(page for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")] if "generated" not in page.parts)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_GENERATED = {"gallery.md", "papers.md", "cli.md", "api/index.md", "analyst.md"}


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def broken_links(page: Path, text: str) -> list[str]:
    """Relative links whose file does not exist; pictures and pages that the build makes are known by name."""
    return [link for link in _LINK.findall(_without_code(text)) if not _leads_somewhere(page, link)]


def _leads_somewhere(page: Path, link: str) -> bool:
    if link.startswith(("https://", "http://", "mailto:", "#")):
        return True
    target = (page.parent / link.partition("#")[0]).resolve()
    made = ROOT / "docs" / "generated"
    if made not in target.parents:
        return target.exists()
    inside = target.relative_to(made)
    return inside.as_posix() in _GENERATED or (ROOT / "examples" / inside).with_suffix(".py").exists()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_pictures_have_words(page: Path) -> None:
    assert re.findall(r"!\[\s*\]\([^)]*\)", _without_code(page.read_text())) == []


def test_broken_links_are_found() -> None:
    text = "[a](nowhere.md) ![b](images/none.png) [c](questions.md) [d](generated/gallery/none.png) `[e](code.md)`"
    assert broken_links(ROOT / "docs" / "x.md", text) == ["nowhere.md", "images/none.png", "generated/gallery/none.png"]


def command_lines(text: str) -> Iterator[str]:
    """Calls of optimaldp in code blocks; those with an ellipsis are not meant to be typed."""
    for line in text.splitlines():
        if re.match(r"(    |\$ |echo |optimaldp )", line) and "…" not in line:
            for part in re.split(r"(?<!\|)\|(?!\|)", line.split("  #")[0]):
                call = part.strip().removeprefix("$ ")
                if call.startswith("optimaldp "):
                    yield call


def _check(call: str) -> None:
    """Parse the words as the program would, without running anything."""
    from typer.main import get_command

    from optimaldp.cli import app, commands  # noqa: F401  (registers the commands)

    command: Any = get_command(app)
    # Where the shell puts what is printed is not the program's.
    words = list(itertools.takewhile(lambda word: not re.match(r"\d?>|&", word), shlex.split(call)[1:]))
    while hasattr(command, "commands"):
        words = _behind_options(command, words)
        if command.invoke_without_command and not words:
            return
        assert words, f"{call}: a command is missing"
        assert words[0] in command.commands, f"{call}: there is no command {words[0]}"
        command = command.commands[words.pop(0)]
    with command.make_context("optimaldp", words):
        pass


def _behind_options(group: Any, words: list[str]) -> list[str]:
    """The words behind the options of a group of commands itself: ``serve --config F key list``."""
    takes_value = {name: not one.is_flag for one in group.params for name in getattr(one, "opts", ())}
    while words and words[0] in takes_value:
        words = words[2 if takes_value[words[0]] else 1 :]
    return words


CALLS = sorted({(_name(page), call) for page in PAGES for call in command_lines(page.read_text())})


@pytest.mark.parametrize(("page", "call"), CALLS)
def test_commands_parse(page: str, call: str) -> None:
    _check(call)


def test_the_readme_shows_commands() -> None:
    assert sum(page == "README.md" for page, _ in CALLS) >= 4


@pytest.mark.parametrize(
    "call",
    [
        "optimaldp realese --data x.csv",
        "optimaldp preview --question 'majority(a)' --epsilon",
        "optimaldp preview --nonsense 1",
        "optimaldp serve --nonsense 1",
        "optimaldp serve --config x.toml kye create ann",
    ],
)
def test_wrong_commands_are_found(call: str) -> None:
    with pytest.raises(Exception, match=r"no command|[Mm]issing|[Nn]o such|requires an argument"):
        _check(call)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = {word for page in PAGES for word in re.findall(r"(?:`|    )make ([a-z-]+)", page.read_text())}
    assert {"demo", "test"} <= shown
    assert shown <= targets
