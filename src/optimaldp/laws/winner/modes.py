"""Which mechanism answers "who wins?", chosen from public numbers alone: options, epsilon, delta and the neighbours.

No argument selects a mode: a release can only get one that is proven private for its own numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from optimaldp.certify.winner.proofs import continuum_proof, lattice_proof
from optimaldp.errors import QuestionError
from optimaldp.privacy import Epsilon, Level, Neighbours
from optimaldp.privacy.levels import Bound, single_level
from optimaldp.results import Result

# The recursion visits up to 2**(options - 1) sets: ten options take a few milliseconds, twenty would take seconds.
MOST_FLATTENED = 10


class WinnerMode(StrEnum):
    """The mechanisms for the winner."""

    LATTICE = "flip envelope (lattice)"
    CONTINUUM = "flip envelope (continuum)"
    PERMUTE_AND_FLIP = "permute-and-flip"


@dataclass(frozen=True, repr=False)
class WinnerClaim(Result):
    """Which mechanism is used for a number of options at a level, and what is proven about it."""

    mode: WinnerMode
    options: int
    bound: Bound
    neighbours: Neighbours
    proof: str

    @property
    def epsilon(self) -> Epsilon:
        return self.bound.epsilon

    def summary(self) -> str:
        level = f"{self.bound}-DP" if self.bound.delta else f"{self.epsilon}-DP"
        return f"WinnerClaim({self.mode}, {self.options} options, {level}, {self.neighbours}, {self.proof})"

    def details(self) -> list[tuple[str, str]]:
        return [
            ("mechanism", str(self.mode)),
            ("proof", self.proof),
            ("neighbours", self.neighbours.words),
            ("accuracy", "no dataset is known where it is worse than permute-and-flip"),
        ]

    def to_document(self) -> dict[str, Any]:
        return {
            "mechanism": str(self.mode),
            "options": self.options,
            "epsilon": str(self.epsilon),
            "delta": str(self.bound.delta),
            "neighbours": str(self.neighbours),
            "proof": self.proof,
        }


def winner_claim(options: int, level: Level, neighbours: str | Neighbours = Neighbours.SUBSTITUTION) -> WinnerClaim:
    """The mechanism for *options* options at *level*, and why it is private.

    **Guarantee.** The claim depends on its arguments only. The mechanism is (epsilon, delta)-DP for every number of people,
    also when some of them chose none of the options.

    >>> from optimaldp.privacy import level
    >>> winner_claim(5, level(1))
    WinnerClaim(flip envelope (lattice), 5 options, 1-DP, substitution, proven for every n: finite certificate)
    """
    if options < 1:
        raise QuestionError("options", options, "leave nobody to win", "name at least one option")
    return _claim(options, single_level(level, "winner").forward[0], Neighbours(neighbours))


@lru_cache(maxsize=1024)
def _claim(options: int, bound: Bound, neighbours: Neighbours) -> WinnerClaim:
    mode, proof = WinnerMode.PERMUTE_AND_FLIP, "proven for every n, every epsilon, any number of options"
    if neighbours is Neighbours.SUBSTITUTION and options <= MOST_FLATTENED:
        if proven := lattice_proof(options, bound.epsilon):
            mode, proof = WinnerMode.LATTICE, proven
        elif proven := continuum_proof(options):
            mode, proof = WinnerMode.CONTINUUM, proven
    return WinnerClaim(mode, options, bound, neighbours, proof)
