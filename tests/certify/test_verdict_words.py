"""How a verdict was proven, what it says, and what a file claims."""

from __future__ import annotations

import math

from optimaldp.certify.graphs import rounding as loops
from optimaldp.certify.graphs.rounding import Loop
from optimaldp.certify.graphs.verdict import DesignVerdict


def test_loops_are_compiled_from_where_it_pays(monkeypatch):
    def source(x):
        return ("plain", x)

    loop = Loop(source)
    loop.__dict__["compiled"] = lambda x: ("compiled", x)
    assert loop(loops.COMPILE_FROM - 1, 5) == ("plain", 5)
    assert loop(loops.COMPILE_FROM, 5) == ("compiled", 5)
    monkeypatch.setattr(loops, "numba_if_installed", lambda: None)
    assert Loop(source).compiled is source


def verdict(**changes):
    settings = {"private": True, "worst_edge": ("u", "v"), "epsilon": 1.0, "optimal": True, "gap": 0.0, "reason": "so"}
    return DesignVerdict(**(settings | changes))


def test_how_a_verdict_was_proven():
    assert verdict().proof == "exact"
    assert verdict(gap=1e-30).proof == "exact"
    assert verdict(gap=1.1e-30).proof == verdict(gap=1e-12).proof == "floating-point"
    assert verdict(optimal=False).proof is verdict(optimal=None).proof is verdict(gap=None).proof is None
    assert repr(verdict()) == "DesignVerdict(private, optimal, proven exactly, least epsilon 1, worst edge u – v)"
    assert "proven in floating point" in repr(verdict(gap=1e-12))
    assert (
        repr(verdict(optimal=False, worst_edge=None)) == "DesignVerdict(private, not proven optimal, least epsilon 1)"
    )
    assert "optimal" not in repr(verdict(optimal=None, private=False))
    assert [
        bool(verdict(private=p, optimal=o)) for p, o in ((True, True), (True, None), (True, False), (False, True))
    ] == [
        True,
        True,
        False,
        False,
    ]
    assert verdict(epsilon=math.inf).to_document()["epsilon"] == "inf"
    assert verdict().to_document() == {
        "private": True, "worst_edge": ["u", "v"], "epsilon": 1.0, "optimal": True, "proof": "exact", "claim": None,
        "gap": 0.0, "reason": "so",
    }  # fmt: skip
    assert verdict(worst_edge=None).to_document()["worst_edge"] == []
    assert dict(verdict(gap=0.00123456).details())["gap"] == "0.00123"
    assert dict(verdict(gap=None).details())["gap"] == ""
