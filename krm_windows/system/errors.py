"""What a room that touches files and starts processes raises."""


class WorkspaceError(Exception):
    """A file stands in the way, a name leads out of the directory, or a program does not do what it was asked."""
