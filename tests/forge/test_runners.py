"""What users copy, run as their runners do: the action, the component, and the examples of both.

GitHub and GitLab are servers of ours on loopback, Gitea is Gitea.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from forges import REPOSITORY, TOKEN, Pull, Server, serving
from gitea import Repository
from hostile_checkout import Pipe, listening, spies, trap
from runners import NO_SETTINGS, ROOT, Done, GitHub, GitLab, WorkflowError, git, included

pytestmark = pytest.mark.slow
EXAMPLE = ROOT / "examples/merge-gate"
POLICY = (EXAMPLE / "windows/policy.yaml").read_text()
GITHUB = EXAMPLE / ".github/workflows/windows.yaml"
GITEA = EXAMPLE / ".gitea/workflows/windows.yaml"
GITLAB = EXAMPLE / ".gitlab-ci.yml"
COMPONENT = ROOT / "templates/krm-windows.yml"
PLACEHOLDER = "0123456789abcdef0123456789abcdef01234567"
# Whatever the time is when the tests run.
CLOSED = POLICY.replace("spec:\n", "spec:\n  state: Closed\n")
OPEN = POLICY.replace("spec:\n", "spec:\n  state: Open\n")
LATER = POLICY.replace("Thu 17:00", "Thu 19:00")
# How pip finds its index here, and a certificate for it.
PASSED = {
    name: value
    for name, value in os.environ.items()
    if name == "PATH" or name.startswith(("PIP_", "SSL_CERT", "REQUESTS_CA"))
}


@dataclass(frozen=True)
class Source:
    place: Path
    commit: str


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    place = tmp_path_factory.mktemp("gitlab") / "platform/krm-windows.git"
    listed = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard")
    for path in filter(None, listed.splitlines()):
        if (ROOT / path).is_file():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, place / path)
    return Source(place, committed(place, "Everything"))


def committed(place: Path, message: str) -> str:
    if not (place / ".git").exists():
        git(place, "init", "--quiet", "--initial-branch", "main")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(place, "rev-parse", "HEAD").strip()


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    place = tmp_path / "fleet"
    shutil.copytree(EXAMPLE, place)
    edited(place, CLOSED)
    git(place, "switch", "--quiet", "--create", "topic")
    edited(place, LATER)
    git(place, "switch", "--quiet", "main")
    return place


def edited(place: Path, policy: str) -> str:
    (place / "windows/policy.yaml").write_text(policy)
    return committed(place, "Edit the policy")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runner's folder for temporary files: the first job that runs installs into it."""
    return tmp_path_factory.mktemp("runner")


@pytest.fixture
def environment(installed: Path, tmp_path: Path) -> dict[str, str]:
    return {**PASSED, "HOME": str(tmp_path), "RUNNER_TEMP": str(installed), **NO_SETTINGS}


Event = Callable[..., GitHub]


@pytest.fixture
def event(fleet: Path, source: Source, environment: dict[str, str], tmp_path: Path) -> Event:

    def make(name: str, api: str, repository: str, clone: str, token: str, **more: str) -> GitHub:
        github: dict[str, Any] = {
            "event_name": name,
            "repository": repository,
            "api_url": api,
            "token": token,
        }
        if name.startswith("pull_request"):
            github |= {"base_ref": "main", "head_ref": "topic"}
            github["event"] = {"pull_request": {"number": 1}}
        variables = {
            "KRM_WINDOWS_REPOSITORY": "platform/krm-windows",
            "KRM_WINDOWS_COMMIT": source.commit,
        }
        context = {"github": github, "vars": variables, "secrets": {"WINDOWS_TOKEN": token}}
        clones = {repository: clone, "platform/krm-windows": f"file://{source.place}"}
        workspace = tmp_path / "workspace"
        workspace.mkdir(exist_ok=True)
        return GitHub(workspace, context, clones, {**environment, **more})

    assert fleet
    return make


@pytest.fixture
def server(pulls: list[Pull]) -> Iterator[Server]:
    with serving("github", *pulls) as found:
        yield found


@pytest.fixture
def pulls(fleet: Path) -> list[Pull]:
    pulls = []
    for number, path in enumerate(("apps/web.yaml", "docs/a.md"), 1):
        git(fleet, "switch", "--quiet", "--create", f"change-{number}")
        (fleet / path).parent.mkdir(exist_ok=True)
        (fleet / path).write_text("x: y\n")
        pulls.append(Pull(number, committed(fleet, "Change")))
        git(fleet, "switch", "--quiet", "main")
    return pulls


