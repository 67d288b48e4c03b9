"""A class has one name and a name one class: nobody has to ask which Plan, which Proof."""

from __future__ import annotations

import ast
from collections import defaultdict

from source_trees import source_trees

from optimaldp.certify.core.meanings import KINDS

# Functions whose name once stood in several rooms with several meanings.
ONE_MEANING = ("read_level", "count", "compare", "levels_of", "mechanism_document", "solve")
PUBLIC = {
    "count": {
        "channels/databases.py",
        "questions/kinds/threshold.py",
    },  # a question, and the same in a channel's graph
    "compare": {
        "mechanisms/dominance.py",
        "questions/kinds/compare.py",
    },  # always said with its module
}


def homes(kind: type[ast.ClassDef | ast.FunctionDef]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for path, tree in source_trees().items():
        for node in tree.body:
            if isinstance(node, kind):
                found[node.name].add(path)
    return found


def test_a_class_has_a_name_of_its_own() -> None:
    public = {name: where for name, where in homes(ast.ClassDef).items() if not name.startswith("_")}
    assert {name: sorted(where) for name, where in public.items() if len(where) > 1} == {}
    assert len(public) > 300  # it looked at something


def test_functions_that_were_confused_stay_apart() -> None:
    where = homes(ast.FunctionDef)
    for name in ONE_MEANING:
        assert where[name] == PUBLIC[name] if name in PUBLIC else len(where[name]) <= 1, (name, sorted(where[name]))


def test_the_referee_gives_verdicts_and_notes_findings() -> None:
    """A design has a claim, a claim has a proof, the referee gives a verdict; a finding is about one mechanism of a release."""
    bases = {
        node.name: [ast.unparse(base) for base in node.bases]
        for tree in source_trees().values()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    verdicts = {name for name in bases if name.endswith("Verdict")} - {"Verdict"}
    assert len(verdicts) == 5
    assert {name for name in verdicts if bases[name] != ["Verdict"]} == set()
    assert {name for name in bases if name.endswith("Finding")} == {"Finding"}


# What one search cannot do: a whole array at once, a question that may stay undecided, an end that is relative.
OWN_SEARCH = {"histograms/remaps/cell_law.py", "laws/number_noise.py", "asking/previewing.py"}


def test_there_is_one_bisection() -> None:
    halving = {
        path
        for path, tree in source_trees().items()
        for loop in ast.walk(tree)
        if isinstance(loop, ast.While | ast.For)
        for node in loop.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "middle"
    }
    assert halving == OWN_SEARCH | {"privacy/numbers.py"}


ONE_WORD = ("Table", "Counts", "Number", "Bound", "Level", "Point", "PointRows")


def test_an_alias_says_what_the_word_says_elsewhere() -> None:
    """A word of ours has one meaning: one class, or the same alias wherever it stands."""
    meanings: dict[str, set[str]] = defaultdict(set)
    for tree in source_trees().values():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                meanings[node.name].add("class")
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                meanings[node.targets[0].id].add(ast.unparse(node.value))
    assert {word: said for word in ONE_WORD if len(said := meanings[word]) > 1} == {}
    assert meanings["Bound"] == meanings["Table"] == {"class"}
    assert meanings["Number"] == {"Any"}


def test_no_class_is_bent() -> None:
    """What a frozen class works out is a property, a hook that not every kind has is a class of its own."""
    written = {path: ast.unparse(tree) for path, tree in source_trees().items()}
    assert [path for path, text in written.items() if "raise NotImplementedError" in text] == []
    # A source of bits is no frozen class: in a forked process it begins anew.
    assert [path for path, text in written.items() if "vars(self).update" in text] == ["sampling/bits.py"]


def test_nobody_asks_for_a_kind_of_question_by_its_name() -> None:
    """Outside of a kind's own file and of the table of what the referee knows of each kind."""
    asked = {
        path
        for path, tree in source_trees().items()
        if not path.startswith("questions/kinds/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("['kind']")
        for named in map(ast.unparse, node.comparators)
        if any(repr(kind) in named for kind in (*KINDS, "top", "keys", "histogram", "quantiles", "crosstab"))
    }
    assert asked == {"certify/core/meanings.py"}
