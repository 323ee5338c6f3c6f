"""Every command that is proposed to people, and changes a cluster, is run by a story there.

As it stands, on a target that Flux delivers: what `kubectl annotate`, `edit` or `patch` write under
their own names is taken back by Flux within seconds, and who is told to use them is told wrong.
"""

import re
from pathlib import Path

import commands_page
import proposed
import pytest

from krm_windows.cli.commands import COMMANDS

STORIES = Path(__file__).resolve().parents[1] / "cluster"
HOW_TO = "docs/how-to"
WRONG = f"{HOW_TO}/when-something-is-wrong.md"
# The story that runs a command, by the page and how the command begins. A story that has a fixture
# for a whole page runs all its commands; others take them from the page by `proposed.commands`.
RUN = {
    (WRONG, "krm-windows hold"): "test_people.py::test_a_hold_of_an_open_target",
    (WRONG, "kubectl patch"): "test_people.py::test_a_hold_by_plain_kubectl",
    (WRONG, "kubectl annotate"): "test_people.py::test_a_hold_by_plain_kubectl",
    (WRONG, "flux suspend"): "test_people.py::test_flux_suspend_and_resume",
    (WRONG, "flux resume"): "test_people.py::test_flux_suspend_and_resume",
    (
        f"{HOW_TO}/removing-a-policy.md",
        "flux resume",
    ): "test_succession.py::test_a_policy_deleted_while_closed_is_undone_by_hand",
    (
        f"{HOW_TO}/removing-a-policy.md",
        "kubectl annotate",
    ): "test_succession.py::test_a_policy_deleted_while_closed_is_undone_by_hand",
    (
        f"{HOW_TO}/removing-a-policy.md",
        "kubectl apply",
    ): "test_succession.py::test_the_way_out_for_a_policy_deleted_while_closed",
    (
        f"{HOW_TO}/rename-or-move.md",
        "kubectl annotate",
    ): "test_succession.py::test_annotations_that_a_person_removes",
    (
        f"{HOW_TO}/run-something-around-a-window.md",
        "kubectl -n flux-system annotate",
    ): "test_succession.py::test_annotations_that_a_person_removes",
    (
        f"{HOW_TO}/remove-an-application.md",
        "kubectl delete",
    ): "test_removal.py::test_what_was_left_is_deleted_by_hand",
    (
        f"{HOW_TO}/edge-clusters.md",
        "flux suspend",
    ): "test_edge.py::test_an_override_that_is_applied_on_site",
    (
        f"{HOW_TO}/edge-clusters.md",
        "kubectl apply --server-side",
    ): "test_edge.py::test_an_override_that_is_applied_on_site",
    (
        f"{HOW_TO}/edge-clusters.md",
        "",
    ): "test_edge.py::test_a_week_and_three_edges_as_the_page_shows_them",
    (f"{HOW_TO}/break-glass.md", ""): "test_break_glass.py::test_break_glass_without_git",
    ("docs/tutorial.md", ""): "test_tutorial.py::test_every_step_of_the_tutorial",
}
# What no story runs, and why it need not last in what Flux delivers.
NOT_RUN = {
    (f"{HOW_TO}/start.md", "flux create kustomization"): "it is no target in Git",
    (f"{HOW_TO}/migrate-from-cronjobs.md", "flux create kustomization"): "it is no target in Git",
    ("krm_windows/checks/capacity.py", "kubectl apply"): "it is named, not proposed",
    ("krm_windows/cli/init.py", "flux create"): "it is named, not proposed",
    ("examples/server/README.md", "kubectl"): "it makes what Flux does not deliver",
}
# What a text of the program proposes is what a page proposes, with names put in.
MESSAGES = {
    ("krm_windows/cli/hold.py", "kubectl patch"): "test_people.py::test_what_nobody_gates",
    (
        "krm_windows/cli/hold.py",
        "krm-windows hold",
    ): "test_people.py::test_a_hold_of_an_open_target",
    ("krm_windows/cli/examples.py", "krm-windows hold"): (
        "test_people.py::test_a_hold_of_an_open_target"
    ),
}
FOUND = [
    *(
        (str(page.relative_to(proposed.ROOT)), command)
        for page in proposed.pages()
        for command in proposed.commands(str(page.relative_to(proposed.ROOT)))
    ),
    *proposed.in_messages(),
]
LISTED = {**RUN, **NOT_RUN, **MESSAGES}


