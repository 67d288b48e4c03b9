"""Mechanisms and certificates for a paper: LaTeX tables and sentences, exact where the numbers are short."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from optimaldp.mechanisms.certificate import Certificate, How

if TYPE_CHECKING:
    from optimaldp.mechanisms.mechanism import Mechanism

_SPECIAL = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
}
_SHORT = 10**6  # a larger denominator is written as a decimal


def escaped(text: str) -> str:
    """*text* as LaTeX shows it."""
    return "".join(_SPECIAL.get(character, character) for character in text)


def number(value: Fraction) -> str:
    r"""A probability in mathematics: ``\tfrac{2}{3}``, or a decimal where the fraction is long."""
    if value.denominator == 1:
        return str(value.numerator)
    return (
        rf"\tfrac{{{value.numerator}}}{{{value.denominator}}}" if value.denominator < _SHORT else f"{float(value):.6g}"
    )


def mechanism_latex(mechanism: Mechanism) -> str:
    """A ``tabular`` with a line for each dataset and a column for each answer."""
    answers = mechanism.answers
    lines = [rf"\begin{{tabular}}{{l{'c' * len(answers)}}}", r"\hline"]
    lines.append(" & ".join(["dataset", *map(escaped, answers)]) + r" \\")
    lines.append(r"\hline")
    for name in mechanism.datasets:
        row = mechanism.row(name)
        lines.append(" & ".join([escaped(name), *(f"${number(row[answer])}$" for answer in answers)]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}"])


def certificate_latex(certificate: Certificate, mechanism: Mechanism) -> str:
    """An ``itemize`` that says for each event from which neighbour each bound comes."""
    names, answers = mechanism.graph.names, mechanism.answers
    given_names = ", ".join(escaped(names[v]) for v in np.flatnonzero(certificate.given).tolist())
    lines = [f"Given: {given_names or 'nothing'}.", r"\begin{itemize}"]
    for tree in certificate.trees:
        event = r"\{" + ", ".join(escaped(answers[a]) for a in tree.event) + r"\}"
        steps = [
            rf"{escaped(names[int(u)])} $\to$ {escaped(names[v])}"
            for v, u in enumerate(tree.predecessor.tolist())
            if u >= 0
        ]
        lines.append(rf"\item {event}: {'; '.join(steps) or 'every bound is given'}.")
    if certificate.settling is not None:
        settling = certificate.settling
        steps = [
            rf"{escaped(names[v])} ({How(int(settling.how[v])).word}"
            + (f" {escaped(names[int(settling.source[v])])})" if settling.source[v] >= 0 else ")")
            for v in settling.order.tolist()
        ]
        lines.append(rf"\item in order of settling: {'; '.join(steps)}.")
    for dual in certificate.duals:
        event = r"\{" + ", ".join(escaped(answers[a]) for a in dual.event) + r"\}"
        lines.append(
            rf"\item {event} at {escaped(names[dual.vertex])} is at most ${number(dual.value)}$, by "
            rf"{len(dual.multipliers)} multipliers."
        )
    return "\n".join([*lines, r"\end{itemize}"])