def passed(done: list[Done], *names: str) -> list[Done]:
    assert [each.code for each in done] == [0] * len(done), done
    assert not names or tuple(each.name for each in done) == names
    return done


def test_the_workflow_for_github(server: Server, fleet: Path, event: Event) -> None:
    place = (server.address, REPOSITORY, f"file://{fleet}", TOKEN)
    texts = []
    for policy in (LATER, LATER, LATER.replace("Mon 08:00", "Tue 08:00")):
        git(fleet, "switch", "--quiet", "topic")
        edited(fleet, policy)
        git(fleet, "switch", "--quiet", "main")
        done = passed(event("pull_request", *place).run(GITHUB))
        assert len(done) == 2
        [(number, _, said)] = server.comments
        assert (number, "flux-system/week" in said) == (1, True)
        texts.append(said)
    assert texts[0] == texts[1] != texts[2]
    assert server.statuses == {}
    for name, policy, state in (
        ("pull_request_target", CLOSED, "pending"),
        ("schedule", OPEN, "success"),
        ("push", CLOSED, "pending"),
    ):
        edited(fleet, policy)
        passed(event(name, *place).run(GITHUB))
        assert server.latest(server.pulls[0].sha)["state"] == state
        assert server.latest(server.pulls[1].sha)["state"] == "success"


def test_the_workflow_for_gitea(repository: Repository, fleet: Path, event: Event) -> None:
    repository.protect("krm-windows")
    git(fleet, "remote", "add", "origin", repository.remote)
    repository.call("DELETE", "branch_protections/main")
    git(fleet, "push", "--quiet", "--force", "origin", "main", "topic")
    repository.protect("krm-windows")
    content = {"head": "topic", "base": "main", "title": "Edit the policy"}
    number = repository.call("POST", "pulls", content)["number"]
    assert number == 1
    gated = repository.pull("apps", {"apps/web.yaml": ""})
    token = repository.gitea.token("acme", "read:user", "write:issue", "write:repository")
    place = (repository.gitea.api, repository.full, repository.remote, token)
    for _ in range(2):
        passed(event("pull_request", *place, GITEA_ACTIONS="true").run(GITEA))
        [comment] = repository.call("GET", f"issues/{number}/comments")
        assert "`flux-system/week`: what this change opens and closes" in comment["body"]
    before = comment["body"]
    git(fleet, "switch", "--quiet", "topic")
    edited(fleet, LATER.replace("Mon 08:00", "Tue 08:00"))
    git(fleet, "push", "--quiet", "origin", "topic")
    passed(event("pull_request", *place, GITEA_ACTIONS="true").run(GITEA))
    [comment] = repository.call("GET", f"issues/{number}/comments")
    assert comment["body"] != before
    passed(event("pull_request_target", *place, GITEA_ACTIONS="true").run(GITEA))
    assert repository.states(gated) == {"krm-windows": "pending"}
    assert repository.states(number) == {"krm-windows": "success"}
    assert repository.merge(gated)[0] == 405
    assert repository.merge(number) == (200, "")


def project(
    environment: Mapping[str, str], source: Source, address: str, base: str
) -> dict[str, str]:
    return {
        **environment,
        "CI_SERVER_URL": f"file://{source.place.parents[1]}",
        "CI_API_V4_URL": address,
        "CI_PROJECT_PATH": REPOSITORY,
        "CI_DEFAULT_BRANCH": "main",
        "CI_MERGE_REQUEST_IID": "1",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        "CI_JOB_TOKEN": "job",
        "GITLAB_TOKEN": TOKEN,
    }


def component(source: Source, command: str, arguments: str = "") -> tuple[str, dict[str, Any]]:
    inputs = {"command": command, "policies": "windows/policy.yaml", "arguments": arguments}
    inputs |= {"source": str(source.place), "revision": source.commit}
    [found] = included(COMPONENT.read_text(), inputs).items()
    return found