@pytest.mark.parametrize(("page", "command"), FOUND)
def test_a_story_runs_it(page: str, command: str) -> None:
    """A new one wants a story, and a row of the table here."""
    rows = [row for row in LISTED if row[0] == page and command.startswith(row[1])]
    assert rows, f"{page} proposes `{command}`, which no story runs on what Flux delivers"


@pytest.mark.parametrize("row", LISTED)
def test_a_row_is_of_a_command(row: tuple[str, str]) -> None:
    """Nothing is listed that is not proposed any more."""
    page, beginning = row
    assert any(found == page and command.startswith(beginning) for found, command in FOUND)


@pytest.mark.parametrize(("row", "story"), [*RUN.items(), *MESSAGES.items()])
def test_the_story_exists(row: tuple[str, str], story: str) -> None:
    """And takes the command from the page, so that it runs what stands there."""
    module, _, name = story.partition("::")
    text = (STORIES / module).read_text()
    assert f"\ndef {name}(" in text
    if row[1] and row in RUN:
        body = text.partition(f"\ndef {name}(")[2].partition("\n\n\n")[0]
        assert "proposed.commands(" in body
        assert re.search(re.escape(f'"{row[1]}'), body), f"{story} does not run {row}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("kubectl get pods", []),
        ("`kubectl patch`", []),
        ("kubectl -n a annotate b c=d | cat  # x", ["kubectl -n a annotate b c=d"]),
        ("$ kubectl edit ks apps", ["kubectl edit ks apps"]),
        ("flux suspend ks \\\n  apps", ["flux suspend ks apps"]),
        ("a/kubectl label x", []),
    ],
)
def test_what_counts(text: str, found: list[str]) -> None:
    """Of scripts and sentences, what changes something."""
    assert list(proposed.in_code(text)) == found


# Options of other programs that messages name.
FOREIGN = {
    "--default-service-account": "kustomize-controller",
    "--no-cross-namespace-refs": "kustomize-controller",
}
CALL = re.compile(r"krm-windows ([a-z-]+)([^`\n]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def options_of(command: str) -> frozenset[str]:
    """Return the options of a command."""
    found = commands_page.parser(command)._actions
    return frozenset(option for action in found for option in action.option_strings)


OPTIONS = {command: options_of(command) for command in COMMANDS}


def unknown(module: str, text: str) -> set[str]:
    """Return the options that a text of a module names, and that its command does not have."""
    every = frozenset().union(*OPTIONS.values())
    found: set[str] = set()
    for call in CALL.finditer(text):
        found |= set(OPTION.findall(call[2])) - OPTIONS.get(call[1], every)
    for code in re.findall(r"`(--[^`]+)`", text):
        found |= set(OPTION.findall(code)) - every
    # What a command says of itself alone is an option of its own.
    command = module.removeprefix("cli/").removesuffix(".py").replace("_", "-")
    if module.startswith("cli/") and command in OPTIONS and "krm-windows" not in text:
        for used in re.findall(r"[Uu]se `(--[^`]+)`", text):
            found |= set(OPTION.findall(used)) - OPTIONS[command]
    return found - FOREIGN.keys()


def test_an_option_that_a_text_names_exists() -> None:
    """So that nobody who follows it is told that it is unknown."""
    found = {text: unknown(module, text) for module, text in proposed.texts() if "--" in text}
    assert found
    assert {text: options for text, options in found.items() if options} == {}


@pytest.mark.parametrize(
    ("module", "text", "found"),
    [
        ("cli/migrate.py", "use `--hook` here", {"--hook"}),
        ("flux/model.py", "say `--nowhere`", {"--nowhere"}),
        ("flux/model.py", "run krm-windows migrate a --resources b", {"--resources"}),
        ("flux/model.py", "run krm-windows render a --resources b", set()),
    ],
)
def test_an_option_of_another_command_is_found(module: str, text: str, found: set[str]) -> None:
    """And one of none."""
    assert unknown(module, text) == found
