"""Proofs that no private channel is more useful: each can be checked from the problem alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.channels.numbers import cell_text
from optimaldp.channels.optimal.program import DecayKernel, Program, cell_flows


class ChannelProof(ABC):
    """An upper bound on the utility of every private channel, with its reason."""

    @abstractmethod
    def bound(self) -> Fraction:
        """The bound, recomputed from the proof's own numbers: what they prove, and 1 if they prove nothing."""

    @abstractmethod
    def to_document(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class PotentialProof(ChannelProof):
    """Binary gain: ``λ ≥ 0`` with ``Φ λ ≥ π`` proves ``U ≤ Σ λ``,
    because ``Φ D ≤ 1`` for the diagonal D of any private channel.
    """

    kernel: DecayKernel
    prior: tuple[Fraction, ...]
    potential: tuple[Fraction, ...]

    def bound(self) -> Fraction:
        if any(value < 0 for value in self.potential):
            return Fraction(1)
        for row, mass in zip(self.kernel.rows, self.prior):
            if sum((phi * value for phi, value in zip(row, self.potential)), Fraction(0)) < mass:
                return Fraction(1)  # it proves nothing: no utility exceeds 1 anyway
        return sum(self.potential, Fraction(0))

    def to_document(self) -> dict[str, Any]:
        return {"kind": "potential", "potential": [cell_text(value) for value in self.potential]}


@dataclass(frozen=True)
class UniformPotentialProof(ChannelProof):
    """The potential proof when all distance counts agree: ``λ`` is constant, so one sum is all there is to check."""

    borders: tuple[int, ...]
    inverse_ratio: Fraction
    """``e^-epsilon``, rounded down if it is irrational: then the bound is rounded up."""

    def bound(self) -> Fraction:
        total, power = Fraction(0), Fraction(1)
        for size in self.borders:
            total += size * power
            power *= self.inverse_ratio
        return 1 / total

    def to_document(self) -> dict[str, Any]:
        size = sum(self.borders)
        return {"kind": "potential", "potential": [float(self.bound()) / size] * size}


@dataclass(frozen=True)
class RoundedPotentialProof(ChannelProof):
    """A potential in floats, and the bound that it proves after every rounding was paid for."""

    potential: tuple[float, ...]
    value: Fraction

    def bound(self) -> Fraction:
        return self.value

    def to_document(self) -> dict[str, Any]:
        return {"kind": "potential", "potential": list(self.potential)}


@dataclass(frozen=True)
class CliquePotentialProof(ChannelProof):
    """The potential proof where every two answers are neighbours: ``(Φ λ)_y = (1 − t) λ_y + t Σ λ``, so no matrix is needed."""

    prior: tuple[Fraction, ...]
    potential: tuple[Fraction, ...]
    inverse_ratio: Fraction
    """``e^-epsilon``, rounded down if it is irrational."""

    def bound(self) -> Fraction:
        total, t = sum(self.potential, Fraction(0)), self.inverse_ratio
        reached = ((1 - t) * value + t * total for value in self.potential)
        if min(self.potential) < 0 or any(r < mass for r, mass in zip(reached, self.prior)):
            return Fraction(1)
        return total

    def to_document(self) -> dict[str, Any]:
        return {"kind": "potential", "potential": [cell_text(value) for value in self.potential]}


@dataclass(frozen=True)
class ProgramProof(ChannelProof):
    """Weights on the privacy constraints of a linear program:
    by weak duality they bound its value, whoever found them.
    """

    program: Program
    weights: tuple[Fraction, ...]
    arcs: tuple[tuple[int, int, Fraction], ...]
    """Both directions of every edge, with the factors of the program."""

    def bound(self) -> Fraction:
        return self.program.dual_bound(self.weights)

    def to_document(self) -> dict[str, Any]:
        flows = [
            [y, other, z, cell_text(weight)]
            for (y, other, z), weight in cell_flows(self.program, self.weights, self.arcs).items()
        ]
        return {"kind": "linear-program dual", "flows": flows}


@dataclass(frozen=True)
class WeighedPotentialProof(ChannelProof):
    """A potential of either sign in floats, flows that leave no answer below 0, and the bound that they prove."""

    potential: tuple[float, ...]
    flows: tuple[tuple[int, int, float], ...]
    """A weight on ``M[y,·] <= e^epsilon M[y',·]`` for every guess alike."""
    value: Fraction

    def bound(self) -> Fraction:
        return self.value

    def to_document(self) -> dict[str, Any]:
        return {"kind": "potential", "potential": list(self.potential), "flows": [list(flow) for flow in self.flows]}


@dataclass(frozen=True)
class TheoremProof(ChannelProof):
    """A theorem that gives the value; *statement* names it."""

    statement: str
    value: Fraction

    def bound(self) -> Fraction:
        return self.value

    def to_document(self) -> dict[str, Any]:
        return {"kind": "theorem", "statement": self.statement}


@dataclass(frozen=True)
class CutTheoremProof(ChannelProof):
    """The same theorem after an edge was dropped, which allows only more: the optimum of a ring is at most that of its line."""

    statement: str
    cut: tuple[int, int]
    value: Fraction

    def bound(self) -> Fraction:
        return self.value

    def to_document(self) -> dict[str, Any]:
        return {"kind": "theorem", "statement": self.statement, "cut": [list(self.cut)]}
