"""The referee of releases: it takes a mechanism as it will be drawn, and looks at it from outside.

Tables in, the law of the printed answer out. It knows what a neighbour is, and what each kind of question means, by itself; it
chooses its tables from public numbers alone, so nothing that it says depends on data. What it cannot try, all tables of all
sizes, rests on the theorem that the mechanism names, and the finding says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from optimaldp.certify.findings import Certified, Finding, mint
from optimaldp.certify.questions.close_races import MOST_OPTIONS, check_close_races
from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.folding import check_fold
from optimaldp.certify.questions.keys import examine_keys
from optimaldp.certify.questions.laws_compared import bits_for, close, exact_row, is_distribution, ratio_of, stand_in
from optimaldp.certify.questions.leaders import leaders_are_drawn
from optimaldp.certify.questions.lines import check_lines, own_meaning
from optimaldp.certify.questions.meanings import Meaning, cells_of_groups, is_known, meaning_of, public_group
from optimaldp.certify.questions.noise import examine_kept, examine_noise, examine_rows
from optimaldp.certify.questions.personal_tables import examine_personal
from optimaldp.certify.questions.scripted import flips_its_coins, follows_its_law
from optimaldp.certify.questions.several_ranks import examine_several_ranks
from optimaldp.certify.questions.small_tables import key, neighbours_of, tables_of, watched_cells
from optimaldp.certify.votes.prior import examine_prior
from optimaldp.certify.votes.top import examine_leading
from optimaldp.errors import OptimalDPError
from optimaldp.laws.setting import Table
from optimaldp.privacy import Neighbours
from optimaldp.privacy.balls import precision
from optimaldp.privacy.trajectory import Number

_MOST_SEARCHED = 60  # tables whose number of moves is compared: two joined thresholds take a millisecond each
_WORK = 800  # neighbouring pairs of small tables that are compared


@lru_cache(maxsize=512)
def certify(mechanism: object) -> Certified[Any]:
    """The mechanism with the finding that passed it, or :class:`NotCertifiedError`. The same one is examined once."""
    return mint(mechanism, examine_release(mechanism))


def examine_release(mechanism: object) -> Finding:
    """Look at any mechanism of a release: those with a law of their own kind have a referee of their own kind."""
    try:
        return _examined(mechanism)
    except OptimalDPError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # A law that is none, a division by nothing, a row that is too short. Its words are the law's own: they stay here.
        said = str(error) if type(error) is ArithmeticError else type(error).__name__
    return Finding(False, (), f"its law cannot be examined: {said}")


def _examined(mechanism: Any) -> Finding:
    if mechanism.setting.personal and mechanism.listed and mechanism.name not in _REFEREES:
        return examine_personal(mechanism)
    if (special := _REFEREES.get(mechanism.name)) is None:
        return examine(mechanism)
    own = special(mechanism)
    if not own.private:
        return own
    if not mechanism.listed:
        return own if mechanism.spec()["kind"] == "keys" else _counted_once(mechanism, own)
    outside = examine(mechanism)
    return Finding(outside.private, (*own.checks, *outside.checks), outside.failure)


def _counted_once(mechanism: Examined, own: Finding) -> Finding:
    if failure := check_fold(mechanism):
        return Finding(False, own.checks, failure)
    if mechanism.spec()["kind"] == "top" and not leaders_are_drawn(mechanism):
        return Finding(False, own.checks, "the sampler does not follow the law that was examined")
    return Finding(True, ("every person is counted once and in their own place", *own.checks))


def examine(mechanism: Examined) -> Finding:
    """Look at a mechanism with a finite list of answers, whose law can be read."""
    checks: list[str] = []
    for look in (_small_tables, _public_size, _close_races, _sampler):
        failure, words = look(mechanism)
        if failure:
            return Finding(False, tuple(checks), failure)
        checks += words
    return Finding(True, (*checks, f"for all other tables, by theorem: {mechanism.proof}"))


def _small_tables(mechanism: Examined) -> tuple[str, list[str]]:
    twin = mechanism.small_twin()
    with precision(bits_for(twin.setting.level)):
        failure, total = _Small(twin.at(stand_in(twin.setting.level))).failure()
    if failure:
        return failure, []
    cells = "all its cells" if twin.cells <= 5 else "its first, second, middle and last cells"
    smaller = "" if twin is mechanism else f" of the same mechanism with {len(twin.answers)} answers"
    return "", [
        f"every table of up to {total} people over {cells}{smaller} and every neighbour: all events, exactly",
        "the true answer and the number of people who must change, against a search of the referee's own",
    ]


class _Small:
    """All small tables of one mechanism at a level with rational numbers."""

    def __init__(self, mechanism: Examined) -> None:
        self.mechanism = mechanism
        self.relation = mechanism.setting.neighbours
        promised = [ratio_of(mechanism.setting.level), mechanism.setting.level.delta]
        self.ratio: Number
        self.delta: Number
        self.ratio, self.delta = exact_row(promised) or promised
        spec = mechanism.spec()
        self.known_kind = is_known(spec)
        self.meaning: Meaning = meaning_of(spec) or own_meaning(mechanism)
        self.cells, self.group = watched_cells(mechanism.cells, 5), None
        if mechanism.setting.public_groups:
            self.cells, self.group = cells_of_groups(spec, mechanism.cells), partial(public_group, spec)
        self.rows: dict[tuple[tuple[int, int], ...], list[Number]] = {}

    def failure(self) -> tuple[str, int]:
        pairs, total = 0, 0
        for total in range(5):
            tables = list(tables_of(total, self.cells))
            if pairs + len(tables) * len(self.cells) ** 2 > _WORK:
                return self._searched(total - 1), total - 1
            for table in tables:
                for other in neighbours_of(table, self.cells, self.relation, self.group):
                    pairs += 1
                    if not close(self.row(table), self.row(other), self.ratio, self.delta):
                        return "two small tables that differ in one person are not close", total
        return self._searched(total), total

    def row(self, table: Mapping[int, int]) -> list[Number]:
        name = key(table)
        if name not in self.rows:
            row = self.mechanism.law(Table(dict(table))).probabilities()
            if len(row) != len(self.mechanism.answers) or not is_distribution(row):
                raise ArithmeticError("the law of a small table is no distribution")
            self.rows[name] = exact_row(row) or row
        return self.rows[name]

    def _searched(self, most: int) -> str:
        """The truth is likeliest, and as far from another answer as a breadth-first search finds."""
        reach = most if self.relation is Neighbours.SUBSTITUTION else most + 1
        known = {key(t): t for total in range(reach + 1) for t in tables_of(total, self.cells)}
        truths = {name: self.meaning(table) for name, table in known.items()}
        steps = self._distances(known, truths)
        whole = self.mechanism.cells == len(self.cells)
        searched = 0
        for name, table in known.items():
            row = self.row(table)
            if (
                self.known_kind
                and self.mechanism.name not in _NOT_LIKELIEST
                and any(row[truths[name]] < p for p in row)
            ):
                return "the true answer of a small table is not the likeliest one"
            # Under add-remove a shorter way may lead through larger tables: what was searched is exact up to the border.
            border = self.relation is Neighbours.ADD_REMOVE and sum(table.values()) + steps.get(name, 99) > reach
            if not whole or border or searched >= _MOST_SEARCHED:
                continue
            searched += 1
            if self.mechanism.moves(Table(table)) != steps.get(name, float("inf")):
                return "the number of people who must change is not what a search finds"
        return ""

    def _distances(self, known: Mapping[Any, Mapping[int, int]], truths: Mapping[Any, int]) -> dict[Any, int]:
        """Breadth-first: how many moves lead from each table to one with another true answer."""
        near: dict[Any, set[Any]] = {name: set() for name in known}
        for name, table in known.items():
            for other in neighbours_of(table, self.cells, self.relation, self.group):
                if (there := key(other)) in near:
                    near[name].add(there)
                    near[there].add(name)
        front = [name for name in known if any(truths[there] != truths[name] for there in near[name])]
        distances: dict[Any, int] = {}
        steps = 1
        while front:
            distances.update(dict.fromkeys(front, steps))
            inward = {there for here in front for there in near[here] if truths[there] == truths[here]}
            front, steps = [name for name in inward if name not in distances], steps + 1
        return distances


# Where smoothing may make a wrong bin likelier than the true one on a tiny table: the law itself is derived again instead.
_NOT_LIKELIEST = ("smoothed rank",)


def _public_size(mechanism: Examined) -> tuple[str, list[str]]:
    # The laws of very many answers are derived again by a referee of their own, if their kind has one.
    if len(mechanism.answers) > (12 if is_known(mechanism.spec()) else MOST_OPTIONS):
        return "", []
    with precision(bits_for(mechanism.setting.level)):
        failure, people = check_lines(mechanism, meaning_of(mechanism.spec()) or own_meaning(mechanism))
    size = f"{people:,} people"
    return failure, [f"tables of {size} near every place where the answer changes and far from it, at the level itself"]


def _close_races(mechanism: Examined) -> tuple[str, list[str]]:
    if mechanism.spec()["kind"] != "winner" or len(mechanism.answers) < 2:
        return "", []
    with precision(bits_for(mechanism.setting.level)):
        failure = check_close_races(mechanism)
    return failure, ["tables on which all options are within two votes of each other, and their neighbours"]


def _sampler(mechanism: Examined) -> tuple[str, list[str]]:
    many = mechanism.spec()["kind"] == "winner" and len(mechanism.answers) > MOST_OPTIONS
    # The ends of bins are tried by the referee of quantiles, with words of 64 bits next to them.
    near_ends = _REFEREES.get(mechanism.name) is not _quantile
    if follows_its_law(mechanism.small_twin(), near_ends=near_ends) and (not many or flips_its_coins(mechanism)):
        return "", ["the sampler gives each answer exactly where its law says so, by scripted bits"]
    return "the sampler does not follow the law that was examined", []


def _quantile(mechanism: Any) -> Finding:
    from optimaldp.certify.quantile import examine as examine_quantile

    return examine_quantile(mechanism.chosen)


_REFEREES: dict[str, Callable[[Any], Finding]] = {
    "leading options": examine_leading,
    "prior optimum": examine_prior,
    "smoothed rank": _quantile,
    "flip": _quantile,
    "flip+": _quantile,
    "lattice noise": examine_noise,
    "independent noise": examine_noise,
    "kept counts": examine_kept,
    "finite optimum": examine_rows,
    "kept keys": examine_keys,
    "several ranks": examine_several_ranks,
    "quartiles jointly": examine_several_ranks,
}
