"""make test-pythons: the tests that need no server, browser or plot, on every Python here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.pythons import find_pythons, make_environment, say_which, wanted

ROOT = Path(__file__).parents[1]
# What runs in a few seconds and would notice a Python that differs: exact numbers, bits, text, compiled loops, the referee.
TESTS = ("tests/privacy", "tests/sampling", "tests/questions", "tests/kernels", "tests/certify", "tests/packaging")
NEEDS = ("pytest>=8", "pytest-xdist>=3.5", "hypothesis>=6.100")


def main() -> int:
    versions = wanted()
    pythons = find_pythons(versions)
    print(say_which(versions, pythons), flush=True)
    failed = []
    for version, python in pythons.items():
        folder = ROOT / "build" / "pythons" / version
        inside = make_environment(python, folder, "--editable", f"{ROOT}[solvers,compiled,interop]", *NEEDS)
        print(f"Python {version}", flush=True)
        run = [str(inside), "-m", "pytest", "-n", "2", "-m", "not slow and not spark", "-p", "no:cacheprovider", *TESTS]
        if subprocess.run(run, cwd=ROOT, check=False).returncode:
            failed.append(version)
    print(say_which(versions, pythons) + (f"; failed on {', '.join(failed)}" if failed else ""))
    return int(bool(failed) or not pythons)


if __name__ == "__main__":
    sys.exit(main())
