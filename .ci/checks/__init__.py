"""Rules of the house that no linter knows: each module's `problems` says every breach."""
