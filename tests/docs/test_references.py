"""The references are made from the code: every public name and every command is in them. The whole site builds strictly."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fenced import ROOT

import optimaldp


@pytest.fixture(autouse=True)
def _generators(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "generate"]:
        del sys.modules[name]


def test_every_public_name_is_described(tmp_path: Path) -> None:
    from generate.api import write_api

    write_api(tmp_path)
    top = (tmp_path / "optimaldp.md").read_text()
    for name, (module, attribute) in optimaldp._NAMES.items():
        if attribute is None:
            assert (tmp_path / f"{module}.md").exists(), name
        else:
            assert f"\n## {name}\n" in top
    assert "## Channel\n" in (tmp_path / "optimaldp.channels.md").read_text()
    assert "**Guarantee.**" in top


def test_every_public_name_has_words() -> None:
    from generate.api import parts

    silent = [
        f"{part.name}.{name}"
        for part in parts()
        for name, value in part.members.items()
        if callable(value) and not (value.__doc__ or "").strip()
    ]
    assert silent == []


NEEDS_A_SERVICE = "connect"  # the tests of the service's own page run it


@pytest.mark.parametrize("name", [name for name in optimaldp.__all__ if callable(getattr(optimaldp, name))])
def test_an_exported_name_lists_its_parameters_and_shows_an_example(name: str) -> None:
    value = getattr(optimaldp, name)
    text = inspect.getdoc(value) or ""
    assert ">>>" in text or name == NEEDS_A_SERVICE
    if not isinstance(value, type):  # a result is handed out, not built
        assert [one for one in inspect.signature(value).parameters if not re.search(rf"\b{one}\b", text)] == []


def test_docstrings_become_markdown() -> None:
    from generate.api import markdown

    text = markdown("Uses :func:`~optimaldp.designing.solve` and ``x``.\n\n>>> 1\n1\n\nMore.")
    assert text == "Uses ``solve`` and ``x``.\n\n```python\n>>> 1\n1\n```\n\nMore."


def test_every_command_is_described(tmp_path: Path) -> None:
    from generate.cli import leaves, write_cli
    from typer.main import get_command

    from optimaldp.cli import app

    write_cli(tmp_path)
    page = (tmp_path / "cli.md").read_text()
    found = list(leaves(get_command(app), "optimaldp"))
    assert len(found) >= 10
    for path, command in found:
        assert f"\n## {path}\n" in page
        assert command.help, f"{path} has no words"
        section = page.split(f"\n## {path}\n")[1].split("\n## ")[0]
        assert all(
            option in section
            for one in command.params
            if one.name != "help"
            for option in one.opts[:1]
            if option[0] == "-"
        )


@pytest.mark.slow
def test_the_site_builds_strictly_and_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("furo", reason="the docs extra is not installed")
    source = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("generated", "__pycache__"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    built = _build(source, tmp_path / "site")
    assert built.returncode == 0, built.stderr
    loaded = [
        address
        for page in (tmp_path / "site").rglob("*.html")
        for address in re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"(https?://[^\"]*)\"", page.read_text())
    ]
    assert loaded == []
    assert (tmp_path / "site" / "_static" / "mathjax" / "tex-chtml.js").exists()
    with (source / "glossary.md").open("a") as page:
        page.write("\n[nothing](nowhere.md)\n")
    assert "nowhere.md" in _build(source, tmp_path / "site").stderr


def _build(source: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html", str(source), str(site)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
