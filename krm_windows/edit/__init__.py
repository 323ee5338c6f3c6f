"""The text of a policy, changed: by a patch, by an override, and by dated freezes.

Freezes are made once from what others publish and then pasted: nothing is looked up at build time.
"""
