"""Counts and sums of several private groups in one draw: lattice noise instead of independent noise at half of epsilon each.

A replaced person takes a value from one group and brings another value to another group. So the numbers of all groups change by a
vector z with ``max(sum of z+, sum of z-) <= M``, and noise with ``P(z) ~ e^(-epsilon max(...)/M)`` keeps epsilon. That is the
histogram's lattice noise on one cell more than there are groups, at epsilon/M, with one cell dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from optimaldp.histograms.noise.lattice_noise import HistogramNoise
from optimaldp.histograms.noise.recipes import NoiseRecipe, follow
from optimaldp.laws.law import Loss, Setting, Table
from optimaldp.laws.number_noise import NoiseLaw, noise_law_for
from optimaldp.privacy import Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.levels import level_of_each_group, part_of
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.mechanism import Answer
from optimaldp.questions.number_mechanisms import NoisyNumber
from optimaldp.questions.numbers import Linear, Quantity, charged_delta
from optimaldp.sampling import BitSource

_BITS = 192


@dataclass(frozen=True)
class GroupNoise:
    """The noise on the number of one of several groups, all of which share one draw: public, and known beforehand."""

    groups: int
    per_person: int
    epsilon: Epsilon
    """The level of all groups together."""
    sensitivity: int
    """M: the furthest that one person moves the numbers of two groups, in steps."""
    delta = Fraction(0)
    share = Fraction(1)
    largest = None

    @cached_property
    def lattice(self) -> HistogramNoise:
        """The noise of a histogram with one cell more than there are groups."""
        return HistogramNoise(self.groups + 1, part_of(self.epsilon, self.per_person * self.sensitivity))

    @property
    def recipe(self) -> NoiseRecipe:
        """How the noise is drawn: what the referee examines."""
        return self.lattice.recipe

    def half_width(self, confidence: Fraction) -> int:
        """The least w that the error of one group exceeds with probability ``1 - confidence`` at most."""
        return _bin_quantile(self.lattice, confidence)

    @property
    def mean_error(self) -> Any:
        """The expected error of one group, in steps."""
        return self.lattice.expected_error() / (self.groups + 1)


@lru_cache(maxsize=256)
def _bin_quantile(lattice: HistogramNoise, confidence: Fraction) -> int:
    return lattice.bin_quantile(confidence)


@dataclass(frozen=True)
class GroupedNumber(NoisyNumber):
    """A count or sum of each of several private groups, by one draw of lattice noise; seen from one group."""

    name = "lattice noise by group"
    delta = Fraction(0)
    best = "groups together"

    def _may_be_zero(self) -> bool:
        return False

    def linear(self, sizes: tuple[int, ...] = ()) -> Linear:
        made = self._asked.between_groups(self.setting)
        assert made is not None
        return made

    def noise(self, sizes: tuple[int, ...] = ()) -> Any:
        setting = self.setting
        return GroupNoise(setting.groups, setting.groups_per_person, setting.level.epsilon, self.linear().sensitivity)

    def draw(self, table: Table, source: BitSource) -> Answer:
        """One group of a draw in which the others are empty: for study."""
        return self.draw_together([table, *[Table({})] * (self.setting.groups - 1)], source)[0]

    def draw_together(self, tables: Sequence[Table], source: BitSource) -> list[Answer]:
        """The private answer of each group, from the table of each."""
        asked, linear = self._asked, self.linear()
        totals = [asked.total(asked.fold(table.cells)) for table in tables]
        away = follow(self.noise().recipe, source)
        return [self.answered(linear.value(total + int(more))) for total, more in zip(totals, away)]

    def parameters(self) -> dict[str, Any]:
        noise, linear = self.noise(), self.linear()
        return {
            "sensitivity": noise.sensitivity,
            "groups": noise.groups,
            "groups_per_person": noise.per_person,
            "cells": noise.lattice.bins,
            "epsilon_per_step": str(noise.lattice.epsilon),
            "delta_used": "0",
            "unit": fraction_text(linear.unit),
            "offset": fraction_text(linear.offset),
        }

    @property
    def proof(self) -> str:
        times = (
            ""
            if self.setting.groups_per_person == 1
            else f" times {self.setting.groups_per_person}, the groups of one person"
        )
        return (
            "a replaced person takes a value from one group and brings one to another, so that neither what the groups gain nor "
            f"what they lose exceeds {self.linear().sensitivity} steps{times}; lattice noise on one cell more than there are "
            "groups, of which one is dropped, changes by a factor e^epsilon at most"
        )

    def peers(self) -> tuple[float, int]:
        at = _apart(self._asked, self.setting)
        return float(at.epsilon), at.sensitivity

    def width_of_all(self, groups: int) -> Fraction:
        # The noise of groups that share a draw is not independent: the union bound holds all the same.
        return self.linear().unit * int(self.noise().half_width(1 - (1 - self._asked.said.confidence) / groups))


@lru_cache(maxsize=256)
def joins_groups(question: Quantity, whole: Setting) -> bool:
    """Whether one draw for all private groups has a smaller expected error than a draw for each: by public numbers alone."""
    said, level = question.said, whole.level
    if whole.neighbours is not Neighbours.SUBSTITUTION or level.epsilon.is_zero or question.generous:
        return False
    if said.largest_error or said.prior is not None or said.loss is not Loss.ABSOLUTE:
        return False
    linear = question.between_groups(whole)
    if linear is None:
        return False
    apart, together = _apart(question, whole), GroupedNumber(question, whole).noise()
    with precision(_BITS + 2 * together.lattice.epsilon.leading_zeros):
        return bool(_as_ball(together.mean_error) < _as_ball(apart.mean_error))


def _apart(question: Quantity, whole: Setting) -> NoiseLaw:
    """The noise of one group where each is drawn by itself."""
    level = whole.level
    shared = level_of_each_group(level.epsilon, level.delta, whole.neighbours, per_person=whole.groups_per_person)
    each = approximate(shared.epsilon, shared.delta)
    linear = question.linear(Setting(each, shared.neighbours, None))
    assert linear is not None
    return noise_law_for(each.epsilon, charged_delta(question.said, each, linear), linear.sensitivity)


def _as_ball(number: Any) -> Ball:
    return number if isinstance(number, Ball) else ball(Fraction(number))
