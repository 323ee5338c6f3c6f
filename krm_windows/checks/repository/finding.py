"""A finding on a repository: a rule that fired on an object, in a cluster."""

from dataclasses import dataclass

from krm_windows.flux import Object
from krm_windows.flux.model import Layer, ObjectIdentity
from krm_windows.krm import KubeObject
from krm_windows.rules import Rule


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that fired at the field `path` of `about`.

    `file`, `line` and `column` say where if it is about no object; with `item`, a document of that
    file, it is at the field `path` of that. `cluster` is empty where a
    finding is about none in particular. What is found at many objects for one reason has the same
    `fact`, and each time another object, `of`: it is reported once.
    """

    rule: Rule
    message: str
    about: Object | None = None
    path: str = ""
    current: str | None = None
    proposed: str | None = None
    file: str = ""
    line: int = 1
    column: int = 1
    cluster: str = ""
    fact: str = ""
    of: ObjectIdentity | None = None
    item: KubeObject | None = None

    @classmethod
    def at(cls, rule: Rule, message: str, layer: Layer) -> "Finding":
        """Return what fired at a layer between a file and the cluster."""
        return cls(
            rule,
            message,
            layer.about,
            layer.path,
            file=layer.file,
            line=layer.line,
            item=layer.item,
        )

    @property
    def grouping_key(self) -> tuple[object, ...]:
        """What two clusters, or two objects of one fact, share where they have one finding."""
        # The message too: of one fact several things may be said.
        if self.fact:
            return (self.rule.id, self.fact, self.message)
        location: tuple[object, ...] = (self.file, self.line)
        if self.about:
            about = self.about
            location = (about.identity, about.file, about.lines_above, about.directory)
        return (self.rule.id, location, self.path, self.message)