def test_the_component_for_gitlab(
    fleet: Path, pulls: list[Pull], source: Source, environment: dict[str, str], tmp_path: Path
) -> None:
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(GITLAB.read_text().replace(PLACEHOLDER, source.commit))
    with serving("gitlab", *pulls) as server:
        base = git(fleet, "rev-parse", "main").strip()
        variables = project(environment, source, server.address, base)
        git(fleet, "switch", "--quiet", "topic")
        asked = {**variables, "CI_PIPELINE_SOURCE": "merge_request_event"}
        for _ in range(2):
            done = GitLab(fleet, source.place, asked).run(pipeline)
            passed(done, "krm-windows check", "krm-windows diff-comment")
            [(number, who, said)] = server.comments
            assert (number, who, "flux-system/week" in said) == (1, "ada", True)
        git(fleet, "switch", "--quiet", "main")
        branch = {**variables, "CI_PIPELINE_SOURCE": "schedule", "CI_COMMIT_BRANCH": "main"}
        branch |= {"CI_MERGE_REQUEST_IID": "", "CI_MERGE_REQUEST_DIFF_BASE_SHA": ""}
        for policy, state in ((CLOSED, "pending"), (OPEN, "success")):
            edited(fleet, policy)
            done = GitLab(fleet, source.place, branch).run(pipeline)
            passed(done, "krm-windows merge-gate")
            assert server.latest(server.pulls[0].sha)["state"] == state
            assert TOKEN not in done[0].output


Acting = Callable[..., Done]
GATES = ("merge-gate", "windows/policy.yaml", "--config=.github/merge-gate.yaml")


@pytest.fixture
def acting(server: Server, fleet: Path, event: Event, source: Source) -> Acting:

    def act(
        command: str,
        policies: str = "windows/policy.yaml",
        arguments: str = "",
        *,
        on: str = "push",
        base: str = "main",
        **environment: str,
    ) -> Done:
        runner = event(on, server.address, REPOSITORY, str(fleet), TOKEN, **environment)
        github = runner.context["github"]
        if base != "main":
            github["base_ref"] = github["event"]["pull_request"]["number"] = base
        inputs = {"command": command, "policies": policies, "arguments": arguments}
        return replace(runner, workspace=fleet).act(source.place, inputs)

    return act


def test_render_finds_what_is_stale(acting: Acting, fleet: Path) -> None:
    written = acting("render", arguments="--output-dir=rendered")
    assert written.code == 0, written.output
    assert list((fleet / "rendered").glob("cronjob_*"))
    assert acting("render", arguments="--output-dir=rendered\n--check").code == 0
    edited(fleet, OPEN)
    assert acting("render", arguments="--output-dir=rendered --check").code == 1
    (fleet / "windows/wrong.yaml").write_text(POLICY.replace("Mon 08:00", "Mon 25:00"))
    found = acting("check", policies="windows/wrong.yaml\nwindows/policy.yaml\n")
    assert found.code == 1
    assert "::error file=windows/wrong.yaml" in found.output
    as_json = acting("check", arguments="--output=json")
    assert (as_json.code, as_json.output[:1]) == (0, "{")


def queued(folder: Path, base: str, sha: str) -> dict[str, str]:
    head = f"refs/heads/gh-readonly-queue/main/pr-1-{base}"
    group = {"head_ref": head, "head_sha": sha, "base_sha": base}
    file = folder / "event.json"
    file.write_text(json.dumps({"merge_group": group}))
    return {"GITHUB_EVENT_NAME": "merge_group", "GITHUB_EVENT_PATH": str(file)}


def test_a_merge_queue_is_answered(
    server: Server, fleet: Path, acting: Acting, tmp_path: Path
) -> None:
    git(fleet, "switch", "--quiet", "topic")
    (fleet / "apps").mkdir()
    (fleet / "apps/web.yaml").write_text("a: 1\n")
    sha = edited(fleet, OPEN)
    for policy, code, state in ((CLOSED, 10, "failure"), (OPEN, 0, "success")):
        git(fleet, "switch", "--quiet", "main")
        base = edited(fleet, policy)
        git(fleet, "switch", "--quiet", "--detach", sha)
        done = acting(*GATES, on="merge_group", **queued(tmp_path, base, sha))
        assert done.code == code, done.output
        assert server.latest(sha)["state"] == state


