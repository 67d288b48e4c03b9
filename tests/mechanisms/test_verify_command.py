"""``optimaldp verify`` as other programs use it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from fractions import Fraction

import pytest

PROBLEM = {
    "answers": ["yes", "no"],
    "privacy": {"epsilon": "ln(2)", "delta": 0},
    "edges": [["a", "b"]],
    "prefers": {"a": "yes", "b": "no"},
}


def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    program = "from optimaldp.cli import main; main()"
    return subprocess.run([sys.executable, "-c", program, *arguments], input=stdin, capture_output=True, check=False)


def balanced(p: str) -> dict:
    rest = str(1 - Fraction(p))
    return PROBLEM | {"mechanism": {"a": {"yes": p, "no": rest}, "b": {"yes": rest, "no": p}}}


@pytest.mark.long
@pytest.mark.parametrize(("p", "private", "code"), [("2/3", True, 0), ("0.6667", False, 1), ("0.5", True, 0)])
def test_the_verdict_is_json_and_the_exit_code_says_it(p, private, code):
    done = run("verify", "-", stdin=json.dumps(balanced(p)).encode())
    found = json.loads(done.stdout)
    assert done.returncode == code
    assert found["private"] is private
    assert found["worst_edge"] == ["a", "b"]
    assert found["optimal"] is None
    assert Fraction(str(found["epsilon"])) >= 0
    assert list(found)[:4] == ["private", "worst_edge", "epsilon", "optimal"]


def test_an_infinite_epsilon_is_a_string(tmp_path):
    path = tmp_path / "sure.json"
    path.write_text(json.dumps(balanced("1")))
    done = run("verify", str(path))
    assert done.returncode == 1
    assert json.loads(done.stdout)["epsilon"] == "inf"


@pytest.mark.long
def test_what_design_writes_verify_accepts():
    for extra in ({"boundary": "balanced"}, {"fixed": {"a": {"yes": "0.7", "no": "0.3"}}}):
        for level in ("ln(2)", 0.3):
            problem = PROBLEM | {"privacy": {"epsilon": level, "delta": "1e-6"}} | extra
            made = run("design", "-", stdin=json.dumps(problem).encode())
            if made.returncode != 0:
                continue
            done = run("verify", "-", stdin=made.stdout)
            found = json.loads(done.stdout)
            assert (done.returncode, found["private"], found["optimal"]) == (0, True, True), (extra, level, found)


BAD = {
    "not JSON": b"{",
    "nothing": b"",
    "noise": random.Random(2).randbytes(10**6),
    "printable noise": bytes(random.Random(3).choices(b'abc{}[]",:0123456789 \n', k=10**6)),
    "no mechanism": json.dumps(PROBLEM).encode(),
    "a sum": json.dumps(PROBLEM | {"mechanism": {"a": {"yes": 0.7}, "b": {"yes": 1}}}).encode(),
    "NaN": b'{"answers": ["a", "b"], "privacy": {"epsilon": NaN}, "edges": [], "prefers": {"v": "a"}}',
    "a duplicate": b'{"edges": [], "edges": []}',
    "unknown field": json.dumps(balanced("1/2") | {"colour": 1}).encode(),
    "negative epsilon": json.dumps(balanced("1/2") | {"privacy": {"epsilon": -1}}).encode(),
}


@pytest.mark.long
@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_exit_code_2(name):
    done = run("verify", "-", stdin=BAD[name])
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr
    assert len(done.stderr.decode().strip().splitlines()) == 1


def test_a_missing_file_is_one_line(tmp_path):
    done = run("verify", str(tmp_path / "nowhere.json"))
    assert done.returncode == 2
    assert len(done.stderr.decode().strip().splitlines()) == 1
