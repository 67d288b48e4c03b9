"""The curator: a service that many people ask, while nobody sees the data and the budget holds.

One person starts it (``optimaldp serve``) with a file that names data sets by their reviewed description, budgets, and who may
ask what. Everything that is answered goes through the one corridor of :mod:`optimaldp.asking`; what is here decides who may
walk it.
"""
