"""The appendix for an ethics board: what is protected and what is not, in plain words, with numbers and one picture."""

from __future__ import annotations

import html
from fractions import Fraction

from optimaldp.asking.result import percent_up
from optimaldp.plots.style import PALETTE
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import ball, precision, upper
from optimaldp.privacy.numbers import fraction_text

SHARES = ("0.01", "0.1", "0.5")
"""How likely something is held to be about one person before the answers: what the table of the appendix begins with."""

_PROTECTED = (
    "Every single person in the table, whatever they answered and whether or not a question names them. Somebody who reads all "
    "answers of this report, and who even knows the records of everybody else, cannot tell much better than before what one "
    "person's record says. That holds for every reader, every computer, and whatever becomes known later."
)
_NOT_PROTECTED = (
    "What is true of many people. If the answers say that smoking is frequent, a reader may think so of anybody. "
    "That would have been said without any one person's record as well.",
    "Families and other small groups as a whole: k people together are protected by k times the epsilon.",
    "What is public by decision: the questions, their options and bins, epsilon and delta, the names of columns, the time of an "
    "answer, and the number of people unless the report says that people are added or removed.",
    "The table itself. Someone who can read the table or the computer's memory reads everything; the guarantee is about answers.",
    "The time that a computation takes and other side effects, unless answers are given at fixed times.",
)
_MISUSE = (
    "People who hold the table: the guarantee protects against readers of the answers, not against the curator.",
    "People who may ask without a limit: every further answer costs privacy. A ledger refuses what goes beyond its budget; "
    "answers that are given outside of the ledger are not counted.",
    "Readers who take more from an answer than it says: answers are random, and one that a few people decide is often wrong.",
    "People who use a true statement about a group against its members. Privacy does not prevent that; "
    "the choice of questions does.",
)
_LAW = (
    "The table stays personal data, and the law that holds for it still holds: a purpose, a legal basis, access, deletion. "
    "Whether the published answers are anonymous information (GDPR, recital 26) is for the controller to decide; the numbers "
    "above say how much an answer can tell about one person, which is what such a decision needs. In a data protection impact "
    "assessment (GDPR, article 35) this report describes a measure against the risk that published results reveal something "
    "about a person. It replaces neither the assessment nor consent."
)
_REFERENCES = (
    "C. Dwork, F. McSherry, K. Nissim, A. Smith: Calibrating noise to sensitivity in private data analysis. TCC 2006.",
    "A. Wood and others: Differential privacy: a primer for a non-technical audience. Vanderbilt Journal of Entertainment and "
    "Technology Law 21 (2018).",
    "D. Kifer, A. Machanavajjhala: No free lunch in data privacy. SIGMOD 2011. (What no guarantee of this kind can promise.)",
    "NIST SP 800-226: Guidelines for evaluating differential privacy guarantees.",
    "Article 29 Working Party: Opinion 05/2014 on anonymisation techniques (WP 216).",
    "Regulation (EU) 2016/679 (GDPR), recital 26 and articles 35 and 89.",
)


def ethics_appendix(total: ApproximateDP | None, neighbours: Neighbours, remaining: str = "") -> str:
    """The appendix as markup. *total*: what all answers together cost one person; ``None`` where that is not one number."""
    parts = [
        '<h2 class="appendix">Appendix: for an ethics board</h2>',
        f"<h3>What is protected</h3><p>{_PROTECTED}</p>",
        f"<h3>What is not protected</h3>{_list(_NOT_PROTECTED)}",
        _meaning(total, neighbours),
        f"<h3>What remains</h3><p>{html.escape(remaining)}</p>" if remaining else "",
        f"<h3>Who could misuse it</h3>{_list(_MISUSE)}",
        f"<h3>Data protection law</h3><p>{_LAW}</p>",
        f"<h3>References</h3>{_list(_REFERENCES)}",
    ]
    return f'<section class="ethics">{"".join(parts)}</section>'


