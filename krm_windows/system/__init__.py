"""Files, written whole or not at all and never outside the directory that was named; and programs that are started."""
