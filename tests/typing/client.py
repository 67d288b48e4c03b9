"""A client as an engineer writes one: it is not run, but checked by `make types`, so that the front door stays typed."""

from __future__ import annotations

from fractions import Fraction

import optimaldp as odp


def answers(path: str) -> list[str]:
    """Every way to ask, with the types that come back."""
    one: odp.Release = odp.release(path, odp.share("smokes = 'yes'", among="age >= 18") >= 0.3, epsilon=1, delta=1e-6)
    several: list[odp.Release] = odp.release(path, ["majority(a = 1)", "any(b = 2)"], epsilon="ln(2)")
    both = (odp.count("a = 1") >= 3) & odp.majority("b = 1") | odp.any_("c = 1")
    question: odp.questions.Question = odp.mean("score", range=[1, 5]) >= Fraction(7, 2)
    shown: odp.Preview = odp.preview(both, epsilon=Fraction(1, 2), n=100)
    with odp.open(path, ledger="survey.ledger", budget=odp.Budget(epsilon=3)) as table:
        asked: odp.Release = table.ask(odp.winner("vote", ["a", "b"]), epsilon=0.5)
        listed: list[odp.Release] = table.ask([question, odp.median("age", range=[0, 120], step=1)], epsilon=0.5)
    texts = [made.to_json() for made in (one, *several, asked, *listed)]
    return [*texts, *shown.sentences(), str(odp.questions.flips(question, [1, 2, 3, 4, 5]))]


def mistakes(path: str) -> None:
    """What a reader of types must refuse: an ignore that is not needed is an error too, so each line has to fail."""
    odp.nonsense  # type: ignore[attr-defined]  # noqa: B018
    odp.release(path, "majority(a = 1)")  # type: ignore[call-overload]
    odp.release(path, "majority(a = 1)", epsilon=1, colour="red")  # type: ignore[call-overload]
    odp.preview("majority(a = 1)", epsilon=1, n="many")  # type: ignore[arg-type]
    odp.winner("vote", 3)  # type: ignore[arg-type]
    answer: int = odp.release(path, "majority(a = 1)", epsilon=1)  # type: ignore[assignment]
    del answer
