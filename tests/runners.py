"""What runs the files that users copy: a GitHub or Gitea runner, and a GitLab runner, in small."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
# As `shell: bash` is documented, and what a GitLab runner puts before a script.
GITHUB_BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
GITLAB_BASH = ("bash", "-eo", "pipefail")
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
_INPUT = re.compile(r"\$\[\[\s*inputs\.(\w+)\s*\]\]")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")


class WorkflowError(Exception):
    """A file says what these runners, or the real ones, do not take."""


@dataclass(frozen=True)
class Done:
    name: str
    code: int
    output: str


@dataclass
class GitHub:
    """Runs jobs of a workflow for one event; `context` has what expressions name."""

    workspace: Path
    context: Mapping[str, Any]
    clones: Mapping[str, str]
    environment: Mapping[str, str]
    ran: list[Done] = field(default_factory=list)

    def run(self, workflow: Path) -> list[Done]:
        read = yaml.load(workflow.read_text(), yaml.CSafeLoader)
        for job in read["jobs"].values():
            if self._holds(job.get("if")):
                shutil.rmtree(self.workspace, ignore_errors=True)
                self.workspace.mkdir()
                self._steps(job["steps"])
        return self.ran

    def act(self, folder: Path, inputs: Mapping[str, str]) -> Done:
        action = yaml.load((folder / "action.yml").read_text(), yaml.CSafeLoader)
        if unknown := inputs.keys() - action["inputs"].keys():
            raise WorkflowError(f"no such input: {unknown}")
        given: dict[str, str] = {}
        for name, about in action["inputs"].items():
            if name not in inputs and about.get("required"):
                raise WorkflowError(f"{name} is required")
            given[name] = inputs.get(name, self.resolved(about.get("default", ""), {}))
        for step in action["runs"]["steps"]:
            assert step["shell"] == "bash"
            env = {name: self.resolved(text, given) for name, text in step["env"].items()}
            env["GITHUB_ACTION_PATH"] = str(folder)
            # An expression in a script would be text of it.
            if "${{" in step["run"]:
                raise WorkflowError(step["run"])
            self.ran.append(self._bash(step["name"], step["run"], env))
        return self.ran[-1]

    def resolved(self, text: str, inputs: Mapping[str, str]) -> str:
        """Return a text with its expressions put in; what is not there is empty, as on GitHub."""

        def value(match: re.Match[str]) -> str:
            found: Any = {**self.context, "inputs": inputs}
            for part in match[1].split("."):
                found = found.get(part, "") if isinstance(found, Mapping) else ""
            return str(found)

        done = _EXPRESSION.sub(value, text)
        if "${{" in _EXPRESSION.sub("", text):
            raise WorkflowError(text)
        return done

    def _holds(self, condition: str | None) -> bool:
        if condition is None:
            return True
        match = re.fullmatch(r"(\S+) (==|!=) '([^']*)'", condition)
        if match is None:
            raise WorkflowError(condition)
        is_same = self.resolved(f"${{{{ {match[1]} }}}}", {}) == match[3]
        return is_same is (match[2] == "==")

    def _steps(self, steps: Sequence[Mapping[str, Any]]) -> None:
        for step in steps:
            uses = step["uses"]
            given = {
                name: self.resolved(str(text), {}) for name, text in step.get("with", {}).items()
            }
            if uses.startswith("actions/checkout@"):
                self._checkout(given)
            elif uses.startswith("./"):
                # As a runner does, nothing is run after what has failed.
                if self.act(self.workspace / uses, given).code != 0:
                    return
            else:
                raise WorkflowError(uses)

    def _checkout(self, given: Mapping[str, str]) -> None:
        github = self.context["github"]
        place = self.workspace / given.get("path", "")
        source = self.clones[given.get("repository", github["repository"])]
        # The whole history only where it is asked for.
        depth = () if given.get("fetch-depth") == "0" else ("--depth", "1")
        git(self.workspace, "clone", "--quiet", *depth, source, str(place))
        # What is checked out of a pull request is its merge; in any other event the branch.
        if "ref" in given:
            git(place, "checkout", "--quiet", "--detach", given["ref"])
        elif github["event_name"] == "pull_request":
            git(place, "merge", "--quiet", "--no-ff", f"origin/{github['head_ref']}")

    def _bash(self, name: str, script: str, env: Mapping[str, str]) -> Done:
        file = self.workspace.parent / "script.sh"
        file.write_text(script)
        return _run(name, (*GITHUB_BASH, str(file)), self.workspace, {**self.environment, **env})


@dataclass
class GitLab:
    clone: Path
    components: Path
    variables: Mapping[str, str]

    def run(self, pipeline: Path) -> list[Done]:
        done = []
        for include in yaml.load(pipeline.read_text(), yaml.CSafeLoader)["include"]:
            template = (self.components / include["file"]).read_text()
            for name, job in included(template, include["inputs"]).items():
                if self._is_wanted(job["rules"]):
                    done.append(self.job(name, job))
        return done

    def _is_wanted(self, rules: Sequence[Mapping[str, str]]) -> bool:
        for rule in rules:
            left, _, right = rule.get("if", "1 == 1").partition(" == ")
            if self._side(left) == self._side(right):
                return True
        return False

    def _side(self, text: str) -> str:
        if text.startswith("$"):
            return self.variables.get(text[1:], "")
        return text.strip('"')

    def job(self, name: str, job: Mapping[str, Any]) -> Done:
        env = dict(self.variables)
        for variable, value in job["variables"].items():
            if isinstance(value, Mapping):
                assert value["expand"] is False
                env[variable] = value["value"]
            else:
                env[variable] = _VARIABLE.sub(lambda match: self.variables.get(match[1], ""), value)
        script = "\n".join(job["script"])
        return _run(name, (*GITLAB_BASH, "-c", script), self.clone, env)


def included(template: str, inputs: Mapping[str, object]) -> dict[str, Any]:
    head, _, text = template.partition("\n---\n")
    spec = yaml.load(head, yaml.CSafeLoader)["spec"]["inputs"]
    if unknown := inputs.keys() - spec.keys():
        raise WorkflowError(f"no such input: {unknown}")

    def value(match: re.Match[str]) -> str:
        about = spec[match[1]]
        if match[1] not in inputs and "default" not in about:
            raise WorkflowError(f"{match[1]} is required")
        found = inputs.get(match[1], about.get("default"))
        if found not in about.get("options", [found]):
            raise WorkflowError(f"{match[1]}: {found}")
        if "regex" in about and not re.search(about["regex"], found):
            raise WorkflowError(f"{match[1]}: {found}")
        return found if isinstance(found, str) else json.dumps(found)

    return yaml.load(_INPUT.sub(value, text), yaml.CSafeLoader)


def git(folder: Path, *words: str) -> str:
    """Run Git as somebody, with nobody's settings; return what it prints."""
    somebody = ["-c", "user.name=Ada", "-c", "user.email=ada@forge.test"]
    done = subprocess.run(
        ["git", "-C", str(folder), *somebody, *words],
        env={**os.environ, **NO_SETTINGS},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise WorkflowError(f"git {' '.join(words)}: {done.stderr}")
    return done.stdout


NO_SETTINGS = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


def _run(name: str, command: Sequence[str], folder: Path, env: Mapping[str, str]) -> Done:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**NO_SETTINGS, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Done(name, done.returncode, done.stdout)
