"""The referee of lists of leaders, of people with levels of their own, and of the least average over a prior.

It is shown functions from tables to laws and derives each of them again by itself: on all small tables, by its own definition
of a neighbour and of the question's meaning, and from the closed forms' theorems at the public sizes. It shares no code with
:mod:`optimaldp.distances` and :mod:`optimaldp.laws`, and sees no data.
"""

from optimaldp.certify.votes.everybody import examine_balanced, examine_fair, examine_hedge
from optimaldp.certify.votes.meaning import Inequality, count_of, mean_of, share_of
from optimaldp.certify.votes.top import examine_top
from optimaldp.certify.votes.weighted import examine_weighted

__all__ = [
    "Inequality",
    "count_of",
    "examine_balanced",
    "examine_fair",
    "examine_hedge",
    "examine_top",
    "examine_weighted",
    "mean_of",
    "share_of",
]
