"""True answers on the families: rules that are called with a name, and applied to whole graphs by arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optimaldp.errors import GraphError, ProblemError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.families.products import NO, YES
from optimaldp.graphs.names import ProductNames
from optimaldp.graphs.preferences import Preferences


class Majority:
    """Whether more people voted yes (1) than no (2); a tie is a no.

    >>> majority("112"), majority("12")
    ('yes', 'no')
    """

    answers = ("yes", "no")

    def __call__(self, name: str) -> str:
        if set(name) - {YES, NO}:
            raise ProblemError("truth", name, "is not a row of votes", f"a vote is written {YES} (yes) or {NO} (no)")
        return "yes" if 2 * name.count(YES) > len(name) else "no"

    def preferences(self, graph: DatasetGraph) -> Preferences | None:
        """The same for all datasets of :func:`votes` at once; ``None`` on other graphs."""
        names = graph.names
        if not isinstance(names, ProductNames) or names.separator or any(tuple(p) != (YES, NO) for p in names.parts):
            return None
        return Preferences.of_truth(self.answers, 2 * names.occurrences(0) <= len(names.parts))

    def __repr__(self) -> str:
        return "majority"


majority = Majority()


def majority_of_participants(votes: Mapping[str, str]) -> Callable[[str], str]:
    """What the majority of those who took part says, when everybody's vote is known and a tie is a no (000, Fig. 1b).

    >>> truth = majority_of_participants({"1": "yes", "2": "yes", "3": "no"})
    >>> truth("{1,2}"), truth("{1,3}")
    ('yes', 'no')
    """
    if bad := [vote for vote in votes.values() if vote not in Majority.answers]:
        raise ProblemError("votes", bad[0], "is not a vote", "a vote is 'yes' or 'no'")

    def truth(name: str) -> str:
        present = [one for one in name.strip("{}").split(",") if one]
        if unknown := [one for one in present if one not in votes]:
            raise GraphError("participant", unknown[0], "has no vote", "give the vote of every participant")
        return "yes" if 2 * sum(votes[one] == "yes" for one in present) > len(present) else "no"

    return truth
