"""A first policy for a Flux repository: what it gates, its text, and the files it is in.

It reads no clock, asks nobody and writes nothing; the command does.
"""
