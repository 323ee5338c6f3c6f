"""Who gave a rule the text that it has: the commit whose version of the file changed it last."""

import json
from collections.abc import Callable, Iterable
from functools import lru_cache

from krm_windows.krm import InputError
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem
from krm_windows.system.git_branch import Branch
from krm_windows.system.git_objects import Commit

_TEXTS = 5000
_UNKNOWN = ""


class Authors:
    """Finds out who wrote a rule, for any number of threads."""

    def __init__(self, branch: Branch, version: Callable[..., Stored | None]) -> None:
        """Take the versions of policies from `Effects.version`."""
        self._branch = branch
        self._version = version
        # A commit never changes, nor does what it says.
        self._text = lru_cache(_TEXTS)(self._said)

    def of(
        self, stored: Stored, cluster: str | None, rule: str, history: Iterable[Commit]
    ) -> Commit | None:
        """Return the commit that gave a rule its text; None where no such one is in the history.

        The history has the latest commits that changed the file, newest first; `rule` is a path in
        the spec, such as `windows.week`, and on a cluster its patch counts, too.
        """
        policy = stored.file, stored.namespace, stored.name
        shallow = self._branch.layout.shallow()
        for commit in history:
            text = self._text(commit.name, cluster, rule, *policy)
            before = [self._text(parent, cluster, rule, *policy) for parent in commit.parents]
            # What cannot be read, or was cut off, may have said the same.
            if _UNKNOWN in (text, *before) or (shallow and not before):
                return None
            if text not in before:
                return commit
        return None

    def _said(self, commit: str, cluster: str | None, rule: str, *policy: str) -> str:
        places = [("spec",), ("spec", "clusters", cluster)] if cluster else [("spec",)]
        try:
            stored = self._version(commit, *policy)
            texts = [stored and stored.config.get(*each, *rule.split(".", 1)) for each in places]
        except (Problem, InputError):
            return _UNKNOWN
        return json.dumps(texts)
