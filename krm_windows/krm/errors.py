"""What can go wrong on the wire.

Input that cannot be read, an edit that cannot be made, a configuration that is not for us.
"""


class InputError(Exception):
    """The input cannot be read.

    `line` and `column` (from 1, 0: unknown) say where in the text that was looked at, and `file`
    where that came from, empty where it is not known.
    """

    def __init__(
        self,
        message: str,
        line: int = 0,
        column: int = 0,
        file: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.file = file

    @property
    def location(self) -> str:
        """`path:line:column`, as compilers write it and editors find it; empty where not known."""
        if not self.file or not self.line:
            return ""
        return f"{self.file}:{self.line}:{self.column}"

    def in_file(self, path: str, advice: str = "") -> "InputError":
        """Give the same error of a file, with advice behind it; one that has a file keeps it."""
        return type(self)(self.message + advice, self.line, self.column, self.file or path)

    def __str__(self) -> str:
        """Give one line, with the place first where it is known."""
        if self.location:
            return f"{self.location}: {self.message}"
        if self.file:
            return f"{self.file}: {self.message}"
        if self.line:
            return f"line {self.line}, column {self.column}: {self.message}"
        return self.message


class ExcessError(InputError):
    """The input is larger, deeper or more repeated than `limits` allow.

    It was not read to its end.
    """


class EditError(Exception):
    """An edit would change more than it was asked to, so it was not made."""


class ConfigurationError(Exception):
    """The functionConfig is absent, or not of the kind that this function takes."""
