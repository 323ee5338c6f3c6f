"""A first policy for a Flux repository: what it gates, and its text.

It reads no clock, asks nobody and writes nothing; the command does.
"""
