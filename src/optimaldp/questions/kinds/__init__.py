"""The kinds of questions, one module each. A new module here is a new kind: its forms are found by themselves.

A module offers ``FORMS``, a list of :class:`optimaldp.questions.forms.Form`: the words it answers to and how each is read.
"""
