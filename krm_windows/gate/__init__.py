"""The gate, which is shipped word for word: of the standard library alone."""
