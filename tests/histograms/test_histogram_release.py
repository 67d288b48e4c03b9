"""The public function: what comes out, what is refused, and that no count leaks on the way."""

from __future__ import annotations

import json
import traceback
from fractions import Fraction

import numpy as np
import pytest

from optimaldp.certify.noise import check_recipe
from optimaldp.errors import HistogramError, LevelError, OptimalDPError
from optimaldp.histograms import laplace_noise, private_histogram, two_way_table
from optimaldp.questions import noise_law
from optimaldp.sampling import SystemBits


@pytest.mark.long
@pytest.mark.parametrize("remap", [None, "projection", "bayes", "ball", "none"])
def test_totals_are_kept(remap):
    prior = "uniform" if remap in ("bayes", "ball") else None
    for _ in range(10):
        release = private_histogram([5, 0, 12, 3], epsilon="0.5", remap=remap, prior=prior)
        assert sum(release.counts) + release.unplaced == 20
        assert release.unplaced == 0 or remap is None
        assert all(type(x) is int for x in release.counts)
        assert remap == "none" or min(release.counts) >= 0
        assert len(release.intervals()) == release.bins == 4


def test_defaults():
    assert private_histogram([10**6, 2 * 10**6], epsilon=1).remap == "projection"
    assert private_histogram([1, 2], epsilon=1, prior="flat").remap == "bayes"
    release = private_histogram([10**6, 2 * 10**6], epsilon=1, neighbours="add-remove")
    assert release.remap == "projection"
    assert release.neighbours.value == "add-remove"


def test_one_bin_is_a_count_where_the_total_is_private():
    release = private_histogram([50], epsilon="ln(2)", neighbours="add-remove", remap="none")
    assert check_recipe(release.certificate).accepted
    count = noise_law("count(*)", epsilon="ln(2)", neighbours="add-remove")
    one = laplace_noise(1, epsilon="ln(2)")
    assert all(one.probability([k]) == count.probability(k) for k in range(-20, 21))
    with pytest.raises(HistogramError, match="nothing to hide; name at least two"):
        private_histogram([50], epsilon=1)
    with pytest.raises(HistogramError, match="name at least one"):
        private_histogram([], epsilon=1, neighbours="add-remove")


def test_certificate_of_a_release_is_accepted():
    for neighbours in ("substitution", "add-remove"):
        release = private_histogram([4, 4, 4], epsilon="ln(2)", neighbours=neighbours)
        verdict = check_recipe(release.certificate)
        assert verdict.accepted
        assert verdict.neighbours.value == neighbours


@pytest.mark.long
def test_add_remove_hides_the_total_even_when_nobody_is_there():
    """An error for an empty table would tell that it is empty: under this relation that is private."""
    totals = {sum(private_histogram([0, 0], epsilon="0.2", neighbours="add-remove").counts) for _ in range(40)}
    assert len(totals) > 3
    noisy = private_histogram([0, 0], epsilon="0.2", neighbours="add-remove", remap="none")
    assert noisy.counts == noisy.noisy


@pytest.mark.long
def test_intervals_cover():
    """At 99 %: 240 intervals, expected 2.4 misses; 25 have probability below 1e-15."""
    truth, misses = [30, 0, 8], 0
    for _ in range(80):
        release = private_histogram(truth, epsilon="0.5")
        misses += sum(not low <= count <= high for count, (low, high) in zip(truth, release.intervals("0.99")))
    assert misses < 25
    narrow = sum(
        not low <= count <= high
        for _ in range(40)
        for count, (low, high) in zip(truth, private_histogram(truth, epsilon="0.5").intervals("0.2"))
    )
    assert narrow > 8


@pytest.mark.long
def test_error_is_as_promised():
    """Mean of 100 draws of the noisy table against D*_3, within eight standard deviations."""
    truth, bits = np.array([50, 60, 70]), SystemBits()
    errors = [
        np.abs(np.array(private_histogram(truth, epsilon="ln(2)", source=bits).noisy) - truth).sum() for _ in range(100)
    ]
    release = private_histogram(truth, epsilon="ln(2)")
    spread = float(release.noise.error_variance()) ** 0.5
    assert abs(np.mean(errors) - float(release.noise.expected_error())) < 8 * spread / 10
    assert release.noise.expected_error() == Fraction(72, 13)


