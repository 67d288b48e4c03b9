"""Six real calls, traced: which packages they pass through, how many modules and functions, how deep; and the picture.

python docs/generate/architecture.py            prints the table; names of calls behind it: of these alone
python docs/generate/architecture.py --write    rewrites the table and the pictures of docs/architecture.md
python docs/generate/architecture.py --json     prints the numbers, so that two versions can be compared
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
PICTURES = ROOT / "docs" / "images"
SURVEY = str(ROOT / "examples" / "data" / "anes1996.csv")
HEADER = (
    "call",
    "modules",
    "functions",
    "depth",
    "packages, in the order they are entered (doors used)",
)
STORY = "asking"
_NO_FUNCTION = ("<module>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>", "<lambda>")


@dataclass
class Walk:
    """What one call passed through inside optimaldp."""

    name: str
    functions: set[tuple[str, str]] = field(default_factory=set)
    """Module and qualified name; lambdas and comprehensions belong to the function around them."""
    depth: int = 0
    crossings: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a function of one package called one of another."""
    packages: list[str] = field(default_factory=list)
    doors: set[tuple[str, str]] = field(default_factory=set)
    """The functions that were called from another package."""
    stays: list[str] = field(default_factory=list)
    """The packages into which ``asking``, which tells the story of a release, goes itself, one after the other."""

    @property
    def modules(self) -> set[str]:
        return {module for module, _ in self.functions}

    def entries(self, package: str) -> int:
        """How often the walk came into *package* from another one."""
        return sum(times for (_, into), times in self.crossings.items() if into == package)

    def doors_of(self, package: str) -> int:
        """How many functions of *package* others called: unlike the calls, it does not depend on what was drawn."""
        return sum(package_of(module) == package for module, _ in self.doors)

    def row(self) -> tuple[str, str, str, str, str]:
        entered = " → ".join(f"{package} ({self.doors_of(package)})" for package in self.packages)
        return self.name, str(len(self.modules)), str(len(self.functions)), str(self.depth), entered

    def numbers(self) -> dict[str, Any]:
        return {
            "modules": len(self.modules),
            "functions": len(self.functions),
            "depth": self.depth,
            "stays": self.stays,
            "packages": {p: {"doors": self.doors_of(p), "calls": self.entries(p)} for p in self.packages},
        }


def package_of(module: str) -> str:
    """The room a module stands in: ``optimaldp.tables.counting`` is in tables, ``optimaldp.errors`` in errors."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


class _Tracer:
    """A profile function: Python tells it of every call and return. One stack for each thread."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self._stacks = threading.local()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        # With the dot: the front door itself, optimaldp/__init__.py, only hands out names.
        if event not in ("call", "return") or not module.startswith("optimaldp."):
            return
        stack: list[tuple[str, str]] = self._stacks.__dict__.setdefault("frames", [])
        if event == "call":
            stack.append((module, frame.f_code.co_name))
            # The first use of a name imports its module; what runs then belongs to the import and not to the walk.
            if all(name != "<module>" for _, name in stack):
                self._enter(frame.f_code, stack)
        elif stack:
            stack.pop()

    def _enter(self, code: CodeType, stack: list[tuple[str, str]]) -> None:
        walk, module = self.walk, stack[-1][0]
        package = package_of(module)
        above = package_of(stack[-2][0]) if len(stack) > 1 else "caller"
        walk.depth = max(walk.depth, len(stack))
        if code.co_name in _NO_FUNCTION or code.co_filename == "<string>":
            return  # what a dataclass writes for itself stands in no file
        walk.functions.add((module, code.co_qualname))
        if package not in walk.packages:
            walk.packages.append(package)
        if above == STORY != package and walk.stays[-1:] != [package]:
            walk.stays.append(package)
        if above != package:
            walk.crossings[above, package] += 1
            walk.doors.add((module, code.co_qualname))


@contextmanager
def tracing(walk: Walk) -> Any:
    """Fill *walk* with every call inside the block, of this thread and of those that it starts."""
    tracer = _Tracer(walk)
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _release(_: Path) -> Callable[[], Any]:
    # By name, here: that the front door loads a name on its first use is no part of the walk.
    from optimaldp import release, share

    return lambda: release(SURVEY, share("age >= 65") >= 0.2, epsilon=1, delta=1e-6)


def _release_again(folder: Path) -> Callable[[], Any]:
    """The same question once more in the same process: the referee has seen it, so this is the path of the data alone."""
    call = _release(folder)
    call()
    return call


def _design(_: Path) -> Callable[[], Any]:
    from optimaldp import design, graphs

    return lambda: design(graphs.votes(3), truth=graphs.majority, epsilon="ln(2)", delta="0.1")


def _ask(folder: Path) -> Callable[[], Any]:
    import optimaldp as odp

    table = odp.open(SURVEY, budget=odp.Budget(epsilon=3, delta=1e-6), ledger=folder / "survey.ledger")
    winner = odp.winner
    return lambda: table.ask(winner("expected_vote", ["Clinton", "Dole"]), epsilon=0.5)


def _histogram(_: Path) -> Callable[[], Any]:
    from optimaldp import histogram, release

    return lambda: release(SURVEY, histogram("expected_vote", ["Clinton", "Dole"]), epsilon=1)


