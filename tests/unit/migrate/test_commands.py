"""What a line of shell does to windows, and which lines are not understood."""

import pytest

from krm_windows.migrate import commands, shell
from krm_windows.migrate.commands import Action, CommandError
from krm_windows.migrate.shell import ShellError

LONG = "kustomizations.v1.kustomize.toolkit.fluxcd.io"
MERGE = """--type=merge -p '{"spec":{"suspend":true}}'"""


def done(script: str) -> list[str]:
    actions, _ = commands.read(shell.split(script), "jobs")
    return [_said(action) for action in actions]


def _said(action: Action) -> str:
    verb = "suspend" if action.suspends else "resume"
    names = "*" if action.names is None else ",".join(action.names)
    return f"{verb} {action.row.kind} {action.namespace}/{names}"


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("flux suspend kustomization apps", "suspend Kustomization flux-system/apps"),
        ("flux resume ks apps infra -n shop", "resume Kustomization shop/apps,infra"),
        ("flux suspend ks a --namespace=shop --timeout 2m --wait", "suspend Kustomization shop/a"),
        ("flux -n shop suspend ks apps", "suspend Kustomization shop/apps"),
        ("flux resume ks -nshop apps > /dev/null 2>&1", "resume Kustomization shop/apps"),
        ("flux suspend source git fleet", "suspend GitRepository flux-system/fleet"),
        ("flux suspend source chart a", "suspend HelmChart flux-system/a"),
        ("flux resume image update all", "resume ImageUpdateAutomation flux-system/all"),
        ("flux suspend kustomization --all", "suspend Kustomization flux-system/*"),
        (f"kubectl patch kustomization apps -n shop {MERGE}", "suspend Kustomization shop/apps"),
        (f"kubectl patch ks/apps {MERGE}", "suspend Kustomization jobs/apps"),
        (f"kubectl patch {LONG} a b {MERGE}", "suspend Kustomization jobs/a,b"),
        ("""kubectl patch cj a -p '{"spec":{"suspend":true}}'""", "suspend CronJob jobs/a"),
    ],
)
def test_a_command_is_understood(script: str, wanted: str) -> None:
    assert done(script) == [wanted]


@pytest.mark.parametrize(
    ("kind", "patch", "verb"),
    [
        ("json", """'[{"op":"replace","path":"/spec/suspend","value":false}]'""", "resume"),
        ("json", """'[{"op":"remove","path":"/spec/suspend"}]'""", "resume"),
        ("merge", '"{\\"spec\\":{\\"suspend\\":false}}"', "resume"),
        ("merge", "'spec: {suspend: true}'", "suspend"),
        ("merge", """'{"spec":{"suspend":null}}'""", "resume"),
    ],
)
def test_a_patch_is_understood(kind: str, patch: str, verb: str) -> None:
    assert done(f"kubectl patch hr a --type {kind} -p {patch}") == [f"{verb} HelmRelease jobs/a"]


@pytest.mark.parametrize(
    "script",
    [
        "flux suspend ks $NAME",
        "flux suspend ks a-{1,2}",
        "test -f /frozen && flux suspend ks a",
        "curl -sf https://example.com/may-close\nflux suspend ks a",
        "if true; then flux suspend ks a; fi",
        "for k in a b; do test -f $k || flux suspend ks $k; done",
        "flux suspend ks",
        "flux suspend ks a --all",
        "flux suspend ks a --context other",
        "timeout 60 flux suspend ks a",
        "kubectl replace -f /manifests/suspended.yaml; flux suspend ks a",
        "sed -i 's/suspend: false/suspend: true/' /x; kubectl apply -f /x",
        "flux suspend thing a",
        f"kubectl patch ks apps --kubeconfig /other {MERGE}",
        'kubectl patch ks apps -p \'{"spec":{"suspend":true}}\'',
        f"kubectl patch deployment apps {MERGE}",
        "kubectl patch ks apps --type=merge --patch-file suspend.yaml",
        """kubectl patch ks apps --type=merge -p '{"spec":{"suspend":true,"path":"./b"}}'""",
        """kubectl patch ks apps --type=merge -p '{"spec":{"suspend":"$STATE"}}'""",
        f"kubectl patch ks {MERGE}",
        (
            "kubectl patch ks a --type json -p "
            """'[{"op":"test","path":"/spec/suspend","value":true}]'"""
        ),
        "kubectl annotate ks a kustomize.toolkit.fluxcd.io/reconcile=disabled",
        "kubectl scale deployment kustomize-controller --replicas=0 -n flux-system",
        (
            "curl -X PATCH https://kubernetes/apis/kustomize.toolkit.fluxcd.io/v1/a -d "
            """'{"spec":{"suspend":true}}'"""
        ),
    ],
)
def test_a_command_that_may_do_something_else_is_refused(script: str) -> None:
    """What depends on the cluster, a variable or another command is never guessed."""
    with pytest.raises((CommandError, ShellError), match="`"):
        done(script)


def test_what_else_a_script_does_is_reported() -> None:
    """A message to a chat is no window, but somebody will miss it."""
    script = "flux suspend ks a; curl -s https://chat.example; flux reconcile ks a"
    _, left_out = commands.read(shell.split(script), "jobs")
    assert list(map(str, left_out)) == ["curl -s https://chat.example", "flux reconcile ks a"]
