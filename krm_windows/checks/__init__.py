"""Proof without a cluster: facts in, results out.

Nothing here changes an object or starts a process.
"""