def test_a_pull_request_from_a_fork_is_not_commented(
    server: Server, fleet: Path, acting: Acting
) -> None:
    """Its token may not; what changes is in the log all the same, and its secrets are not."""
    git(fleet, "update-ref", "refs/remotes/origin/main", "main")
    git(fleet, "switch", "--quiet", "topic")
    refused = (403, {}, {"message": "Resource not accessible by integration"})
    server.login = None
    server.before = lambda method, _path: method == "POST" and server.troubles.append(refused)
    done = acting("diff-comment", on="pull_request")
    assert done.code == 1
    assert "opens" in done.output
    assert "flux-system/week" in done.output
    assert "Resource not accessible by integration" in done.output
    assert TOKEN not in done.output
    assert server.comments == []


EVIL = (
    "$(touch pwned)",
    "`touch pwned`",
    '";touch pwned;"',
    "';touch pwned;'",
    "x;touch pwned",
    "x\ntouch pwned",
    "${IFS}$(touch${IFS}pwned)",
    "x&&touch pwned",
    "a[$(touch pwned)]",
)


@pytest.mark.parametrize("text", EVIL)
def test_no_input_is_text_of_a_script(acting: Acting, fleet: Path, text: str) -> None:
    for command in ("check", "merge-gate"):
        assert acting(command, text).code != 0
        assert acting(command, arguments=text).code != 0
    assert acting(text).code != 0
    assert acting("diff-comment", on="pull_request", base=text).code != 0
    assert not list(fleet.rglob("*pwned*"))


@pytest.mark.parametrize("text", EVIL)
def test_no_variable_of_gitlab_is_text_of_a_script(
    fleet: Path, source: Source, environment: dict[str, str], text: str
) -> None:
    name, job = component(source, "diff-comment")
    given = project(environment, source, "http://127.0.0.1:9", text)
    chosen = ("CI_PROJECT_PATH", "CI_MERGE_REQUEST_IID", "CI_JOB_TOKEN", "GITLAB_TOKEN")
    runner = GitLab(fleet, source.place, {**given, **dict.fromkeys(chosen, text)})
    changed = {**job, "variables": {**job["variables"], "KRM_WINDOWS_ARGUMENTS": text}}
    assert runner.job(name, changed).code != 0
    assert not list(fleet.rglob("*pwned*"))


COMMANDS = {
    "check": "",
    "render": "--output-dir=rendered",
    "diff-comment": "",
    "merge-gate": "--config=.github/merge-gate.yaml",
    "wait": "",
}


@pytest.fixture
def trapped(fleet: Path, pulls: list[Pull], tmp_path: Path) -> Iterator[Pipe]:
    assert pulls  # They are committed before: what runs then is nobody's harm.
    git(fleet, "update-ref", "refs/remotes/origin/main", "main")
    edited(fleet, OPEN)
    with listening(tmp_path / "pipe") as pipe:
        trap(fleet, pipe)
        yield pipe


def hostile(environment: Mapping[str, str], checkout: Path, path: str) -> dict[str, str]:
    folder = checkout.parent / "temporary"
    folder.mkdir()
    return {
        **environment,
        "PATH": path,
        "HOME": str(checkout),
        "XDG_CONFIG_HOME": f"{checkout}/.config",
        "PYTHONPATH": f":{checkout}:.",
        "PYTHONSTARTUP": "sitecustomize.py",
        "PIP_CONFIG_FILE": f"{checkout}/pip.conf",
        "PIP_CACHE_DIR": f"{checkout}/.cache",
        "TMPDIR": str(folder),
        "RUNNER_TEMP": str(folder),
    }


def test_the_action_runs_nothing_of_the_checkout(
    trapped: Pipe, server: Server, fleet: Path, acting: Acting, environment: dict[str, str]
) -> None:
    """And no program but the one that asks the forge sees the token, not even in its parents."""
    given = hostile(environment, fleet, spies(fleet.parent / "bin", trapped, TOKEN))
    for command, arguments in COMMANDS.items():
        done = acting(command, arguments=arguments, on="pull_request", **given)
        assert (command, done.code, trapped.said()) == (command, 0, set()), done.output
    assert server.latest(server.pulls[0].sha)["state"] == "success"
    assert len(server.comments) == 1
    # In a merge queue krm-windows itself starts Git.
    base, sha = (git(fleet, "rev-parse", name).strip() for name in ("main~1", "main"))
    given |= queued(fleet.parent, base, sha)
    done = acting(*GATES, on="pull_request", **given)
    assert (done.code, trapped.said()) == (0, set()), done.output
    assert server.latest(sha)["state"] == "success"


