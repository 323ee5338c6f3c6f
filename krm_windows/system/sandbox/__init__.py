"""A program that meets foreign files runs in here.

The kernel lets it open what it was given, and nothing else.
"""
