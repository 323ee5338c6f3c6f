"""What `render` wrote into a repository, by the commands that its kustomizations name."""

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from krm_windows.emit.header import is_rendered, policies_of
from krm_windows.preview.stages import RenderedDirectory
from krm_windows.render import command
from krm_windows.render.command import RenderCommand
from krm_windows.results import Result, fails

Edits = Mapping[str, bytes | None]
"""Contents of files by their paths from the top of a repository, None of those that are to go."""


@dataclass(frozen=True, slots=True)
class Output:
    """What one call of `render` wrote.

    `kustomizations` are those that name the `command`, from the top of the repository as all paths
    here are. It is None where they name none that can be run again, as those of an earlier version:
    then only the `policies` are known by name (`namespace/name`).
    """

    command: RenderCommand | None
    kustomizations: tuple[str, ...]
    policies: frozenset[str]

    @property
    def directory(self) -> str:
        """The directory that was rendered; without a command, one of those that were."""
        if self.command is None:
            return posixpath.dirname(self.kustomizations[0]) or "."
        return self.command.output_dir

    @property
    def sources(self) -> str:
        """What it was rendered from, for a person."""
        if self.command is None:
            return ", ".join(sorted(self.policies))
        return ", ".join(self.command.policies)


@dataclass(frozen=True, slots=True)
class Renewal:
    """What to render an output again comes to.

    `edits` are the files that differ from what is there; `problem` says why it cannot be rendered,
    where that is no finding among the `results`.
    """

    output: Output
    results: tuple[Result, ...] = ()
    edits: Edits = field(default_factory=dict)
    problem: str = ""

    @property
    def is_known(self) -> bool:
        """Whether it could be rendered, so that the edits are all there are."""
        return not self.problem and not fails(self.results)

    @property
    def why(self) -> str:
        """Why it could not be rendered."""
        wrong = [str(result) for result in self.results if fails([result])]
        return self.problem or "; ".join(wrong)

    def directory(self, top: str = ".", *, in_git: bool | None = None) -> RenderedDirectory:
        """Return the directory, and whether it is current.

        Its command is the one that is typed where the top of the repository is at `top`.
        """
        command = self.output.command
        if command is not None:
            command = command.below(top)
        return RenderedDirectory(
            directory=self.output.directory,
            is_stale=bool(self.edits) if self.is_known else None,
            files=tuple(sorted(self.edits)),
            reason=self.why,
            command=str(command or ""),
            in_git=in_git,
        )


def collect(kustomizations: Iterable[tuple[str, bytes]]) -> list[Output]:
    """Return what was rendered among kustomizations, by their paths and contents.

    Of a content the first two lines are enough.
    """
    found: dict[object, Output] = {}
    for path, content in kustomizations:
        if is_rendered(content):
            said = command.read(content, posixpath.dirname(path))
            names = policies_of(content)
            each = found.setdefault(said or names, Output(said, (), names))
            found[said or names] = replace(
                each,
                kustomizations=(*each.kustomizations, path),
                policies=each.policies | names,
            )
    return list(found.values())


def of_policy(every: Sequence[Output], file: str, policy: str) -> list[Output]:
    """Return what was rendered from the policy (`namespace/name`) of a file.

    Among what says by no command what it was rendered from, that is what names the policy, unless
    something else says that it was rendered from this file.
    """
    sure = [each for each in every if each.command and file in each.command.policies]
    return sure or [each for each in every if not each.command and policy in each.policies]
