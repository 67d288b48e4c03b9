"""The referee of histogram noise accepts what is right and rejects each wrong twin."""

from __future__ import annotations

import ast
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import pytest

import optimaldp.certify.noise as referee
from optimaldp.certify.noise import check_recipe
from optimaldp.errors import CertificateError, NotCertifiedError
from optimaldp.histograms import histogram_noise, laplace_noise
from optimaldp.histograms.noise.recipes import follow, lattice_recipe
from optimaldp.histograms.noise.totals import total_law
from optimaldp.privacy import Epsilon


def table(bins, theta_per_half, reach=4, *, zero_sum=True):
    """Unnormalised weights theta^(|z|_1/2); a common factor changes no ratio."""
    heads = product(range(-reach, reach + 1), repeat=bins - 1 if zero_sum else bins)
    vectors = [(*h, -sum(h)) if zero_sum else h for h in heads]
    return {z: theta_per_half ** sum(map(abs, z)) for z in vectors}


@pytest.mark.parametrize("bins", [2, 3, 10, 1000, 10**6])
@pytest.mark.parametrize("epsilon", ["1e-6", "0.5", "ln(2)", "1", "20"])
def test_every_recipe_of_ours_is_accepted(bins, epsilon):
    for noise in (histogram_noise(bins, epsilon=epsilon), laplace_noise(bins, epsilon=epsilon)):
        verdict = check_recipe(noise.recipe.to_document())
        assert verdict.accepted
        assert verdict.private
        assert verdict.level == Epsilon.read(epsilon)


def twin(**changes):
    document = histogram_noise(4, epsilon=1).recipe.to_document()
    document["totals"] = {**document["totals"], **changes.pop("totals", {})}
    return {**document, **changes}


def scaled(factor):
    """Honest plans for noise that is *factor* times as large as it should be."""
    decay = Epsilon.read(1 / Fraction(factor))
    return {"totals": total_law(4, decay, 2).to_document()}


@pytest.mark.parametrize(
    ("name", "changes", "private"),
    [
        ("noise scaled by 0.7", scaled("0.7"), False),
        ("noise scaled by 1.3", scaled("1.3"), True),
        ("sum not 0", {"shared_total": False}, False),
        (
            "scale 1/epsilon under substitution",
            {"shared_total": False, "totals": total_law(4, Epsilon.read(1), 1).to_document()},
            False,
        ),
        ("sum 0 under add-remove", {"neighbours": "add-remove"}, False),
        ("mode off by one", {"totals": {"mode": 5}}, True),
        ("mode far off", {"totals": {"mode": 40}}, True),
        ("blocks too narrow", {"totals": {"width": 1}}, True),
    ],
)
def test_wrong_recipes_are_rejected(name, changes, private):
    verdict = check_recipe(twin(**changes))
    assert not verdict.accepted, name
    assert verdict.private is private, name
    assert "rejected" in repr(verdict)


def test_the_untouched_twin_is_accepted():
    assert check_recipe(twin()).accepted


@pytest.mark.parametrize("width", [64, 65, 66, 100, 1000])
def test_wide_blocks_are_accepted_when_the_weights_halve(width):
    """Both routes of the width check (exact products, logarithms of gamma functions) and the border between them."""
    recipe = histogram_noise(3, epsilon="0.1").recipe
    assert recipe.totals.width < 64
    document = recipe.to_document()
    assert check_recipe({**document, "totals": {**document["totals"], "width": width}}).accepted
    narrow = histogram_noise(3, epsilon="0.001").recipe.to_document()
    assert not check_recipe({**narrow, "totals": {**narrow["totals"], "width": width}}).accepted


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "other"},
        {"bins": 0},
        {"bins": True},
        {"totals": {"width": 0}},
        {"totals": {"mode": -1}},
        {"totals": {"copies": 1.5}},
        {"extra": 1},
        {"totals": {"extra": 1}},
    ],
)
def test_malformed_recipes_are_refused(broken):
    with pytest.raises(CertificateError):
        check_recipe(twin(**broken))


def least_epsilon(table, *, replaced):
    """Of noise given as weights of vectors: the largest log-ratio of two of them that one person can exchange."""
    worst = Fraction(1)
    for z, weight in table.items():
        bins = range(len(z))
        if replaced:
            others = [tuple(x + (k == i) - (k == j) for k, x in enumerate(z)) for i, j in permutations(bins, 2)]
        else:
            others = [tuple(x + step * (k == i) for k, x in enumerate(z)) for i in bins for step in (1, -1)]
        worst = max([worst, *(weight / table[other] for other in others if other in table)])
    return Epsilon(Fraction(0), worst)


def test_the_law_that_is_written_out_has_the_level_of_its_recipe():
    noise, laplace = histogram_noise(3, epsilon="ln(4)"), laplace_noise(2, epsilon="ln(4)")
    window = {z: noise.probability(z) for z in table(3, Fraction(1))}
    assert least_epsilon(window, replaced=True) == check_recipe(noise.recipe.to_document()).level
    window = {z: laplace.probability(z) for z in table(2, Fraction(1), zero_sum=False)}
    assert least_epsilon(window, replaced=False) == check_recipe(laplace.recipe.to_document()).level
    assert least_epsilon(window, replaced=True) == Epsilon.read("ln(16)")


def test_nothing_uncertified_is_sampled():
    recipe = lattice_recipe(4, Epsilon.read(1))
    louder = replace(recipe, epsilon=Epsilon.read("0.5"))
    with pytest.raises(NotCertifiedError, match="Nothing was sampled"):
        follow(louder)


def test_the_referee_shares_nothing_with_the_designers():
    tree = ast.parse(Path(referee.__file__).read_text())
    imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not any(part in module for module in imported for part in ("histograms", "design", "kernels", "questions"))
