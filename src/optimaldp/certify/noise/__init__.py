"""The referee of noise: a recipe, or a table of probabilities, against the level and the neighbours that it claims."""

from optimaldp.certify.noise.recipe import NoiseVerdict, check_recipe
from optimaldp.certify.noise.rows import certify_rows, draw_row
from optimaldp.certify.noise.sparse import check_sparse_recipe
from optimaldp.certify.noise.table import certify_noise, check_noise

__all__ = [
    "NoiseVerdict",
    "certify_noise",
    "certify_rows",
    "check_noise",
    "check_recipe",
    "check_sparse_recipe",
    "draw_row",
]
