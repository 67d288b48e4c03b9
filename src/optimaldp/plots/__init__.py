"""Pictures: one look for all of them (:mod:`optimaldp.plots.style`), readable in grey and without any global state."""