def _studio(folder: Path) -> Callable[[], Any]:
    """What a worker of the studio does for one request; the web server around it holds no data."""
    import optimaldp as odp
    from optimaldp.studio.calls import Calls

    ledger = folder / "studio.ledger"
    odp.open(SURVEY, budget=odp.Budget(epsilon=9, delta=1e-5), ledger=ledger)
    calls = Calls({"data": SURVEY, "ledger": str(ledger), "kept": True})
    body = json.dumps({"question": "share(age >= 65) >= 0.2", "epsilon": "1", "delta": "1e-6", "confirm": True})
    return lambda: _succeed(calls.run("release", body))


def _succeed(answer: tuple[int, str]) -> None:
    status, text = answer
    if status != 200:
        raise RuntimeError(f"the studio refused its request: {text}")


CALLS: dict[str, Callable[[Path], Callable[[], Any]]] = {
    "release(csv)": _release,
    "release(csv) again": _release_again,
    "design": _design,
    "ask with ledger": _ask,
    "histogram": _histogram,
    "studio request": _studio,
}


def trace(name: str) -> Walk:
    """Trace one of :data:`CALLS`."""
    walk = Walk(name)
    with tempfile.TemporaryDirectory() as folder:
        call = CALLS[name](Path(folder))
        with tracing(walk):
            call()
    return walk


def trace_all(names: Iterable[str] = CALLS) -> list[Walk]:
    """Every call in a process of its own: what one call has cached must not shorten the walk of the next."""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        return [pool.apply(trace, (name,)) for name in names]


def table(walks: list[Walk]) -> str:
    """The table as Markdown."""
    rows = [HEADER, ("---", "---:", "---:", "---:", "---"), *(walk.row() for walk in walks)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def picture(walk: Walk) -> str:
    """The packages from top to bottom as they are entered; calls onward on the right, calls back on the left."""
    height, box, top = 46, 190, 56
    left = 330
    places = {package: top + height * i for i, package in enumerate(walk.packages)}
    size = top + height * len(places) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 850 {size}" font-family="sans-serif" font-size="13" role="img">',
        f"<title>{escape(walk.name)}: {len(walk.modules)} modules, {len(walk.functions)} functions, {walk.depth} deep</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{left + box / 2}" y="24" text-anchor="middle" font-weight="bold">{escape(walk.name)}</text>',
        f'<text x="{left + box / 2}" y="42" text-anchor="middle" fill="#555555">{len(walk.modules)} modules, '
        f"{len(walk.functions)} functions, {walk.depth} deep</text>",
    ]
    parts += [
        _arc(places, pair, times, left, box) for pair, times in sorted(walk.crossings.items()) if pair[0] in places
    ]
    for package, y in places.items():
        inside = sum(package_of(module) == package for module, _ in walk.functions)
        parts += [
            f'<rect x="{left}" y="{y}" width="{box}" height="30" rx="5" fill="#E8F1FA" stroke="#0072B2"/>',
            f'<text x="{left + 10}" y="{y + 20}">{escape(package)}</text>',
            f'<text x="{left + box - 10}" y="{y + 20}" text-anchor="end" fill="#555555">{inside}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def _arc(places: dict[str, int], pair: tuple[str, str], times: int, left: int, box: int) -> str:
    """A curve whose reach grows with the distance, so that two arcs from one box stay apart; its width with the calls."""
    start, end = places[pair[0]] + 15, places[pair[1]] + 15
    onward = end > start
    x, sign, colour = (left + box, 1, "#0072B2") if onward else (left, -1, "#D55E00")
    reach = x + sign * (30 + min(abs(end - start) * 0.55, 260))
    width = 1 + min(times, 60) ** 0.5 * 0.5
    words = f"{pair[0]} calls {pair[1]} {times} times"
    return (
        f'<path d="M {x} {start} C {reach:.0f} {start} {reach:.0f} {end} {x} {end}" fill="none" stroke="{colour}" '
        f'stroke-width="{width:.1f}" opacity="0.7"><title>{escape(words)}</title></path>'
        f'<circle cx="{x}" cy="{end}" r="3.5" fill="{colour}"/>'
    )


def write(walks: list[Walk]) -> None:
    """Put the table between the page's marks and each picture into docs/images."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition("<!-- trace -->\n")
    _, end, after = rest.partition("<!-- end of trace -->")
    if not (begin and end):
        raise SystemExit(f"{PAGE.name} has lost its marks <!-- trace --> and <!-- end of trace -->")
    PAGE.write_text(f"{before}{begin}{table(walks)}\n{end}{after}", encoding="utf-8")
    for walk in walks:
        name = "".join(letter if letter.isalpha() else "-" for letter in walk.name).strip("-")
        (PICTURES / f"walk-{name}.svg").write_text(picture(walk), encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Trace six calls through the packages of optimaldp.")
    parser.add_argument("--write", action="store_true", help="rewrite docs/architecture.md and its pictures")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("calls", nargs="*", metavar="CALL", help=f"some of the calls: {', '.join(CALLS)}")
    options = parser.parse_args(arguments)
    if unknown := set(options.calls) - set(CALLS):
        parser.error(f"unknown calls: {', '.join(sorted(unknown))}")
    walks = trace_all(CALLS if options.write or not options.calls else options.calls)
    if options.json:
        print(json.dumps({walk.name: walk.numbers() for walk in walks}, indent=2))
    else:
        print(table(walks))
    if options.write:
        write(walks)


if __name__ == "__main__":
    main()
