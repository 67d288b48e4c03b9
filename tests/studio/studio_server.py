"""A studio that listens: the real command in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SLOW_QUESTION = (
    "winner(x, [" + ", ".join(f"'{i}'" for i in range(3000)) + "])"
)  # at epsilon 0.001: more than half a minute


@contextlib.contextmanager
def running_studio(*options: str) -> Iterator[str]:
    """The address of a studio on a free port; it is stopped at the end, with its workers."""
    program = "from optimaldp.cli import main; main()"
    command = [sys.executable, "-c", program, "studio", "--no-open", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[2].rstrip("/")
    finally:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()
        process.stdout.close()


def write_survey(folder: Path) -> Path:
    """A table whose counts and cells look like nothing else in the project."""
    path = folder / "survey.csv"
    rows = ["Zyzzyva-7431,yes,31"] * 7431 + ["Qwixotic-9917,no,47"] * 9917 + ["Brillig-5573,no,62"] * 5573
    path.write_text("\n".join(["name,smokes,age", *rows]) + "\n")
    return path


CANARIES = ("Zyzzyva", "Qwixotic", "Brillig", "7431", "9917", "5573", "17348", "13004", "15490")
"""Cells, counts and sums of counts of the survey: none of them may reach a browser. (The number of rows is public here.)"""


PATIENTS = 600


def write_hospital(folder: Path) -> Path:
    """Two visits of each patient, as hospitals write them: 1.234,56, 31.12.2024, Latin-1, and a column called *alter*."""
    lines = ["patient_id;ward;alter;cost;smokes;admitted"]
    for patient in range(PATIENTS):
        ward = ("Pädiatrie", "Chirurgie", "Zyzzyva")[patient % 3]
        for visit in range(2):
            cost = ("8.317,25", "1.200,50", "", "Qwixotic")[(patient + visit) % 4]
            lines.append(f"P{patient};{ward};{patient % 90};{cost};{'ja' if patient % 4 == 0 else 'nein'};31.12.2024")
    path = folder / "hospital.csv"
    path.write_text("\n".join(lines) + "\n", encoding="latin-1")
    return path
