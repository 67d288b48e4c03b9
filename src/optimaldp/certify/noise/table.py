"""The referee of a noisy table: the noise must be the one that this table needs, not only sound in itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from optimaldp.certify.findings import Certified, Finding, mint
from optimaldp.certify.noise.recipe import NoiseVerdict, check_recipe
from optimaldp.certify.noise.sparse import check_sparse_recipe
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours


class Noise(Protocol):
    """Noise that says how it is drawn."""

    @property
    def recipe_document(self) -> dict[str, Any]: ...


AnyNoise = TypeVar("AnyNoise", bound=Noise)


def certify_noise(noise: AnyNoise, *, cells: int, epsilon: Epsilon, neighbours: Neighbours) -> Certified[AnyNoise]:
    """Certify the noise of a table; raises :class:`~optimaldp.errors.NotCertifiedError` where it is not the one it needs."""
    verdict = check_noise(noise.recipe_document, cells=cells, epsilon=epsilon, neighbours=neighbours)
    checks = ("the recipe of the noise, in exact arithmetic: every cell, every neighbour",)
    return mint(noise, Finding(verdict.accepted, checks, "; ".join(verdict.objections)))


def check_noise(document: Mapping[str, Any], *, cells: int, epsilon: Epsilon, neighbours: Neighbours) -> NoiseVerdict:
    """Judge a recipe for a table of *cells* cells that promises *epsilon* for *neighbours*.

    **Guarantee.** Accepted noise covers every cell, and its least epsilon for these neighbours is exactly the promised one.

    >>> plan = {"ratio_epsilon": "ln(2)", "copies": 2, "mode": 2, "width": 4}
    >>> recipe = {"kind": "histogram-noise", "bins": 2, "epsilon": "ln(2)", "neighbours": "substitution",
    ...           "shared_total": True, "totals": plan}
    >>> check_noise(recipe, cells=3, epsilon=Epsilon.read("ln(2)"), neighbours=Neighbours.SUBSTITUTION)
    NoiseVerdict(epsilon ln(2), substitution, rejected: the noise covers 2 of 3 cells)
    """
    sparse = document.get("kind") == "sparse-noise"
    verdict = (check_sparse_recipe if sparse else check_recipe)(document)
    covered = document["cells" if sparse else "bins"]
    objections = list(verdict.objections)
    if covered != cells:
        objections.append(f"the noise covers {covered} of {cells} cells")
    if verdict.neighbours is not neighbours:
        objections.append(f"the noise is for {verdict.neighbours.value}, and {neighbours.value} was promised")
    if verdict.claimed != epsilon:
        objections.append(f"the noise claims epsilon {verdict.claimed}, and {epsilon} was promised")
    return replace(verdict, claimed=epsilon, objections=tuple(objections))
