"""Graphs of answers, databases, and the graph that a question induces."""
