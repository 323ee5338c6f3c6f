"""Text that the writer of a medium has escaped."""


class Escaped(str):
    """A whole document that is printed as it is; only this room makes one.

    Put together with other text it is a plain `str` again, and is escaped once more before it is
    printed.
    """

    __slots__ = ()
