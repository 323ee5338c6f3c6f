"""The forms in which guides and repositories write such windows.

Each is migrated right, or named as not read.
"""

import pytest
import yaml
from repositories import RELEASE, rules, run

SUSPEND, RESUME = '{"spec":{"suspend":true}}', '{"spec":{"suspend":false}}'


def cronjob(name: str, hour: int, container: dict[str, object]) -> str:
    """Write a CronJob with one container."""
    pod = {
        "serviceAccountName": "keeper",
        "restartPolicy": "OnFailure",
        "containers": [{"name": "c", **container}],
    }
    spec = {
        "schedule": f"0 {hour} * * 1-5",
        "timeZone": "Etc/UTC",
        "jobTemplate": {"spec": {"template": {"spec": pod}}},
    }
    metadata = {"name": name, "namespace": "flux-system"}
    return yaml.dump(
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec},
        Dumper=yaml.CSafeDumper,
    )


def flux(verb: str) -> dict[str, object]:
    """The image of Flux with arguments alone."""
    return {
        "image": "ghcr.io/fluxcd/flux-cli:v2.9.5",
        "args": [verb, "helmrelease", "shop", "--namespace=flux-system"],
    }


def kubectl(*words: str) -> dict[str, object]:
    """An image with kubectl, called with a list of words."""
    return {"image": "registry.k8s.io/kubectl:v1.36.2", "command": ["kubectl", *words]}


def script(text: str, *flags: str, **environment: str) -> dict[str, object]:
    """A script in a shell."""
    env = [{"name": name, "value": value} for name, value in environment.items()]
    return {
        "image": "alpine/k8s:1.36.2",
        "command": ["/bin/bash", *(flags or ["-c"])],
        "args": [text],
        "env": env,
    }


PATCH = "kubectl -n flux-system patch helmrelease shop --type merge -p"
LOOP = (
    "set -euo pipefail\nfor hr in $NAMES; do\n"
    "  kubectl patch hr $hr -n flux-system --type=merge -p '{}'\ndone\n"
)
READ = {
    "arguments of the image": (flux("resume"), flux("suspend")),
    "kubectl as a list": (
        kubectl(
            "patch", "helmrelease", "shop", "-n", "flux-system", "--type=merge", f"--patch={RESUME}"
        ),
        kubectl("patch", "helmrelease/shop", "-n", "flux-system", "--type=merge", "-p", SUSPEND),
    ),
    "a line of shell": (script(f"{PATCH} '{RESUME}'"), script(f"{PATCH} '{SUSPEND}'")),
    "a loop over names of the environment": (
        script(LOOP.replace("{}", RESUME), NAMES="shop"),
        script(LOOP.replace("{}", SUSPEND), NAMES="shop"),
    ),
    "a variable of the container in its arguments": (
        {
            **kubectl("patch", "hr", "$(NAME)", "--type=merge", "-p", RESUME),
            "env": [{"name": "NAME", "value": "shop"}],
        },
        {
            **kubectl("patch", "hr", "$(NAME)", "--type=merge", "-p", SUSPEND),
            "env": [{"name": "NAME", "value": "shop"}],
        },
    ),
    "with words around": (
        script('echo "opening $(date)"; flux resume hr shop --wait; flux get hr shop; echo done'),
        script("set -x\necho closing\nflux suspend hr shop || exit 1\nexit 0\n"),
    ),
}
UNREAD = {
    "names of the cluster": (
        "for k in $(kubectl get hr -o name); do kubectl patch $k --type merge -p '{}'; done"
    ),
    "a pipe": "kubectl get hr -o name | xargs -n1 -I% kubectl patch % --type=merge -p '{}'",
    "a here-document": (
        "kubectl patch hr shop --type=merge --patch-file /dev/stdin <<EOF\n{}\nEOF\n"
    ),
    "a condition": "if [ ! -f /hold ]; then flux suspend hr shop; fi",
    "a day of the month": "[ $(date +%d) -le 7 ] && flux suspend hr shop",
    "the API": (
        "curl -sSk -X PATCH "
        "$APISERVER/apis/helm.toolkit.fluxcd.io/v2/namespaces/a/helmreleases/b -d '{}'"
    ),
    "the controllers": (
        "kubectl -n flux-system scale deployment kustomize-controller helm-controller --replicas=0"
    ),
    "an annotation": (
        "kubectl annotate hr shop helm.toolkit.fluxcd.io/reconcile=disabled --overwrite"
    ),
    "another cluster": "flux suspend hr shop --context plant",
    "another configuration": "export KUBECONFIG=/etc/plant; flux suspend hr shop",
    "an edit": (
        "kubectl get hr shop -o yaml > /x; sed -i 's/suspend: false/suspend: true/' /x; "
        "kubectl apply -f /x"
    ),
    "a file": "kubectl replace -f /manifests/suspended.yaml; flux suspend hr shop",
    "a wrapper": "timeout 60 flux suspend hr shop",
    "a function": "close() { flux suspend hr $1; }; close shop",
}


