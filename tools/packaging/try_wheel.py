"""make package: the built wheel in a clean environment of every Python here.

In each: install the wheel alone, weigh what was installed, ask a question of a real table on the command line and from a typed
client (which mypy reads once), and run the tests that need nothing else against the installed package.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.pythons import find_pythons, install, make_environment, say_which, wanted

ROOT = Path(__file__).parents[2]
CLIENT = Path(__file__).with_name("typed_client.py")
SURVEY = ROOT / "examples" / "data" / "anes1996.csv"
QUESTION = "winner(expected_vote, ['Clinton', 'Dole'])"
MOST_MEGABYTES = 450
# Exact numbers and bits would notice a Python that differs; make test-pythons runs more.
TESTS = ("tests/privacy", "tests/sampling")


def weight(folder: Path) -> float:
    """Megabytes on disk, as ``du`` counts them."""
    paths = (Path(where) / name for where, _, names in os.walk(folder) for name in names)
    return sum(path.lstat().st_blocks * 512 if os.name != "nt" else path.lstat().st_size for path in paths) / 2**20


def try_wheel(wheel: Path, python: str, folder: Path, *, types: bool) -> str:
    """Everything above with one Python; a line that says what was measured."""
    inside = make_environment(python, folder, str(wheel))
    megabytes = weight(folder)
    if megabytes > MOST_MEGABYTES:
        raise SystemExit(f"the core takes {megabytes:.0f} MB; at most {MOST_MEGABYTES} are allowed")
    command = [
        str(inside.with_name("optimaldp")),
        "release",
        "--data",
        str(SURVEY),
        "--question",
        QUESTION,
        "--epsilon",
        "1",
    ]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout.strip()
    if answer not in ("Clinton", "Dole"):
        raise SystemExit(f"an unexpected answer: {answer!r}")
    subprocess.run([str(inside), str(CLIENT), str(SURVEY)], check=True, cwd=folder)
    if types:  # mypy runs here and reads the types that the wheel brings there: the same files for every Python
        mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(folder / "mypy")]
        subprocess.run([*mypy, "--python-executable", str(inside), str(CLIENT)], check=True, cwd=folder)
    install(inside, "pytest", "hypothesis")
    pytest = [
        str(inside),
        "-m",
        "pytest",
        "-q",
        "--no-header",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow and not spark",
    ]
    subprocess.run([*pytest, "-W", "ignore:numba", *TESTS], check=True, cwd=ROOT)
    return f"{megabytes:.0f} MB, a release, a typed client, {' '.join(TESTS)}"


def main() -> None:
    (wheel,) = (ROOT / "dist").glob("*.whl")
    versions = wanted()
    pythons = find_pythons(versions)
    print(say_which(versions, pythons), flush=True)
    if not pythons:
        raise SystemExit("no Python to try the wheel with")
    for place, (version, python) in enumerate(pythons.items()):
        with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
            measured = try_wheel(wheel, python, Path(folder) / "environment", types=place == 0)
            print(f"{version}: {measured}", flush=True)


if __name__ == "__main__":
    main()
