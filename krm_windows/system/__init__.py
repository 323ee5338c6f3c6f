"""Files, written whole or not at all and never outside the directory that was named.

And programs that are started.
"""
