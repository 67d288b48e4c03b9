"""Standard output that is full or closed, and plans that no reader takes: one sentence, exit code 2, no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[2] / "examples" / "data" / "anes1996.csv"
RELEASE = ("release", "--data", str(DATA), "--question", "count(age >= 65)", "--epsilon", "1")


def run(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "optimaldp", *arguments], stderr=subprocess.PIPE, text=True, check=False, **more
    )


def last_line(ran: subprocess.CompletedProcess[str]) -> str:
    assert ran.returncode == 2, ran.stderr
    assert "Traceback" not in ran.stderr
    return ran.stderr.splitlines()[-1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_output_says_how_to_get_the_answer_again() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        assert "could not be written" in last_line(run(*RELEASE, stdout=full))


@pytest.mark.skipif(sys.platform == "win32", reason="a shell that closes standard output")
def test_a_closed_output_is_refused_before_anything_is_asked() -> None:
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "optimaldp", *RELEASE],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert "standard output is closed" in last_line(closed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("content", "said"), [("x=" + "[" * 5000 + "]" * 5000, "nested too deeply"), ("x=" + "1" * 5000, "too many digits")]
)
def test_a_plan_that_no_reader_takes(tmp_path: Path, content: str, said: str) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(content, encoding="utf-8")
    assert said in last_line(run("release", "--plan", str(plan), stdout=subprocess.PIPE))
