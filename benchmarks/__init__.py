"""Speed, shown as ratios to a named peer or limit measured in the same run: ``make bench``."""
