"""The first line of every file that is rendered, by which it is recognised later."""

# What a person wrote into the directory has no such line, and is never removed. It is a key and a
# value, like an annotation: the sentence behind it may be worded anew at any time.
_KEY = "# krm-windows.dev/rendered-from: "


def header(policy: str) -> str:
    """Return the first line of every file of a policy (`namespace/name`), without its end."""
    return f"{_KEY}{policy} (edit the policy, not this file)"


def is_header(line: str) -> bool:
    """Whether a file that begins with this line was rendered from some policy."""
    return line.startswith(_KEY)


def is_rendered(content: bytes) -> bool:
    """Whether the content of a file was rendered from some policy."""
    return content.startswith(_KEY.encode())


def policies_of(content: bytes) -> frozenset[str]:
    """Return the policies (`namespace/name`) that a rendered file names."""
    if not is_rendered(content):
        return frozenset()
    line = content.partition(b"\n")[0].decode(errors="replace")
    return frozenset(line.removeprefix(_KEY).partition(" (")[0].split(", "))
