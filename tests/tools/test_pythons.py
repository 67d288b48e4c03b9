"""Interpreters are found by running them: a name on the PATH proves nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.pythons import find_pythons, say_which, wanted

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.mark.skipif(os.name == "nt", reason="scripts that pretend to be an interpreter")
def test_a_shim_that_does_not_start_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shims, installed = tmp_path / "shims", tmp_path / "pyenv" / "versions" / f"{HERE}.0" / "bin"
    for folder, script in ((shims, "exit 127"), (installed, f'exec "{sys.executable}" "$@"')):
        folder.mkdir(parents=True)
        for name in (f"python{HERE}", "python"):
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(shims), prepend=os.pathsep)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    assert find_pythons([HERE, "3.99"]) == {HERE: str(installed / "python")}


def test_what_is_missing_is_said() -> None:
    assert say_which(["3.11", "3.99"], {"3.11": "x"}) == "Pythons: 3.11; not on this machine: 3.99"


def test_versions_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONS", "python3.12 python3.13")
    assert wanted() == ["3.12", "3.13"]
