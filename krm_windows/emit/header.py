"""The first line of every file that is rendered, by which it is recognised later."""

# What a person wrote into the directory has no such line, and is never removed.
_HEADER = "# Rendered by krm-windows from WindowPolicy "


def header(policy: str) -> str:
    """Return the first line of every file of a policy (`namespace/name`), without its end."""
    return f"{_HEADER}{policy}: edit the policy, not this file."


def is_header(line: str) -> bool:
    """Whether a file that begins with this line was rendered from some policy."""
    return line.startswith(_HEADER)


def is_rendered(content: bytes) -> bool:
    """Whether the content of a file was rendered from some policy."""
    return content.startswith(_HEADER.encode())
