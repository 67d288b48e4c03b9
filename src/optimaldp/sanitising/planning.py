"""What is asked for and what will be done: everything public about a sanitised table, settled before data is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from optimaldp.certify.findings import Certified
from optimaldp.certify.noise import certify_noise
from optimaldp.errors import LevelError, QuestionError
from optimaldp.histograms.independent import IndependentPrior
from optimaldp.histograms.prior_text import write_prior
from optimaldp.histograms.priors import CountPrior
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import ApproximateDP
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.questions.literals import check_among
from optimaldp.sanitising.columns import Column, read_columns, settle_columns
from optimaldp.sanitising.counting import check_table
from optimaldp.sanitising.drawing import MOST_DENSE, TableNoise, check_sizes, noise_for, read_mapping
from optimaldp.sanitising.marginals import require_mbi
from optimaldp.sanitising.splitting import read_marginals, read_margins, split_beside, split_epsilon
from optimaldp.tables import People, Source

if TYPE_CHECKING:
    from optimaldp.ledger import Ledger


@dataclass(frozen=True)
class SanitisingPlan:
    """Everything public about one sanitised table, settled before data is read."""

    columns: tuple[Column, ...]
    tables: tuple[tuple[Column, ...], ...]
    levels: tuple[Epsilon, ...]
    level: ApproximateDP
    neighbours: Neighbours
    people: People
    method: str
    remap: str
    noises: tuple[Certified[TableNoise], ...]
    among: str | None = None
    prior: CountPrior | IndependentPrior | None = None

    @property
    def sizes(self) -> list[int]:
        return _sizes(self.tables)

    def shares(self, epsilon: Epsilon) -> tuple[Epsilon, ...]:
        """What each table may cost somebody who loses *epsilon* in all of them."""
        return _shares(self.method, epsilon, self.sizes)

    @property
    def text(self) -> str:
        """What a ledger remembers: every column with its values, and all that changes the meaning."""
        columns = "; ".join(column.text for column in self.columns)
        named = [[column.name for column in table] for table in self.tables]
        more = {
            "method": self.method if self.method == "joint" else named,
            "margins": named[1:] if self.method == "joint" and named[1:] else None,
            "remap": self.remap,
            "prior": None if self.prior is None else write_prior(self.prior),
            "among": self.among,
            "where": self.people.where,
        }
        more |= {"reduce": self.people.reduce, "order": self.people.reduce_order, "levels": self.people.levels}
        return f"sanitise({columns})" + "".join(
            f" | {name}: {value}" for name, value in more.items() if value is not None
        )


@dataclass(frozen=True)
class Asked:
    """What the user wrote; a ledger may still complete it."""

    columns: Any
    bound: ApproximateDP
    neighbours: Any
    people: People
    part: Any
    marginals: Any
    remap: str
    among: str | None = None
    margins: Any = None
    prior: Any = None

    def without_ledger(self) -> Asked:
        if self.part is not None:
            rule = "means nothing without a ledger that declares it"
            raise QuestionError("part", str(self.part), rule, "ask without a part, or name the ledger")
        return replace(self, neighbours=Neighbours(self.neighbours or Neighbours.SUBSTITUTION))

    def with_ledger(self, book: Ledger) -> Asked:
        """The ledger's own unit and neighbours where nothing else was said, and its part by column and value."""
        relation = Neighbours(self.neighbours or book.opening.neighbours)
        people = self.people if self.people.unit is not None else replace(self.people, unit=book.opening.unit)
        if self.part is not None:
            if relation is not Neighbours.SUBSTITUTION:
                rule = "cannot be charged alone under add-remove: whether somebody is in it at all would show"
                raise QuestionError("part", str(self.part), rule, "ask without a part")
            known = book.part(self.part)
            people = replace(people, part=(str(known.column), known.value))
        return replace(self, neighbours=relation, people=people)


def make_plan(opened: Source, asked: Asked) -> SanitisingPlan:
    """Settle everything public, and have the noise certified."""
    people, bound, neighbours = asked.people, asked.bound, asked.neighbours
    if bound.epsilon.is_zero:
        raise LevelError("epsilon", "0", "needs noise without bound", "name a positive epsilon")
    among = check_among(asked.among)
    own_rows = people.unit is None and people.where is None and people.levels is None and among is None
    settled = settle_columns(read_columns(asked.columns), opened, everybody_has_a_row=own_rows)
    method = "joint" if asked.marginals is None else "marginals"
    tables = _tables(asked, settled)
    sizes = _sizes(tables)
    if min(sizes) < 2:
        raise QuestionError("columns", [c.name for c in settled], "have one cell", "name at least two values")
    check_sizes(sizes, bound.epsilon, neighbours, joint=method == "joint")
    remap, prior = read_mapping(asked.remap, asked.prior, sizes, neighbours, joint=method == "joint")
    if method == "marginals":
        require_mbi()
    shares = _shares(method, bound.epsilon, sizes)
    # Certified here, once, before anything is read or reserved; only this is drawn from.
    noises = tuple(
        certify_noise(noise_for(size, share, neighbours), cells=size, epsilon=share, neighbours=neighbours)
        for size, share in zip(sizes, shares)
    )
    plan = SanitisingPlan(settled, tables, shares, bound, neighbours, people, method, remap, noises, among, prior)
    for table in tables:
        check_table(opened, table, people, among)
    return plan


def _tables(asked: Asked, columns: Sequence[Column]) -> tuple[tuple[Column, ...], ...]:
    """The tables that are measured; the joint one first, with its margins behind it where it is drawn sparsely."""
    by_name = {column.name: column for column in columns}
    if asked.marginals is None:
        cells = math.prod(column.size for column in columns)
        beside = read_margins(asked.margins, columns, sparse=cells > MOST_DENSE, most=MOST_DENSE)
        named: Sequence[tuple[str, ...]] = (tuple(by_name), *beside)
    else:
        if asked.margins is not None:
            raise QuestionError("margins", asked.margins, "goes with the joint table", "name it in marginals, too")
        named = read_marginals(asked.marginals, columns)
    return tuple(tuple(by_name[name] for name in table) for table in named)


def _sizes(tables: Sequence[Sequence[Column]]) -> list[int]:
    return [math.prod(column.size for column in table) for table in tables]


def _shares(method: str, epsilon: Epsilon, sizes: Sequence[int]) -> tuple[Epsilon, ...]:
    return (split_beside if method == "joint" else split_epsilon)(epsilon, sizes)
