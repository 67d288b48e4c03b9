"""The harness that tries faults: it finds them, tells survivors from the rest, and leaves nothing behind."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray", reason="the mutation extra is not installed")
if not hasattr(os, "fork"):
    pytest.skip("faults are tried in forked processes", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.mutation.child import Child, _processor_ticks, copy_tree, wait_for
from tools.mutation.mutants import Mutant, change, mutants_of
from tools.mutation.reach import Reach, is_named_for
from tools.mutation.report import interval, read_listed, summary, survival, too_many
from tools.mutation.serve import Order, serve
from tools.mutation.targets import ROOT, Target, read_targets
from tools.mutation.trial import KILLED, SURVIVED, TIMEOUT, UNREACHED, Outcome, read_outcome

SOURCE = '''"""A counter."""

from __future__ import annotations

from functools import cache, partial

LEAST = 3


def steps(limit: int | None) -> int:
    total = 0
    while total < (limit or 0):
        total = total + 1
    return total


def never(value: int, *, öther: int = 0) -> bool:
    return value == 7


@cache
def kept(value: int, by: int = 2) -> int:
    return value * by


class Box:
    size: int = 5

    @property
    def double(self) -> int:
        return self.size + self.size


bound = partial(kept, 4)
'''
PATH = "src/optimaldp/toy/counter.py"
TARGET = Target("toy", (PATH,), ("tests/toy",))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """Every fault of the toy, by the line after it, tried with a test that checks little."""
    root = tmp_path_factory.mktemp("tree")
    (root / "src/optimaldp/toy").mkdir(parents=True)
    for package in ("src/optimaldp", "src/optimaldp/toy"):
        (root / package / "__init__.py").write_text("")
    (root / PATH).write_text(SOURCE)
    (root / "tests/toy").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['slow', 'spark']\n")
    (root / "tests/toy/test_counter.py").write_text(
        "from optimaldp.toy.counter import LEAST, Box, bound, kept, steps\n"
        "BEFORE = kept(3), bound()\n"  # kept by the cache from before the fault
        "def test_three(): assert steps(3) >= 3\n"
        "def test_none(): assert steps(None) == 0\n"
        "def test_kept(): assert kept(3) == 6 and bound() == 8\n"
        "def test_box(): assert Box().double == 10 and LEAST == 3\n"
        "def test_wrong(): assert steps(2) == 5\n"
    )
    # A process of its own: one that has loaded libraries with threads, as a worker of the suite has, cannot be forked safely.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        tried = pool.apply(_tried, (root, tmp_path_factory.mktemp("copy")))
    return {one.after: one for one in tried}


def _tried(root: Path, copy: Path) -> list[Outcome]:
    messages = _served(root, copy)
    [reach] = [one for one in messages if isinstance(one, Reach)]
    assert reach.failing == ["tests/toy/test_counter.py::test_wrong"]
    assert messages[-1] is None
    assert (copy / PATH).read_text() == SOURCE == (root / PATH).read_text()
    return [one for one in messages if isinstance(one, Outcome)]


def _served(root: Path, copy: Path, reach_seconds: float = 60) -> list[object]:
    messages: list[object] = []
    mutants = [*mutants_of("toy", root, PATH)]
    notes = copy / "notes"
    serve(Order(TARGET, mutants, copy_tree(root, copy), notes, workers=2, reach_seconds=reach_seconds), messages.append)
    return messages


@pytest.mark.long
def test_each_fault_gets_the_verdict_that_it_deserves(outcomes: dict[str, Outcome]) -> None:
    verdicts = {after: one.verdict for after, one in outcomes.items()}
    assert verdicts["while total <= (limit or 0):"] == KILLED
    assert verdicts["total = total - 1"] == TIMEOUT
    assert verdicts["total = total + 2"] == SURVIVED  # 3 steps by two give 4, and the test asks for at least 3
    assert verdicts["return value != 7"] == UNREACHED
    assert verdicts["return value / by"] == KILLED, "what a cache kept from before the fault is forgotten"
    assert verdicts["return self.size - self.size"] == KILLED, "the body of a property is exchanged"
    assert verdicts["size: int = 6"] == verdicts["LEAST = 4"] == KILLED, "what acts at the import is imported again"
    assert verdicts["def kept(value: int, by: int = 3) -> int:"] == KILLED
    assert outcomes["LEAST = 4"].by == "tests/toy/test_counter.py::test_box"
    assert not any("int & None" in after for after in verdicts), "annotations are not run"
    assert not any("/, öther" in after for after in verdicts), "the star of a signature is no sign"


def test_a_survivor_with_a_reason_does_not_count(outcomes: dict[str, Outcome], tmp_path: Path) -> None:
    alive = [one for one in outcomes.values() if one.alive]
    assert survival(outcomes.values(), {}) == len(alive) / len(outcomes)
    listed = tmp_path / "equivalent.toml"
    listed.write_text(
        '[[survivor]]\npackage = "toy"\nfunction = "steps"\nbefore = "total = total + 1"\nafter = "total = total + 2"\n'
        'reason = "at least"\n'
    )
    known = read_listed(listed)
    listed.write_text(listed.read_text().replace('after = "total = total + 2"\n', ""))
    assert survival(outcomes.values(), read_listed(listed)) == survival(outcomes.values(), known)
    assert survival(outcomes.values(), known) == (len(alive) - 1) / (len(outcomes) - 1)
    assert "+ total = total + 2" in summary(list(outcomes.values()), {})
    assert " to " in summary(list(outcomes.values()), {}, {"toy": 1000}).splitlines()[1]
    assert "+ total = total + 2" not in summary(list(outcomes.values()), known)


def test_a_fault_in_a_constant_is_shown_first_to_those_who_run_a_line_that_names_it(tmp_path: Path) -> None:
    """Whoever only uses the module is quicker, and cannot notice."""
    (tmp_path / "limits.py").write_text("import other\n\nMOST = 30\nLEAST = 2\n\n\ndef few():\n    return LEAST\n")
    (tmp_path / "uses.py").write_text("import limits\n\n\ndef many():\n    return 1 > limits.MOST\n")
    lines = {"limits.py": {8: ["quick"]}, "uses.py": {5: ["slow", "slower"]}}
    reach = Reach(lines, {"quick": 0.1, "slow": 1.0, "slower": 2.0, "elsewhere": 0.0}, [])
    most, least = (Mutant("toy", "limits.py", "<module>", "", 0, line, line, "") for line in (3, 4))
    assert reach.tests_for_import(most, tmp_path) == ["slow", "slower", "quick", "elsewhere"]
    assert reach.tests_for_import(least, tmp_path) == ["quick", "elsewhere", "slow", "slower"]
    unnamed = Mutant("toy", "limits.py", "<module>", "", 0, 1, 1, "")
    assert reach.tests_for_import(unnamed, tmp_path) == ["quick", "elsewhere", "slow", "slower"]


def test_tests_are_named_for_a_module() -> None:
    path = "src/optimaldp/tables/csv_lines.py"
    assert is_named_for("tests/tables/test_csv_lines.py::test_grammar[csv]", path)
    assert not is_named_for("tests/csv_lines/test_csv_cells.py::test_csv_lines", path)


def test_the_list_of_this_tree_can_be_read_and_each_line_has_its_reason() -> None:
    listed = read_listed()
    assert listed
    names = {target.name for target in read_targets()[0]}
    assert {package for package, *_ in listed} <= names
    assert all(reason.strip() for reason in listed.values())


def test_the_interval_of_a_sample() -> None:
    low, high = interval(10, 100)
    assert 0.05 < low < 0.06
    assert 0.17 < high < 0.18
    assert interval(0, 10)[0] == 0 < interval(0, 10)[1] < 0.3


def test_a_small_sample_proves_little(outcomes: dict[str, Outcome]) -> None:
    alive = next(one for one in outcomes.values() if one.alive)
    dead = next(one for one in outcomes.values() if not one.alive)
    assert too_many([alive, dead, dead, dead], {}, 0.2, sure=0.0)
    assert not too_many([alive, dead, dead, dead], {}, 0.2, sure=0.99)
    assert too_many([alive] * 20 + [dead] * 20, {}, 0.2, sure=0.99)
    assert not too_many([alive] * 2 + [dead] * 8, {}, 0.2, sure=0.0)


@pytest.mark.long
def test_tests_that_take_too_long_are_given_up(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / PATH).parent.mkdir(parents=True)
    (root / PATH).write_text("")
    (root / "tests/toy").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['slow', 'spark']\n")
    (root / "tests/toy/test_slow.py").write_text("import time\ndef test_it(): time.sleep(60)\n")
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # forked from a process without threads, as above
        messages = pool.apply(_served, (root, tmp_path / "copy", 0.5))
    assert messages == ["toy: its tests take longer than 0 s here, so it is left out", None]


def test_a_listed_fault_is_still_in_the_source() -> None:
    """Code that moved on leaves its entries behind, and a reader takes them for promises."""
    lines = {
        one.name: {line.strip() for path in one.sources for line in (ROOT / path).read_text("utf-8").splitlines()}
        for one in read_targets()[0]
    }
    gone = [(package, function) for package, function, before, _ in read_listed() if before not in lines[package]]
    assert gone == []


def test_results_can_be_read_again(outcomes: dict[str, Outcome]) -> None:
    assert all(read_outcome(one.to_json()) == one for one in outcomes.values())


def test_a_place_that_does_not_exist_is_no_fault(outcomes: dict[str, Outcome], tmp_path: Path) -> None:
    (tmp_path / PATH).parent.mkdir(parents=True)
    (tmp_path / PATH).write_text("")
    with pytest.raises(ValueError, match="is no fault"):
        change(tmp_path, next(iter(outcomes.values())).mutant)


def test_targets_follow_files_that_move(tmp_path: Path) -> None:
    table = tmp_path / "targets.toml"
    table.write_text(
        '[a]\nsources = ["a/**/*.py"]\nwithout = ["a/room/left.py"]\ntests = ["a"]\n'
        '[gone]\nsources = ["gone/*.py"]\ntests = ["a"]\n'
    )
    (tmp_path / "src/optimaldp/a/room").mkdir(parents=True)
    (tmp_path / "src/optimaldp/a/room/moved.py").write_text("")
    (tmp_path / "src/optimaldp/a/room/left.py").write_text("")
    (tmp_path / "tests/a").mkdir(parents=True)
    targets, complaints = read_targets(tmp_path, table)
    assert [one.sources for one in targets] == [("src/optimaldp/a/room/moved.py",)]
    assert complaints == ["gone: no sources match, so it is left out"]


def test_the_targets_of_this_tree_exist() -> None:
    names = {one.name for one in read_targets()[0]}
    assert {
        "privacy",
        "sampling",
        "certify-graphs",
        "certify-channels",
        "certify-questions",
        "questions",
        "noise",
        "ledger",
        "tables",
    } <= names


def test_a_sample_looks_at_what_is_quick(tmp_path: Path) -> None:
    table = tmp_path / "targets.toml"
    table.write_text(
        '[a]\nsources = ["a/*.py"]\ntests = ["a"]\n[a.sample]\nsources = ["a/one.py"]\ntests = ["a/test_one.py"]\n'
        '[b]\nsources = ["a/*.py"]\ntests = ["a"]\nsample = false\n[c]\nsources = ["a/two.py"]\ntests = ["a"]\n'
    )
    for path in ("src/optimaldp/a/one.py", "src/optimaldp/a/two.py", "tests/a/test_one.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    both = ("src/optimaldp/a/one.py", "src/optimaldp/a/two.py")
    assert [(one.name, one.sources) for one in read_targets(tmp_path, table)[0]] == [
        ("a", both),
        ("b", both),
        ("c", both[1:]),
    ]
    sample = read_targets(tmp_path, table, sample=True)[0]
    assert [(one.name, one.sources, one.tests) for one in sample] == [
        ("a", both[:1], ("tests/a/test_one.py",)),
        ("c", both[1:], ("tests/a",)),
    ]


def test_a_sample_of_this_tree_draws_from_several_packages() -> None:
    assert {"privacy", "sampling", "ledger"} <= {one.name for one in read_targets(sample=True)[0]}


def test_whoever_waits_for_nothing_is_given_up_and_whoever_works_is_not() -> None:
    child = Child(lambda _: time.sleep(600), seconds=0.02)
    while wait_for([child]):
        pass
    assert child.too_long
    before = _processor_ticks(os.getpid())
    while _processor_ticks(os.getpid()) == before:  # ends because working shows
        sum(range(10_000))
    assert _processor_ticks(2**22 + 1) == 0  # nobody
