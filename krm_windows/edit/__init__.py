"""Freezes as dated data, made once from what others publish and then pasted into a policy: no look-up at build time."""
