"""Rules of the house that no linter knows: each module's `problems` yields a sentence per breach."""
