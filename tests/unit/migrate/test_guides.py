"""The forms of guides and repositories: each is migrated right, or named as not read."""

import pytest
import yaml
from repositories import RELEASE, job, run

SUSPEND, RESUME = '{"spec":{"suspend":true}}', '{"spec":{"suspend":false}}'


def cronjob(name: str, hour: int, container: dict[str, object]) -> str:
    document = yaml.safe_load(job(name, f"0 {hour} * * 1-5", "none"))
    document["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"] = [
        {"name": "c", **container}
    ]
    return yaml.safe_dump(document)


def flux(verb: str) -> dict[str, object]:
    return {
        "image": "ghcr.io/fluxcd/flux-cli:v2.9.5",
        "args": [verb, "helmrelease", "shop", "--namespace=flux-system"],
    }


def kubectl(*words: str) -> dict[str, object]:
    return {"image": "registry.k8s.io/kubectl:v1.36.2", "command": ["kubectl", *words]}


def script(text: str, *flags: str, **environment: str) -> dict[str, object]:
    env = [{"name": name, "value": value} for name, value in environment.items()]
    return {
        "image": "alpine/k8s:1.36.2",
        "command": ["/bin/bash", *(flags or ["-c"])],
        "args": [text],
        "env": env,
    }


MOUNTED = {"image": "ghcr.io/fluxcd/flux-cli:v2.9.5", "command": ["/bin/sh", "/scripts/close.sh"]}
PATCH = "kubectl -n flux-system patch helmrelease shop --type merge -p"
LOOP = (
    "set -euo pipefail\nfor hr in $NAMES; do\n"
    "  kubectl patch hr $hr -n flux-system --type=merge -p '{}'\ndone\n"
)
READ: dict[str, tuple[dict[str, object], ...]] = {
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
    "a variable of the container in its arguments": tuple(
        {
            **kubectl("patch", "hr", "$(NAME)", "--type=merge", "-p", patch),
            "env": [{"name": "NAME", "value": "shop"}],
        }
        for patch in (RESUME, SUSPEND)
    ),
    "with words around": (
        script('echo "opening $(date)"; flux resume hr shop --wait; flux get hr shop; echo done'),
        script("set -x\necho closing\nflux suspend hr shop || exit 1\nexit 0\n"),
    ),
}


@pytest.mark.parametrize("containers", READ.values(), ids=READ.keys())
def test_a_form_is_migrated(containers: tuple[dict[str, object], ...]) -> None:
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


SUSPENDS = "flux suspend hr shop"
HEAD = "apiVersion: v1\nmetadata: {name: rest}\n"
ELSEWHERE = {
    "a pipe": ("", script(f"echo shop | xargs {SUSPENDS}")),
    "a ConfigMap": (f"{HEAD}kind: ConfigMap\ndata: {{close.sh: {SUSPENDS}}}\n", MOUNTED),
    "a Secret": (f"{HEAD}kind: Secret\nstringData: {{close.sh: {SUSPENDS}}}\n", MOUNTED),
    "values of a chart": (f"{RELEASE}  values: {{args: [flux, suspend, hr, shop]}}\n", MOUNTED),
    "a Job": (f"{HEAD}kind: Job\nargs: [{SUSPENDS}]\n", MOUNTED),
}


@pytest.mark.parametrize(("rest", "closes"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_script_that_is_not_read_is_named(rest: str, closes: dict[str, object]) -> None:
    files = {
        "open.yaml": cronjob("open-shop", 8, flux("resume")),
        "close.yaml": cronjob("close-shop", 17, closes),
    }
    found = run({**files, "rest.yaml": rest} if rest else files)
    places = {
        (each.file and each.file.path)
        for each in found.results
        if each.tags["rule"] == "migrate-unsupported"
    }
    assert ("rest.yaml" if rest else "close.yaml") in places
    assert (found.policies, found.files) == ((), {})
