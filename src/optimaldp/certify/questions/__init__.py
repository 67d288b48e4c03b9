"""The referee of releases: from a mechanism as it will be drawn to a finding, and to the only thing that can be sampled."""

from optimaldp.certify.questions.groups import require_groups_together
from optimaldp.certify.questions.referee import certify, examine_release
from optimaldp.certify.questions.second_calculation import draw

__all__ = ["certify", "draw", "examine_release", "require_groups_together"]
