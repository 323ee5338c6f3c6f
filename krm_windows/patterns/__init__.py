"""Patterns that users write.

Globs and the regular expressions of Go, each matched in a time that is bounded.

No such text ever reaches `re`, whose matcher backtracks: thirty characters can keep it busy for
years.
"""
