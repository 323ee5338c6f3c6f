"""What can go wrong on the wire.

Input that cannot be read, an edit that cannot be made, a configuration that is not for us.
"""


class InputError(Exception):
    """The input cannot be read.

    `line` and `column` (from 1, 0: unknown) say where in the text that was looked at.
    """

    def __init__(
        self,
        message: str,
        line: int = 0,
        column: int = 0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        """Give one line, with the place first where it is known."""
        if not self.line:
            return self.message
        return f"line {self.line}, column {self.column}: {self.message}"


class ExcessError(InputError):
    """The input is larger, deeper or more repeated than `limits` allow.

    It was not read to its end.
    """


class EditError(Exception):
    """An edit would change more than it was asked to, so it was not made."""


class ConfigurationError(Exception):
    """The functionConfig is absent, or not of the kind that this function takes."""
