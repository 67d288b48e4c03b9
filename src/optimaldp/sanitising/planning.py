"""Many columns: a public list of tables is measured, and a model that fits all of them makes the rows.

The fit and the rows are by mbi (marginal-based inference), an optional part that is loaded here alone. It sees noisy tables only.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.util import find_spec
from itertools import combinations
from typing import TYPE_CHECKING, Any

from optimaldp.asking.ask import Ask
from optimaldp.asking.request import read_release_level
from optimaldp.certify.asked import require_read
from optimaldp.certify.core.examined import Certified
from optimaldp.certify.core.referee import require_shares
from optimaldp.certify.noise import certify_noise
from optimaldp.errors import LevelError, MissingExtraError, QuestionError
from optimaldp.extras import EXTRAS, requiring
from optimaldp.histograms.independent import IndependentPrior
from optimaldp.histograms.prior_text import write_prior
from optimaldp.histograms.priors import CountPrior
from optimaldp.privacy import approximate
from optimaldp.privacy.balls import lower, precision
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.privacy.levels import ApproximateDP
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.questions.columns import Column, in_end_bins, read_columns, settle_columns
from optimaldp.questions.literals import check_among
from optimaldp.sanitising.choosing import COLUMNS_SHARE, offered_tables
from optimaldp.sanitising.counting import check_table
from optimaldp.sanitising.drawing import MOST_DENSE, Drawn, TableNoise, check_sizes, noise_for, read_mapping
from optimaldp.tables import People, Source

if TYPE_CHECKING:
    from optimaldp.ledger import Ledger

CHOOSE = "choose"  # in place of a list of marginals
_STEPS = 1000  # of mirror descent: enough for a few dozen tables (measured on 3 columns: 1 second)


def require_mbi() -> None:
    """Refuse before anything is read or spent where the part is not installed."""
    if find_spec("mbi") is None:  # before its own parts are imported, whose names would tell less
        raise MissingExtraError("mbi", EXTRAS["mbi"])
    _import_mbi()


def _import_mbi() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of settings that are made here
        with requiring("mbi"):
            import jax

            jax.config.update("jax_enable_x64", True)
            import mbi
            from mbi import estimation, extensions

    return mbi, estimation, extensions


def fitted_codes(columns: Sequence[Column], tables: Sequence[Drawn], people: int) -> Any:
    """Rows of positions from a model that fits the measured tables."""
    import numpy as np

    mbi, estimation, extensions = _import_mbi()
    names = [column.name for column in columns]
    domain = mbi.Domain(names, [column.size for column in columns])
    measured = [
        mbi.LinearMeasurement(
            np.asarray(drawn.noisy.dense, dtype=float),
            tuple(column.name for column in drawn.noisy.columns),
            stddev=drawn.noisy.query_error({c.name: c.labels[0] for c in drawn.noisy.columns}).standard_deviation,
        )
        for drawn in tables
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimation.MirrorDescent().estimate(domain, measured, iters=_STEPS, known_total=float(people))
        made = extensions.synthetic_data(model, rows=people)
    frame = made.to_dict() if hasattr(made, "to_dict") else made.df
    return np.stack([np.asarray(frame[name], dtype=np.int64) for name in names], axis=1)


# Which tables are measured, and how epsilon is divided among them.


_SHARE_UNITS = 10**9  # a share of epsilon is rounded down to this fraction of it
_JOINT_SHARE = Fraction(3, 4)  # of epsilon for a joint table that is drawn sparsely; its margins share the rest


def all_pairs(columns: Sequence[Column]) -> tuple[tuple[str, ...], ...]:
    """Every column, and every pair of columns."""
    names = [column.name for column in columns]
    return (*((name,) for name in names), *combinations(names, 2))


def read_marginals(marginals: str | Sequence[Sequence[str]], columns: Sequence[Column]) -> tuple[tuple[str, ...], ...]:
    """Tables from a list of lists of names, or from a text: ``"sex,age; age,smokes"``. Columns in none are measured alone."""
    tables = _read_tables("marginals", marginals, columns)
    known = [column.name for column in columns]
    covered = {name for table in tables for name in table}
    return (*tables, *((name,) for name in known if name not in covered))


def read_margins(
    margins: str | Sequence[Sequence[str]] | None, columns: Sequence[Column], *, sparse: bool, most: int
) -> tuple[tuple[str, ...], ...]:
    """The tables that are measured beside a joint table which is drawn sparsely: each column by itself if nothing is said.

    Sums of its cells would be useless, for most of them are never drawn: a million million cells in a thousand rows are a
    thousand million noisy cells each, off by 40,000 people at epsilon 1.
    """
    if not sparse:
        if margins:
            rule = "go with a joint table that is drawn sparsely"
            raise QuestionError("margins", margins, rule, "margins of a smaller table are sums of its noisy cells")
        return ()
    if margins is None:
        return tuple((column.name,) for column in columns if column.size <= most) if len(columns) > 1 else ()
    return _read_tables("margins", margins, columns)


def _read_tables(
    field: str, tables: str | Sequence[Sequence[str]], columns: Sequence[Column]
) -> tuple[tuple[str, ...], ...]:
    if isinstance(tables, str):
        tables = [[name.strip() for name in table.split(",")] for table in tables.split(";") if table.strip()]
    known = [column.name for column in columns]
    made = tuple(tuple([table] if isinstance(table, str) else table) for table in tables)
    for table in made:
        if not table or len(set(table)) < len(table) or not set(table) <= set(known):
            rule = "is no table of the named columns"
            raise QuestionError(field, list(table), rule, f"use names of {', '.join(known)}, each once")
    if len({frozenset(table) for table in made}) < len(made):
        raise QuestionError(field, [list(table) for table in made], "names a table twice")
    return made


def split_beside(epsilon: Epsilon, sizes: Sequence[int]) -> tuple[Epsilon, ...]:
    """Shares of a joint table, the first of *sizes*, and of the margins beside it: three quarters, and the rest in equal parts.

    Not by size: a count of two values is as much worth as one of ten thousand, and would be off by hundreds.

    **Guarantee.** The shares add up to epsilon at most.
    """
    if len(sizes) == 1:
        return (epsilon,)
    whole = _not_above(epsilon)
    parts = [_JOINT_SHARE, *[(1 - _JOINT_SHARE) / (len(sizes) - 1)] * (len(sizes) - 1)]
    shares = tuple(Epsilon(_short(whole * part), Fraction(1)) for part in parts)
    assert sum(shares, ZERO) <= epsilon
    return shares


def split_epsilon(epsilon: Epsilon, sizes: Sequence[int]) -> tuple[Epsilon, ...]:
    """The shares with the least sum of expected L1 errors: in proportion to ``sqrt(cells - 1)``, exactly so for small shares.

    **Guarantee.** The shares add up to epsilon at most.

    >>> split_epsilon(Epsilon.read(1), [10, 10, 37])
    (Epsilon(0.25), Epsilon(0.25), Epsilon(0.5))
    """
    if len(sizes) == 1:
        return (epsilon,)
    weights = [math.sqrt(max(size - 1, 1)) for size in sizes]
    units = [math.floor(_SHARE_UNITS * weight / math.fsum(weights)) for weight in weights]
    whole = _not_above(epsilon)
    shares = tuple(Epsilon(_short(whole * Fraction(unit, _SHARE_UNITS)), Fraction(1)) for unit in units)
    assert sum(shares, ZERO) <= epsilon
    return shares


def _not_above(epsilon: Epsilon) -> Fraction:
    """A rational not above epsilon."""
    with precision(256 + 2 * epsilon.leading_zeros):
        return lower(epsilon.ball())


def _short(share: Fraction) -> Fraction:
    """Rounded down to ten significant digits."""
    if not share:
        return share
    scale = Fraction(10) ** (10 - math.floor(math.log10(float(share))))
    return Fraction(math.floor(share * scale)) / scale


# What is asked for and what will be done: everything public about a sanitised table, settled before data is read.


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
    selection: Mapping[str, Any] | None = None
    """How pairs of columns were chosen; ``None`` before that, and where they are not."""
    together: bool = True
    """Whether all columns may be measured together in place of pairs: the referee looks at both."""

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
            "method": named if self.method == "marginals" else self.method,
            "margins": named[1:] if self.method == "joint" and named[1:] else None,
            "remap": self.remap,
            "prior": None if self.prior is None else write_prior(self.prior),
            "among": self.among,
            "where": self.people.where,
            "outside": "ends" if any(column.ends for column in self.columns) else None,
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
    outside: str | None = None


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
    ends = in_end_bins(asked.outside)
    named = tuple(column.with_outside(ends) for column in read_columns(asked.columns))
    settled = settle_columns(named, opened, everybody_has_a_row=own_rows)
    method = "joint" if asked.marginals is None else "chosen" if asked.marginals == CHOOSE else "marginals"
    if method == "chosen":
        _check_choice(settled, people)
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
    require_read(
        {"epsilon": ask.epsilon, "neighbours": ask.neighbours},
        {"epsilon": str(bound.epsilon), "neighbours": str(neighbours)},
    )
    require_shares(bound.epsilon, [noise.mechanism.epsilon for noise in noises])
    level = approximate(bound.epsilon)  # delta buys nothing here, so none is charged
    made = (settled, tables, shares, level, neighbours, people, method, remap, noises, among, prior, ask.reading)
    plan = SanitisingPlan(*made)
    for table in (*tables, *(offered_tables(settled) if method == "chosen" else ())):
        check_table(opened, table, people, among)
    return plan


def _check_choice(columns: Sequence[Column], people: People) -> None:
    if len(columns) < 3:
        names = [column.name for column in columns]
        raise QuestionError("marginals", CHOOSE, f"has nothing to choose among {names}", "leave marginals out")
    if people.levels is not None:
        raise QuestionError("levels", people.levels, "cannot be kept while pairs are chosen", "name the marginals")


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
        alone = [[column.name] for column in columns]
        named = read_marginals(alone if asked.marginals == CHOOSE else asked.marginals, columns)
    return tuple(tuple(by_name[name] for name in table) for table in named)


def _sizes(tables: Sequence[Sequence[Column]]) -> list[int]:
    return [math.prod(column.size for column in table) for table in tables]


def _shares(method: str, epsilon: Epsilon, sizes: Sequence[int]) -> tuple[Epsilon, ...]:
    if method == "chosen":
        return split_epsilon(part_of(epsilon, COLUMNS_SHARE), sizes)
    return (split_beside if method == "joint" else split_epsilon)(epsilon, sizes)


def part_of(epsilon: Epsilon, share: Fraction) -> Epsilon:
    """A share of epsilon, rounded down."""
    return Epsilon(_short(_not_above(epsilon) * share), Fraction(1))
