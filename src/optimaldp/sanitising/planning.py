"""What is asked for and what will be done: everything public about a sanitised table, settled before data is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from optimaldp.asking.ask import Ask
from optimaldp.asking.request import read_release_level
from optimaldp.certify.findings import Certified
from optimaldp.certify.noise import certify_noise
from optimaldp.certify.promise import require_shares
from optimaldp.errors import LevelError, QuestionError
from optimaldp.histograms.independent import IndependentPrior
from optimaldp.histograms.prior_text import write_prior
from optimaldp.histograms.priors import CountPrior
from optimaldp.privacy import approximate
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import ApproximateDP
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.questions.columns import Column, read_columns, settle_columns
from optimaldp.questions.literals import check_among
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
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How the cells of the source are read."""

    @property
    def public(self) -> tuple[str, ...]:
        """What is treated as public, so that a record is only ever replaced by another that agrees in it."""
        named = [None if self.people.part is None else self.people.part[0], self.people.levels]
        return tuple(column for column in named if column is not None)

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
        more: dict[str, object] = {
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
    """What the user wrote: the columns and what is done with them, and in *ask* the level, the people and the reading."""

    columns: Any
    ask: Ask
    marginals: Any = None
    remap: str = "automatic"
    among: str | None = None
    margins: Any = None
    prior: Any = None


def make_plan(opened: Source, asked: Asked, book: Ledger | None = None) -> SanitisingPlan:
    """Settle everything public, and have the noise certified."""
    ask = asked.ask if book is None else asked.ask.completed(book)
    ask = ask.described(opened.description)
    people, neighbours = ask.people(), Neighbours(ask.neighbours or Neighbours.SUBSTITUTION)
    bound = read_release_level(ask.epsilon, ask.delta)
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
    require_shares(bound.epsilon, [noise.mechanism.epsilon for noise in noises])
    level = approximate(bound.epsilon)  # delta buys nothing here, so none is charged
    made = (settled, tables, shares, level, neighbours, people, method, remap, noises, among, prior, ask.reading)
    plan = SanitisingPlan(*made)
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
