"""ChangeClasses: which resources may change at once, and which wait for a window; every resource is in one class."""
