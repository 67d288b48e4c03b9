"""The studio: a local web page that helps to choose a level with one's eyes, and to release with the budget in sight.

The web process only guards and passes on: every computation is a call (:mod:`optimaldp.studio.calls`) that runs in a worker
process, so that the first page comes at once and anything can be cancelled.
"""

from optimaldp.studio.settings import Settings

__all__ = ["Settings"]