def most_likely(share: str, level: ApproximateDP, neighbours: Neighbours = Neighbours.SUBSTITUTION) -> str:
    """How likely at most, in percent, something about one person's record is after the answers, if it was *share* before.

    >>> from optimaldp.privacy import level
    >>> most_likely("0.5", level("ln(3)")), most_likely("0.01", level(1))
    ('75', '2.7')
    >>> most_likely("0.5", level("ln(3)"), Neighbours.ADD_REMOVE)
    '90'
    """
    before = Fraction(share)
    with precision(128):
        # The odds grow by e^epsilon at most when a record is replaced: a removed one and an added one are two steps.
        steps = 2 if neighbours is Neighbours.ADD_REMOVE else 1
        grown = ball(before) * (level.epsilon * steps).exp()
        after = float(upper(grown / (grown + ball(1 - before))))
    return percent_up(min(after, 1.0))


def _meaning(total: ApproximateDP | None, neighbours: Neighbours) -> str:
    head = "<h3>What it means for one person</h3>"
    if total is None or total.epsilon.infinite:
        return f"{head}<p>The answers protect different people, so each answer says what it means.</p>"
    rows = "".join(
        f"<tr><td>{percent_up(float(share))} %</td><td>{most_likely(share, total, neighbours)} %</td></tr>"
        for share in SHARES
    )
    table = (
        "<table><tr><th>how likely something about you is to a reader before the answers</th>"
        f"<th>and after all answers of this report, at most</th></tr>{rows}</table>"
    )
    cost = f"<p>All answers together cost one person at most epsilon {html.escape(str(total.epsilon))}.</p>"
    picture = _picture(most_likely("0.5", total, neighbours))
    return f"{head}{cost}{_of_added(neighbours)}{picture}{table}{_failing(total, neighbours)}"


def _of_added(neighbours: Neighbours) -> str:
    if neighbours is not Neighbours.ADD_REMOVE:
        return ""
    return (
        "<p>That is the cost of being in the table at all. A record that says something else is one record less and another one "
        "more, so what a reader may learn of its content is limited by twice this epsilon, as in the picture and the table.</p>"
    )


def _failing(total: ApproximateDP, neighbours: Neighbours) -> str:
    """With which chance the answers may say more: for a removed and an added record (1 + e^epsilon) times delta."""
    if not total.delta:
        return ""
    chance = f"delta = {html.escape(fraction_text(total.delta))}"
    if neighbours is Neighbours.ADD_REMOVE:
        with precision(128):
            both = float(upper(ball(total.delta) * (1 + total.epsilon.exp())))
        chance = f"{percent_up(min(both, 1.0))} % ({chance}, for a record removed and one added)"
    return f"<p>With a chance of at most {chance} the answers may say more than that.</p>"


def _picture(after: str) -> str:
    """A hundred guesses about one person, before and after: how many are right."""
    rows = []
    for line, (name, right) in enumerate((("before", 50.0), ("after, at most", float(after)))):
        y = 14 + 62 * line
        said = "50" if not line else after
        rows.append(f'<text x="0" y="{y}" font-size="13">{name}: {said} of 100 guesses are right</text>')
        for place in range(100):
            full = min(1.0, max(0.0, right - place))
            x, top = 12.6 * (place % 50), y + 8 + 17 * (place // 50)
            rows.append(f'<rect x="{x:.1f}" y="{top}" width="10" height="13" fill="#dde3e9"/>')
            if full:
                rows.append(f'<rect x="{x:.1f}" y="{top}" width="{10 * full:.1f}" height="13" fill="{PALETTE[0]}"/>')
    label = f"of 100 guesses about one person 50 are right before and at most {after} after the answers"
    caption = "A reader who would guess right half of the time about one person, and knows everybody else's record."
    drawn = f'<svg viewBox="0 0 640 124" role="img" aria-label="{label}" class="picture">{"".join(rows)}</svg>'
    return f'{drawn}<p class="soft">{caption}</p>'


def _list(texts: tuple[str, ...]) -> str:
    return f"<ul>{''.join(f'<li>{html.escape(text)}</li>' for text in texts)}</ul>"