@pytest.mark.parametrize(
    ("counts", "match"),
    [
        ([5, -1], "negative"),
        ([1.5, 2], "integer"),
        ([3.0, 2], "integer"),
        ([True, 2], "integer"),
        (["7", 2], "integer"),
        ([5], "bins"),
        ([], "bins"),
        ([0, 0, 0], "total 0"),
        ("[1, 2]", "list of counts"),
        (7, "list of counts"),
        (None, "list of counts"),
        ([None, 3], "integer"),
    ],
)
def test_bad_counts(counts, match):
    with pytest.raises(HistogramError, match=match):
        private_histogram(counts, epsilon=1)


@pytest.mark.parametrize("epsilon", [0, "inf", -2, None, "x"])
def test_bad_epsilon(epsilon):
    with pytest.raises(LevelError):
        private_histogram([1, 2], epsilon=epsilon)


@pytest.mark.parametrize(
    "options",
    [
        {"neighbours": "other"},
        {"prior": [0, 1]},
        {"prior": [0.2, 0.3, 0.5]},
        {"remap": "bayes"},
        {"labels": ["a"]},
        {"labels": "ab"},
        {"neighbours": "add-remove", "prior": "flat"},
        {"neighbours": "add-remove", "remap": "bayes"},
    ],
)
def test_bad_options(options):
    with pytest.raises(OptimalDPError):
        private_histogram([31337, 41414], epsilon=1, **options)


def test_no_count_in_any_error():
    secret = 31337
    for counts, options in (
        ([secret, -secret], {}),
        ([secret, secret + 0.5], {}),
        ([secret, "x"], {}),
        ([secret, secret], {"prior": [1, 0]}),
        ([secret], {}),
        ([secret, secret], {"remap": "wrong"}),
        ([secret, secret], {"neighbours": "add-remove", "prior": "flat"}),
    ):
        with pytest.raises(OptimalDPError) as caught:
            private_histogram(counts, epsilon=1, **options)
        text = "".join(traceback.format_exception(caught.value))
        assert str(secret) not in text.replace("secret", "")


def test_numpy_counts_are_welcome():
    assert sum(private_histogram(np.array([5, 6], dtype=np.uint8), epsilon=1, remap="projection").counts) == 11
    assert sum(private_histogram((np.int64(5), 6), epsilon=1, remap="projection").counts) == 11


def test_counts_beyond_machine_integers():
    release = private_histogram([2**70, 3], epsilon=1, remap="projection")
    assert sum(release.counts) == 2**70 + 3


def test_two_way_margins_add_up():
    release = private_histogram([4, 5, 6, 7, 8, 9, 2], epsilon="0.5")
    table = release.two_way(["a", "b"], ["x", "y", "z"])
    assert sum(table.row_totals) == sum(table.column_totals) == table.total
    assert table.total + release.noisy[6] == sum(release.noisy) == sum(release.counts) + release.unplaced == 41
    assert json.loads(table.to_json())["rest"] == [release.counts[6]]
    assert "margins unbiased" in repr(table)
    with pytest.raises(HistogramError, match="fit"):
        two_way_table([1, 2, 3], ["a", "b"], ["x", "y"])


def test_release_describes_itself_and_draws():
    release = private_histogram([4, 5], epsilon=1, labels=["yes", "no"])
    assert repr(release) == f"HistogramRelease({list(release.counts)}, epsilon 1, substitution, certified)"
    assert "replaced" in release.statement()
    document = json.loads(release.to_json())
    assert document["answer"] == list(release.counts)
    assert document["delta"] == 0
    assert "yes" in release._repr_html_()
    picture = release.plot()
    assert [t.get_text() for t in picture.axes[0].get_xticklabels()] == ["yes", "no"]
    assert len(picture.axes[0].patches) == 2
    many = private_histogram([3] * 100, epsilon=1)
    assert repr(many).startswith("HistogramRelease(100 bins")
    assert len(many.plot().axes[0].lines) == 1


def test_labelled_counts():
    release = private_histogram({"yes": 10, "no": 20}, epsilon=1)
    assert release.labels == ("yes", "no")
    assert sum(release.counts) == 30


def test_a_total_too_large_for_bayes_is_refused_before_sampling():
    class NoBits:
        def take(self, count):
            raise AssertionError("sampled")

    with pytest.raises(HistogramError, match="projection"):
        private_histogram([10**9, 5], epsilon=1, prior="flat", source=NoBits())
    assert sum(private_histogram([10**9, 5], epsilon=1).counts) == 10**9 + 5


def test_many_large_counts_do_not_overflow():
    release = private_histogram([2**60] * 20, epsilon="0.001")
    assert sum(release.counts) == 20 * 2**60
