"""Many groups in one spend: whether the levels at which single groups are answered add up to the level of the release."""

from __future__ import annotations

from optimaldp.errors import NotCertifiedError
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import ball, precision

_BITS = 512


def require_groups_together(
    whole: ApproximateDP, relation: Neighbours, each: ApproximateDP, inside: Neighbours, *, public: bool
) -> None:
    """Refuse a level of single groups that one person could exceed.

    Where it is public who is in which group, a replaced record stays in its group, which alone sees it. Otherwise people come and
    go in each group: one person more or less touches one of them, one who is replaced two, or one of them twice.
    """
    if not groups_together(whole, relation, each, inside, public=public):
        raise NotCertifiedError(
            "The groups together are not certified: one person could spend more than the level. "
            "Nothing was sampled and nothing was spent."
        )


def groups_together(
    whole: ApproximateDP, relation: Neighbours, each: ApproximateDP, inside: Neighbours, *, public: bool
) -> bool:
    """Whether one person, whichever group they are in, loses at most the level of the release in all groups together."""
    if public or relation is Neighbours.ADD_REMOVE:
        return inside is relation and each.epsilon <= whole.epsilon and each.delta <= whole.delta
    if inside is not Neighbours.ADD_REMOVE or each.epsilon + each.epsilon > whole.epsilon:
        return False
    # The second of two steps multiplies what the first one gave away.
    if not each.delta:
        return True
    ratio = each.epsilon.exact_ratio
    if ratio is not None:
        return each.delta * (1 + ratio) <= whole.delta
    with precision(_BITS):
        return bool(ball(each.delta) * (1 + each.epsilon.exp()) <= ball(whole.delta))
