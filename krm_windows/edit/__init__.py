"""Freezes as dated data, made once from what others publish and then pasted into a policy.

No look-up at build time.
"""
