"""The verdict on a channel: private or not, how useful, and whether anything private is more useful."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.certify.channels.factors import Factors
from optimaldp.certify.channels.optimality import proven_bound, utility
from optimaldp.certify.channels.privacy import check_channel_privacy
from optimaldp.certify.channels.reading import ChannelLike, GraphLike, read_edges, read_masses, read_matrix, read_worth
from optimaldp.errors import CertificateError
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import fraction_text
from optimaldp.results import Result

_ROUNDING = Fraction(1, 10**9)  # relative gap that an irrational e^epsilon or floats may leave


@dataclass(frozen=True, repr=False)
class ChannelVerdict(Result):
    """What the referee found about a channel on a graph of its inputs, for one epsilon, prior and gain.

    ``epsilon`` is the least that the channel keeps, rounded up. ``optimal`` is ``None`` if no certificate was given;
    it is true if ``bound − utility`` is at most 1e-9 of the bound (0 where everything is rational).
    """

    private: bool
    epsilon: float
    worst_edge: tuple[str, str] | None
    worst_output: str | None
    utility: Fraction
    bound: Fraction | None
    optimal: bool | None
    reason: str

    @property
    def gap(self) -> Fraction | None:
        """What a private channel could gain beyond this one, at most."""
        return None if self.bound is None else self.bound - self.utility

    def __bool__(self) -> bool:
        return self.private and self.optimal is not False

    def summary(self) -> str:
        phrases = ["private" if self.private else "not private"]
        if self.optimal is not None:
            phrases.append("optimal" if self.optimal else "not proven optimal")
        return (
            f"ChannelVerdict({', '.join(phrases)}, least epsilon {self.epsilon:.6g}, utility {float(self.utility):.6g})"
        )

    def details(self) -> list[tuple[str, str]]:
        return [("why", self.reason)]

    def to_document(self) -> dict[str, Any]:
        return {
            "private": self.private,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else "inf",
            "worst_edge": list(self.worst_edge or ()),
            "worst_output": self.worst_output,
            "utility": fraction_text(self.utility),
            "bound": None if self.bound is None else fraction_text(self.bound),
            "optimal": self.optimal,
            "reason": self.reason,
        }


def verify_channel(
    channel: ChannelLike,
    graph: GraphLike,
    *,
    epsilon: object,
    prior: Sequence[Any] | None = None,
    gain: object = None,
    certificate: Mapping[str, Any] | None = None,
) -> ChannelVerdict:
    """Check a channel from its matrix alone: privacy on every edge, its utility, and what the certificate proves.

    **Guarantee.** ``private`` is decided exactly. ``bound`` holds for every channel that is private on this graph,
    whatever numbers the certificate has; so ``optimal`` is never true of a channel that a private one exceeds by more
    than a part in 10⁹. *prior* follows the graph's vertices (``None`` is uniform), *gain* is ``gain[answer][guess]``
    (``None``: one for the right answer).

    >>> from optimaldp.channels import AnswerGraph, Channel
    >>> response = Channel([["2/3", "1/3"], ["1/3", "2/3"]])
    >>> proof = {"kind": "potential", "potential": ["1/3", "1/3"]}
    >>> verify_channel(response, AnswerGraph.clique(2), epsilon="ln(2)", certificate=proof)
    ChannelVerdict(private, optimal, least epsilon 0.693147, utility 0.666667)
    """
    level, matrix, edges = Factors(Epsilon.read(epsilon)), read_matrix(channel, graph), read_edges(graph)
    masses = read_masses(prior, len(matrix.names))
    worth = read_worth(gain, masses)
    privacy = check_channel_privacy(matrix, edges, level)
    value = utility(matrix, masses, worth)
    edge = None if privacy.worst is None else (str(matrix.names[privacy.worst[0]]), str(matrix.names[privacy.worst[1]]))
    output = None if privacy.worst is None else str(matrix.outputs[privacy.worst[2]])
    if not privacy.private:
        reason = f"between {edge[0]} and {edge[1]} the output {output} breaks epsilon = {level.epsilon}" if edge else ""
        return ChannelVerdict(
            False, privacy.epsilon, edge, output, value, None, None if certificate is None else False, reason
        )
    if certificate is None:
        reason = "every edge is kept; no certificate of optimality was given"
        return ChannelVerdict(True, privacy.epsilon, edge, output, value, None, None, reason)
    try:
        proven = proven_bound(certificate, edges, level, masses, worth)
    except CertificateError as error:
        return ChannelVerdict(
            True, privacy.epsilon, edge, output, value, None, False, f"the certificate proves nothing: {error}"
        )
    optimal = proven.value - value <= _ROUNDING * abs(proven.value)
    claim = "no private channel exceeds" if optimal else "what it proves leaves room: no private channel exceeds"
    reason = f"by {proven.reason}, {claim} {float(proven.value):.9g}, and this one has {float(value):.9g}"
    return ChannelVerdict(True, privacy.epsilon, edge, output, value, proven.value, optimal, reason)
