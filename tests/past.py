"""Repositories with a past: commits at times that a test chooses."""

import subprocess
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path


class Past:
    def __init__(self, git: Path, top: Path, *options: str) -> None:
        self._git, self.top = git, top
        top.mkdir(parents=True, exist_ok=True)
        self("init", "--quiet", "--initial-branch=main", *options)

    def __call__(
        self, *words: str, at: str = "2026-01-01T00:00Z", who: str = "Ada", stdin: bytes = b""
    ) -> str:
        seconds = int(datetime.fromisoformat(at).timestamp())
        environment = {
            "HOME": str(self.top),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_NAME": who,
            "GIT_AUTHOR_EMAIL": f"{who.lower()}@example.com",
            # A year before: nobody may take it for when a commit came.
            "GIT_AUTHOR_DATE": f"{seconds - 31536000} +0000",
            "GIT_COMMITTER_NAME": "forge",
            "GIT_COMMITTER_EMAIL": "forge@example.com",
            "GIT_COMMITTER_DATE": f"{seconds} +0000",
        }
        command = [self._git, "-C", self.top, *words]
        done = subprocess.run(
            command, env=environment, input=stdin, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def write(self, files: Mapping[str, str | None]) -> None:
        for path, content in files.items():
            place = self.top / path
            if content is None:
                place.unlink()
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(content)

    def commit(
        self, at: str, files: Mapping[str, str | None], message: str = "Change", who: str = "Ada"
    ) -> str:
        self.write(files)
        self("add", "--all")
        self("commit", "--quiet", "--allow-empty", "--message", message, at=at, who=who)
        return self("rev-parse", "HEAD")
