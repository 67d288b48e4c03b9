"""Compile the machine-checked theorems, and check what they rest on.

    python -m tools.proofs build     compile every file of proofs/ into build/proofs
    python -m tools.proofs check     forbidden words, assumptions against proofs/assumptions.txt, computed values, coqchk
    python -m tools.proofs compute   write proofs/Computed.v again from the values that our own functions compute

Coq 8.16 or later and its standard library are enough (``apt-get install coq``). Without ``coqc`` both commands say so and
leave with 0: continuous integration asks for it by itself.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tools.proof_values import computed_file

ROOT = Path(__file__).resolve().parents[1]
PROOFS = ROOT / "proofs"
BUILT = ROOT / "build" / "proofs"
COMPUTED = PROOFS / "Computed.v"
PINNED = PROOFS / "assumptions.txt"
MISSING = "coqc is not installed, so the machine-checked theorems are skipped (apt-get install coq)"

# Words that let a statement pass without a proof, or that switch a check of Coq's kernel off.
FORBIDDEN = re.compile(
    r"\b(Admitted|Admit|Axioms?|Parameters?|Conjectures?|Primitive|admit|give_up|bypass_check|Abort|Load|Declare\s+M\w+"
    r"|Unset\s+\w+\s+Checking)\b"
)
# Inside of a section these are hypotheses of its statements; outside they are axioms by another name.
_BEFORE = r"^\s*(?:#\[[^\]]*\]\s*|(?:Local|Global|Program|Polymorphic)\s+)*"
ASSUMED = re.compile(_BEFORE + r"(Hypothes[ie]s|Variables?|Context)\b")
OPENED_OR_CLOSED = re.compile(r"\s*(Section|Module|End)\s")
STATEMENT = re.compile(
    _BEFORE + r"(?:Theorem|Lemma|Corollary|Example|Fact|Remark|Proposition|Property)\s+([\w']+)", re.MULTILINE
)
_SKIPPED = re.compile(r'\(\*|\*\)|"(?:[^"]|"")*"')
# The comment that says which sentence of docs/proven.md a theorem proves stands right above it.
MAIN_WITH_SECTION = re.compile(
    r"\(\*\* proven\.md section (\d+)(?:(?!\*\)).)*\*\)\s*(?:Theorem|Lemma|Corollary)\s+([\w']+)", re.DOTALL
)


def without_comments(text: str) -> str:
    """What Coq reads of *text*: comments may hold comments, and neither begins inside of a string.

    >>> without_comments("Lemma a (* (* no *) Axiom *) : True.")
    'Lemma a  : True.'
    """
    kept, depth, after = [], 0, 0
    for found in _SKIPPED.finditer(text):
        if not depth:
            kept.append(text[after : found.start()] + (found[0] if found[0][0] == '"' else ""))
        depth = max(0, depth + {"(*": 1, "*)": -1}.get(found[0], 0))
        after = found.end()
    return "".join(kept) + (text[after:] if not depth else "")


def forbidden_words(text: str) -> list[str]:
    """The words of *text* that could hide a missing proof, outside of comments.

    >>> forbidden_words("Lemma a : 1 = 2. Admitted. (* no Axiom here *)")
    ['Admitted']
    >>> forbidden_words("Section S. Variable n : nat. End S. Hypothesis h : 1 = 2.")
    ['Hypothesis']
    """
    read = without_comments(text)
    return FORBIDDEN.findall(read) + _assumed_outside(read)


def _assumed_outside(text: str) -> list[str]:
    """What is assumed where no section is open: inside of sections it is a hypothesis that every statement shows."""
    open_now: list[str] = []
    found = []
    for sentence in re.split(r"\.\s", text):
        if word := ASSUMED.match(sentence):
            found += [] if "Section" in open_now else [word[1]]
        elif opened := OPENED_OR_CLOSED.match(sentence):
            if opened[1] == "End":
                open_now.pop()
            elif ":=" not in sentence:
                open_now.append(opened[1])
    return found


def compile_all(sources: Path, target: Path) -> None:
    """Compile the files of *sources* inside *target*, those that changed and those that stand on them.

    :raises subprocess.CalledProcessError: a file does not compile; the error of Coq is in ``stderr``.
    """
    _copy(sources, target)
    needs = {name: _needed(target / f"{name}.v") for name in in_order(target)}
    running: dict[str, Future[None]] = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as workers:
        for name in _out_of_date(target, needs):
            earlier = [running[each] for each in needs[name] if each in running]
            running[name] = workers.submit(_compile_after, earlier, target, name)
    for each in running.values():
        each.result()


def _copy(sources: Path, target: Path) -> None:
    """Bring the copies in *target* up to date, and forget what was compiled from another text."""
    target.mkdir(parents=True, exist_ok=True)
    wanted = {path.name: path.read_text() for path in sources.glob("*.v")}
    for copy in {target / name for name in wanted} | set(target.glob("*.v")):
        if not copy.exists() or copy.read_text() != wanted.get(copy.name):
            copy.with_suffix(".vo").unlink(missing_ok=True)
            if copy.name in wanted:
                copy.write_text(wanted[copy.name])
            else:
                copy.unlink()


def _out_of_date(folder: Path, needs: dict[str, set[str]]) -> list[str]:
    """Files that are not compiled or stand on such a file, in order. What is old goes first: a run may fail half way."""
    found: list[str] = []
    for name, below in needs.items():
        compiled = folder / f"{name}.vo"
        if not compiled.exists() or below & set(found):
            compiled.unlink(missing_ok=True)
            found.append(name)
    return found


def _needed(source: Path) -> set[str]:
    return set(re.findall(r"\bDP\.(\w+)", without_comments(source.read_text())))


def _compile_after(others: list[Future[None]], folder: Path, name: str) -> None:
    """Compile one file when the files that it stands on are done. They were submitted earlier, so nobody waits in vain."""
    for other in others:
        other.result()
    compile_one(folder, name)


def compile_one(folder: Path, name: str) -> None:
    """Compile one file; the files that it stands on are compiled."""
    subprocess.run(
        ["coqc", "-q", "-Q", ".", "DP", f"{name}.v"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    )


def in_order(folder: Path) -> list[str]:
    """The files of *folder*, each after those that it stands on."""
    names = sorted(path.name for path in folder.glob("*.v"))
    found = subprocess.run(
        ["coqdep", "-Q", ".", "DP", "-sort", *names], cwd=folder, check=True, capture_output=True, text=True
    )
    return [Path(name).stem for name in found.stdout.split()]


def assumptions(folder: Path) -> list[str]:
    """The names of everything that the statements of *folder* rest on without a proof, by ``Print Assumptions``."""
    files = {path.stem: STATEMENT.findall(without_comments(path.read_text())) for path in sorted(folder.glob("*.v"))}
    lines = [f"Require DP.{name}." for name in files]
    everything = [f"@DP.{name}.{each}" for name, found in files.items() for each in found]
    lines += [f"Definition everything := ({', '.join(everything)}).", "Print Assumptions everything."]
    asked = folder / "asked"
    asked.mkdir(exist_ok=True)
    (asked / "Assumptions.v").write_text("\n".join(lines) + "\n")
    printed = subprocess.run(
        ["coqc", "-q", "-Q", "..", "DP", "Assumptions.v"], cwd=asked, check=True, capture_output=True, text=True
    )
    return sorted(re.findall(r"^([\w.']+)(?:\n ? ?)? : ", printed.stdout.partition("Axioms:")[2], re.MULTILINE))


def kernel_findings(folder: Path) -> list[str]:
    """What ``coqchk``, a second and smaller checker, has against the compiled files."""
    names = [f"DP.{name}" for name in in_order(folder)]
    done = subprocess.run(
        ["coqchk", "-silent", "-o", "-Q", ".", "DP", *names], cwd=folder, check=False, capture_output=True, text=True
    )
    if done.returncode:
        return [f"coqchk: {(done.stdout + done.stderr).strip()[-500:]}"]
    summary = done.stdout + done.stderr
    ours = [f"coqchk: {name} has no proof" for name in re.findall(r"^\s+(DP\.[\w.']+)\s*$", summary, re.MULTILINE)]
    unsafe = re.findall(
        r"^\* (Constants/Inductives relying on .*|Inductives whose .*): (?!<none>).*$", summary, re.MULTILINE
    )
    return ours + [f"coqchk: {line}" for line in unsafe]


def findings() -> list[str]:
    """Everything that is wrong with proofs/, as sentences; none is the only good answer."""
    found = [
        f"{path.name} uses the word {word}"
        for path in sorted(PROOFS.glob("*.v"))
        for word in forbidden_words(path.read_text())
    ]
    if COMPUTED.read_text() != computed_file():
        found.append("Computed.v differs from what our functions compute; run python -m tools.proofs compute")
    rests_on, pinned = assumptions(BUILT), PINNED.read_text().split()
    if rests_on != pinned:
        found.append(f"the theorems rest on {rests_on} and proofs/assumptions.txt says {pinned}")
    return found + kernel_findings(BUILT)


def build() -> int:
    try:
        compile_all(PROOFS, BUILT)
    except subprocess.CalledProcessError as failed:
        print(failed.stderr, file=sys.stderr)
        return 1
    statements = sum(len(STATEMENT.findall(without_comments(path.read_text()))) for path in PROOFS.glob("*.v"))
    print(f"proofs: {statements} statements of {len(list(PROOFS.glob('*.v')))} files compiled")
    return 0


def check() -> int:
    if build():
        return 1
    found = findings()
    for sentence in found:
        print(f"proofs: {sentence}", file=sys.stderr)
    if not found:
        print(f"proofs: checked by coqchk; assumptions: {', '.join(PINNED.read_text().split())}")
    return 1 if found else 0


def main(arguments: list[str]) -> int:
    if arguments == ["compute"]:
        COMPUTED.write_text(computed_file())
        return 0
    if arguments not in (["build"], ["check"]):
        print(__doc__)
        return 2
    if shutil.which("coqc") is None:
        print(f"proofs: {MISSING}")
        return 0
    return build() if arguments == ["build"] else check()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
