"""Do the tests notice when the code is wrong? Small faults, one at a time, in copies of the tree.

The faults come from cosmic-ray's operators; docs/decisions/0001-mutation-testing.md says why the rest is ours.
"""
