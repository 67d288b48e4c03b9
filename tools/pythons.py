"""Every Python that this machine offers, of the versions that optimaldp supports: on the PATH, or below pyenv's folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

SUPPORTED = ("3.11", "3.12", "3.13", "3.14")


def wanted() -> list[str]:
    """The versions to look for: those that the variable PYTHONS names (``python3.11 python3.12``), or all supported ones."""
    named = os.environ.get("PYTHONS", "").split()
    return [name.removeprefix("python") for name in named] or list(SUPPORTED)


def find_pythons(versions: Iterable[str]) -> dict[str, str]:
    """For each version that was found, an interpreter that starts."""
    return {version: path for version in versions if (path := _first(version))}


def _first(version: str) -> str | None:
    return next((path for path in _candidates(version) if _starts(path, version)), None)


def _candidates(version: str) -> Iterator[str]:
    if on_path := shutil.which(f"python{version}"):
        yield on_path
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for one in sorted(folder.glob(f"{version}.*"), reverse=True):
        yield str(one / "bin" / "python")


def _starts(path: str, version: str) -> bool:
    """Whether it runs and is what its name says: pyenv puts a name on the PATH also for versions that are switched off."""
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        run = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    except OSError:
        return False
    return run.returncode == 0 and run.stdout.strip() == version


def say_which(versions: Iterable[str], found: dict[str, str]) -> str:
    """One line that names what is tested and what is not."""
    missing = [version for version in versions if version not in found]
    return f"Pythons: {', '.join(found) or 'none'}" + (
        f"; not on this machine: {', '.join(missing)}" if missing else ""
    )


def make_environment(python: str, folder: Path, *requirements: str) -> Path:
    """A fresh virtual environment with *requirements*; returns its interpreter."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    inside = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    install(inside, *requirements)
    return inside


def install(python: Path, *requirements: str) -> None:
    quiet = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    subprocess.run([str(python), *quiet, *requirements], check=True)
