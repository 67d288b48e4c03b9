"""Privacy levels: what a guarantee promises, and the step function that is the whole theory in one line."""

from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.gaussian import GaussianDP
from optimaldp.privacy.levels import ApproximateDP, Bound, all_of, approximate, directed, level
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import read_number, read_probability
from optimaldp.privacy.step_function import Level

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
    "read_number",
    "read_probability",
]
