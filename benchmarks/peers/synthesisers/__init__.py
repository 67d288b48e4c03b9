"""Programs that run in an environment of their own, one for each library that makes synthetic rows; see ``synthesis.py``."""