def test_the_component_runs_nothing_of_the_checkout(  # noqa: PLR0913, PLR0917 - fixtures
    trapped: Pipe,
    fleet: Path,
    pulls: list[Pull],
    source: Source,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    path = spies(tmp_path / "bin", trapped, TOKEN, spare_top=True)
    with serving("gitlab", *pulls) as server:
        base = git(fleet, "rev-parse", "main~1").strip()
        variables = project(hostile(environment, fleet, path), source, server.address, base)
        for command, arguments in COMMANDS.items():
            name, job = component(source, command, arguments)
            done = GitLab(fleet, source.place, variables).job(name, job)
            assert (command, done.code, trapped.said()) == (command, 0, set()), done.output
        assert server.latest(server.pulls[0].sha)["state"] == "success"
        assert len(server.comments) == 1


def test_nothing_is_fetched_for_a_comment(trapped: Pipe, fleet: Path, acting: Acting) -> None:
    """A commit that lacks would come from where the settings of the checkout say, by a command."""
    (fleet / ".git/refs/remotes/origin/main").write_text("1" * 40 + "\n")
    done = acting("diff-comment", on="pull_request")
    assert done.code == 1
    assert "check out the whole history" in done.output
    assert trapped.said() == set()


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "diff-comment"])
def test_a_path_is_no_option(acting: Acting, command: str) -> None:
    """Where names of changed files are given as policies, whoever changes them chooses them."""
    done = acting(command, "--help", COMMANDS[command])
    assert done.code == 1
    assert re.search("--help.*No such file", done.output)


def test_a_path_that_is_compared_is_no_option(acting: Acting, fleet: Path) -> None:
    (fleet / "-h").write_text(OPEN)
    committed(fleet, "Add a policy")
    git(fleet, "update-ref", "refs/remotes/origin/main", "main")
    done = acting("diff-comment", "-h", on="pull_request")
    assert (done.code, "usage" in done.output) == (0, False), done.output


@pytest.mark.parametrize("path", [ROOT / "action.yml", COMPONENT, GITHUB, GITEA, GITLAB])
def test_scripts_hold_no_expression(path: Path) -> None:
    """An input that is put into a script is text of it, whatever stands around it."""
    for document in yaml.safe_load_all(path.read_text()):
        for script in scripts(document):
            assert not re.search(r"\$\{\{|\$\[\[", script), script


def scripts(value: Any) -> Iterator[str]:  # noqa: ANN401 - any YAML
    if isinstance(value, list):
        for each in value:
            yield from scripts(each)
    if isinstance(value, dict):
        for key, each in value.items():
            if key in ("run", "script", "before_script", "after_script"):
                yield str(each)
            yield from scripts(each)


def test_what_pull_requests_bring_is_not_run_with_rights() -> None:
    read = yaml.safe_load(GITHUB.read_text())
    assert read["permissions"] == {}
    for name, job in read["jobs"].items():
        assert job["permissions"]["contents"] == "read"
        is_gate = name == "gate"
        assert ("statuses" in job["permissions"]) is is_gate
        assert (job["if"] == "github.event_name != 'pull_request'") is is_gate
        first = job["steps"][0]["with"]
        where = {"ref": "main"} if is_gate else {}
        assert first == {**where, "fetch-depth": 0, "persist-credentials": False}
    gitea = yaml.safe_load(GITEA.read_text())
    assert [job["if"] for job in gitea["jobs"].values()] == [
        job["if"] for job in read["jobs"].values()
    ]


@pytest.mark.parametrize(
    ("inputs", "said"),
    [({"command": "erase"}, "command: erase"), ({"revision": "main"}, "revision: main")],
)
def test_the_component_takes_what_it_names(inputs: dict[str, str], said: str) -> None:
    """A revision is a commit, since a branch or a tag can be moved."""
    given = {"command": "check", "policies": "a", "revision": PLACEHOLDER, "source": "x", **inputs}
    with pytest.raises(WorkflowError, match=said):
        included(COMPONENT.read_text(), given)
