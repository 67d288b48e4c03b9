"""What a release tells, in bits: the channel of what was drawn, and the bounds of paper 004 beside it."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.channels import least_epsilon, posterior_vulnerability
from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.errors import InputError, NoMarginError

TABLE = pyarrow.table(
    {
        "x": ["yes" if i % 3 else "no" for i in range(40)],
        "vote": ["abc"[i % 3] for i in range(40)],
        "age": [20 + i for i in range(40)],
        "level": ["0.2" if i % 5 == 0 else "1" for i in range(40)],
    }
)


def test_the_channel_is_the_law_that_was_drawn() -> None:
    made = odp.release(TABLE, "majority(x = 'yes')", epsilon="ln(2)")
    channel = made.channel()
    assert channel.exact
    assert len(channel.inputs) == 41
    # 20 of 40 say yes: no, and one person must change; with 19, two.
    assert channel.row(20) == {"yes": Fraction(1, 3), "no": Fraction(2, 3)}
    assert channel.row(19) == {"yes": Fraction(1, 6), "no": Fraction(5, 6)}
    found = least_epsilon(channel, AnswerGraph.path(list(channel.inputs)))
    assert float(found.epsilon) == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("majority(x = 'yes')", {}),
        ("majority(x = 'yes')", {"levels": "level"}),
        ("majority(x = 'yes')", {"levels": "level", "aim": "every table"}),
        ("share(x = 'yes' among age >= 25) >= 0.3", {}),
        ("winner(vote, ['a', 'b', 'c'])", {}),
        ("median(age, bins=[20, 30, 40, 60])", {}),
        ("count(x = 'yes') >= 20", {"neighbours": "add-remove"}),
    ],
)
def test_nothing_tells_more_than_the_theorems_allow(question: str, options: dict[str, str]) -> None:
    leaked = odp.release(TABLE, question, epsilon=1, **options).leakage()
    assert 0.5 < leaked.utility <= 1
    assert leaked.individual_bound is not None
    assert leaked.individual_bound_of_any is not None
    assert leaked.database_bound is not None
    assert 0 < leaked.individual_bits <= leaked.individual_bound + 1e-12 <= leaked.individual_bound_of_any
    assert 0 < leaked.min_entropy_leakage <= leaked.database_bound
    inputs = len(leaked.channel.inputs)
    assert leaked.min_entropy_leakage == pytest.approx(
        math.log2(float(posterior_vulnerability(leaked.channel)) * inputs), abs=1e-9
    )


def test_the_optimum_for_yes_and_no_tells_as_much_of_one_person_as_it_may() -> None:
    leaked = odp.preview("majority(x)", epsilon=1, n=101).leakage()
    assert leaked.individual_bits == pytest.approx(leaked.individual_bound)
    assert odp.preview("majority(x)", epsilon=0, n=11).leakage().individual_bits == 0


def test_the_channel_of_a_count_is_the_truncated_geometric_mechanism() -> None:
    channel = odp.release(TABLE, "count(x = 'yes')", epsilon="ln(2)").channel()
    assert channel.exact
    assert channel.inputs == channel.outputs == tuple(range(41))
    # Noise with P(k) = 2^-|k| / 3; whatever lies beyond 0 and 40 is shown as 0 and 40.
    assert channel.row(0)[0] == channel.row(40)[40] == Fraction(2, 3)
    assert [channel.row(7)[shown] for shown in (7, 8, 5)] == [Fraction(1, 3), Fraction(1, 6), Fraction(1, 12)]
    assert channel.row(7)[0] == Fraction(2, 3) / 2**7
    leaked = odp.release(TABLE, "count(x = 'yes')", epsilon="ln(2)").leakage()
    assert leaked.individual_bits == pytest.approx(leaked.individual_bound)
    assert leaked.utility == pytest.approx((39 / 3 + 2 * 2 / 3) / 41)
    found = least_epsilon(channel, AnswerGraph.path(list(channel.inputs)))
    assert float(found.epsilon) == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("share(x = 'yes')", {}),
        ("sum(age, range=[0, 9])", {}),
        ("count(x = 'yes', prior=uniform)", {}),
        ("count(x = 'yes', output='unbiased')", {}),
        ("count(x = 'yes')", {"neighbours": "add-remove"}),
        ("sum(age, range=[20, 24], step=2)", {"neighbours": "add-remove"}),
        ("count(x = 'yes')", {"by": "vote", "groups": ["a", "b"], "public_groups": True}),
    ],
)
def test_numbers_tell_no_more_than_the_theorems_allow(question: str, options: dict[str, object]) -> None:
    leaked = odp.release(TABLE, question, epsilon=1, **options).leakage()
    assert leaked.channel.array.sum(axis=1) == pytest.approx(1)
    assert leaked.individual_bound is not None
    assert leaked.database_bound is not None
    assert 0 < leaked.individual_bits <= leaked.individual_bound + 1e-12
    assert 0 < leaked.min_entropy_leakage <= leaked.database_bound
    assert 0 < leaked.utility < 1


def test_numbers_with_an_end_and_with_too_many_answers() -> None:
    made = odp.release(TABLE, "count(x = 'yes', largest_error=true)", epsilon=1, delta="1/1000")
    row, largest = made.channel().row(20), made.statement["number"]["largest_error"]
    assert all((chance > 0) == (abs(shown - 20) <= largest) for shown, chance in row.items())
    assert made.leakage().individual_bound is None
    large = odp.preview("count(x = 'yes')", epsilon=1, n=1_000_000).leakage()
    assert large.channel.inputs[200] == 500_000
    with pytest.raises(NoMarginError, match="name a coarser step"):
        odp.release(TABLE, "sum(age, range=[0, 100000])", epsilon=1).leakage()
    with pytest.raises(NoMarginError, match="no line of tables"):  # noise on many groups together
        odp.release(TABLE, "count(x = 'yes')", epsilon=1, by="vote", groups=["a", "b"]).leakage()


def test_large_tables_groups_and_delta() -> None:
    large = odp.preview("majority(x)", epsilon=1, n=1_000_000).leakage()
    assert len(large.channel.inputs) == 401
    assert 500_000 in large.channel.inputs
    assert odp.preview("majority(x)", epsilon=1, delta=1e-6, n=101).leakage().database_bound is None
    made = odp.release(TABLE, "majority(x = 'yes')", epsilon=1, by="vote", groups=["a", "b"], public_groups=True)
    assert len(made.channel(group="a").inputs) == 15
    with pytest.raises(InputError, match="not a group"):
        made.channel(group="nobody")
    with pytest.raises(NoMarginError, match="no line of tables"):
        odp.release(TABLE, "histogram(vote, ['a', 'b'])", epsilon=1).channel()


def test_the_document_says_it_all() -> None:
    document = json.loads(odp.preview("majority(x)", epsilon="ln(2)", n=21).leakage().to_json())
    assert set(document["bounds"]) == {"theorem_1", "theorem_2", "theorem_2_tight"}
    assert document["bounds"]["theorem_2"] == pytest.approx(1)
    assert document["channel"]["outputs"] == ["yes", "no"]
