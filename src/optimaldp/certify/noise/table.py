"""The referee of a noisy table: the noise must be the one that this table needs, not only sound in itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from optimaldp.certify.findings import Certified, Finding, mint
from optimaldp.certify.noise.recipe import NoiseVerdict, check_recipe
from optimaldp.certify.noise.sparse import check_sparse_recipe
from optimaldp.certify.questions.noise_law import STREAMS, Stream, put_together
from optimaldp.errors import NotCertifiedError
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.sampling import BitSource

_PEOPLE = 1000  # in a cell of a made-up table


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


TableDraw = Callable[[Mapping[str, Mapping[int, int]], bool, BitSource], list[list[int]]]


def require_table_draw(draw: TableDraw, recipes: Sequence[Any], epsilon: Epsilon, neighbours: Neighbours) -> None:
    """Run the code that draws noisy tables on made-up people, with bits that are written down, and add everything up anew.

    *draw* takes people's cells by their own level, whether levels count, and bits. Every table must show the people who may be
    counted, each once, and on every cell, empty or not, the noise of its recipe. People of level 0 may not be counted, and join
    everybody else, the last cell, where the number of people is public.
    """
    for by_level in (False, True):
        for people in ({"0": {0: _PEOPLE}, str(epsilon): {1: _PEOPLE + 7}}, {str(epsilon): {0: 1}}):
            for name in STREAMS:
                source, expected = Stream(name), []
                for recipe in recipes:
                    noise = put_together(recipe, source)
                    for own, cells in people.items():
                        for cell, number in cells.items():
                            if not by_level or own != "0":
                                noise[cell] += number
                            elif neighbours is Neighbours.SUBSTITUTION:
                                noise[-1] += number
                    expected.append(list(noise))
                if _drawn(draw, people, by_level, Stream(name)) != expected:
                    raise NotCertifiedError(
                        "The tables that are drawn are not the counts and the certified noise. Nothing was sampled and "
                        "nothing was spent."
                    )


def _drawn(draw: TableDraw, people: Mapping[str, Mapping[int, int]], by_level: bool, source: BitSource) -> Any:
    try:
        return draw(people, by_level, source)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
