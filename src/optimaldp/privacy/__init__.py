"""Privacy levels: what a guarantee promises, and the step function that is the whole theory in one line."""

from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import ApproximateDP, Bound, GaussianDP, Level, all_of, approximate, directed, level
from optimaldp.privacy.neighbours import Neighbours, read_neighbours
from optimaldp.privacy.numbers import read_number, read_probability

__all__ = [
    "ApproximateDP",
    "Bound",
    "Epsilon",
    "GaussianDP",
    "Level",
    "Neighbours",
    "all_of",
    "approximate",
    "directed",
    "level",
    "read_neighbours",
    "read_number",
    "read_probability",
]
