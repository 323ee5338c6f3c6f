"""ChangeClasses: which resources may change at once, and which wait for a window.

Every resource is in one class.
"""
