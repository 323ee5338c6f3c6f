"""What a room that touches files and starts processes raises."""


class WorkspaceError(Exception):
    """A file is in the way, a name leads outside, or a program fails at what it was asked."""
