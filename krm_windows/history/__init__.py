"""Policies and the past: what a policy would have cost, and what was open when.

Both are read from the commits of a repository, and decided by the one evaluator.
"""