@pytest.mark.parametrize("containers", READ.values(), ids=READ.keys())
def test_a_form_is_migrated(containers: tuple[dict[str, object], dict[str, object]]) -> None:
    """It comes to the same window."""
    opens, closes = containers
    found = run(
        {
            "open.yaml": cronjob("open-shop", 8, opens),
            "close.yaml": cronjob("close-shop", 17, closes),
            "hr.yaml": RELEASE,
        }
    )
    [policy] = found.policies
    [windows] = policy.clusters.values()
    assert [str(target) for target in windows.targets] == ["HelmRelease flux-system/shop"]
    assert [(each.opens, each.closes) for each in windows.windows] == [
        ("0 8 * * 1-5", "0 17 * * 1-5")
    ]


@pytest.mark.parametrize("line", UNREAD.values(), ids=UNREAD.keys())
def test_a_form_that_is_not_read_is_named(line: str) -> None:
    """With its text and its line, and no policy is made of the rest."""
    closes = cronjob("close-shop", 17, script(line.replace("{}", SUSPEND)))
    found = run(
        {
            "open.yaml": cronjob("open-shop", 8, flux("resume")),
            "close.yaml": closes,
            "hr.yaml": RELEASE,
        }
    )
    [unread] = [each for each in found.results if each.tags["rule"] == "migrate-unsupported"]
    assert unread.file
    assert unread.file.path == "close.yaml"
    assert unread.resource_ref
    assert unread.resource_ref.name == "close-shop"
    assert (found.policies, found.files) == ((), {})


CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "scripts", "namespace": "flux-system"},
}
MOUNTED = {"image": "ghcr.io/fluxcd/flux-cli:v2.9.5", "command": ["/bin/sh", "/scripts/close.sh"]}
VALUES = {"cronjobs": [{"schedule": "0 17 * * *", "args": ["flux", "suspend", "hr", "shop"]}]}


@pytest.mark.parametrize(
    "rest",
    [
        yaml.dump(
            {**CONFIG, "data": {"close.sh": "#!/bin/sh\nflux suspend hr shop\n"}},
            Dumper=yaml.CSafeDumper,
        ),
        yaml.dump(
            {**CONFIG, "kind": "Secret", "stringData": {"close.sh": f"{PATCH} '{SUSPEND}'"}},
            Dumper=yaml.CSafeDumper,
        ),
        RELEASE
        + yaml.dump({"values": VALUES}, Dumper=yaml.CSafeDumper)
        .replace("\n", "\n  ")
        .join(["  ", "\n"]),
        yaml.dump(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "once"},
                "args": ["flux", "resume"],
            },
            Dumper=yaml.CSafeDumper,
        ),
    ],
    ids=["a ConfigMap", "a Secret", "the values of a chart", "a Job"],
)
def test_a_script_that_is_in_no_cronjob_is_named(rest: str) -> None:
    """What runs it, and when, is not read."""
    files = {
        "open.yaml": cronjob("open-shop", 8, flux("resume")),
        "close.yaml": cronjob("close-shop", 17, MOUNTED),
    }
    found = run({**files, "rest.yaml": rest})
    assert "migrate-unsupported" in rules(found)
    assert found.policies == ()
