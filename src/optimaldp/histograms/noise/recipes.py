"""Recipes of noise, and the one place that follows them: only after the referee has passed them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from optimaldp.certify.noise import NoiseVerdict, check_recipe
from optimaldp.errors import NotCertifiedError
from optimaldp.histograms.noise.compositions import weak_composition
from optimaldp.histograms.noise.totals import TotalLaw, total_law
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.sampling import BitSource, SystemBits


@dataclass(frozen=True)
class NoiseRecipe:
    """How noise is drawn: a law of totals, and whether the two halves share one total (then the noise adds up to 0)."""

    bins: int
    epsilon: Epsilon
    neighbours: Neighbours
    totals: TotalLaw
    shared_total: bool

    def to_document(self) -> dict[str, Any]:
        """The recipe as the referee reads it."""
        return {
            "kind": "histogram-noise",
            "bins": self.bins,
            "epsilon": str(self.epsilon),
            "neighbours": self.neighbours.value,
            "shared_total": self.shared_total,
            "totals": self.totals.to_document(),
        }

    def compose(self, total: int, source: BitSource) -> Any:
        """*total* people in the bins, every way equally likely, as an array."""
        return weak_composition(total, self.bins, source)

    def verdict(self) -> NoiseVerdict:
        """What the referee says about this recipe."""
        return _verdict(self)


@lru_cache(maxsize=256)
def _verdict(recipe: NoiseRecipe) -> NoiseVerdict:
    return check_recipe(recipe.to_document())


def lattice_recipe(bins: int, epsilon: Epsilon) -> NoiseRecipe:
    """Noise with sum 0 and ``P(z) ~ theta^(|z|_1/2)``, for a public total (one record replaced)."""
    return NoiseRecipe(bins, epsilon, Neighbours.SUBSTITUTION, total_law(bins, epsilon, 2), shared_total=True)


def laplace_recipe(bins: int, epsilon: Epsilon) -> NoiseRecipe:
    """Independent discrete Laplace noise ``P(z) ~ theta^(|z|_1)``, for a private total (one person more or less)."""
    return NoiseRecipe(bins, epsilon, Neighbours.ADD_REMOVE, total_law(bins, epsilon, 1), shared_total=False)


def follow(recipe: NoiseRecipe, source: BitSource | None = None) -> Any:
    """Draw one noise vector, as an array of integers.

    **Guarantee.** The recipe has passed the referee, and the vector has exactly the law that was certified.
    """
    verdict = recipe.verdict()
    if not verdict.accepted:
        raise NotCertifiedError(
            f"noise for {recipe.bins} bins was not certified: {verdict.objections[0]}. Nothing was sampled."
        )
    bits = SystemBits() if source is None else source
    gained = recipe.totals.draw(bits)
    lost = gained if recipe.shared_total else recipe.totals.draw(bits)
    into, out_of = recipe.compose(gained, bits), recipe.compose(lost, bits)
    return [a - b for a, b in zip(into, out_of)] if isinstance(into, list) else into - out_of
