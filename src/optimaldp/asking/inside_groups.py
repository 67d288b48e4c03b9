"""At which setting each group is answered when all groups together are one spend."""

from __future__ import annotations

from optimaldp.asking.request import Request
from optimaldp.laws.many_groups import level_of_each_group
from optimaldp.laws.setting import Setting
from optimaldp.privacy import Neighbours, approximate


def setting_inside(request: Request, people: int | None = None) -> Setting:
    """Inside a private group people come and go; inside a public one a record is replaced, and its size is public."""
    assert request.groups is not None
    level = request.level
    each = level_of_each_group(level.epsilon, level.delta, request.neighbours, public_groups=request.groups.public)
    known = people if each.neighbours is Neighbours.SUBSTITUTION else None
    return Setting(approximate(each.epsilon, each.delta), each.neighbours, known)
