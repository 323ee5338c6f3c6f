"""ChangeClasses as an orchestrator calls it."""

from pathlib import Path

import pytest
from calls import call, lines_apart, wire

CLASSES = """\
apiVersion: krm-windows.dev/v1alpha1
kind: ChangeClasses
metadata:
  name: classes
spec:
  classes:
  - name: live
  - name: window
  default: window
  rules:
  - {class: live, kinds: [ConfigMap]}
"""
LIVE = f"{CLASSES}  keep: live\n"
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap # read by the server
metadata: {name: web, namespace: shop}
data: {on: "1e3", =: y, at: 22:00}
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\n"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: package}\n"
LOCAL = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: values
  annotations: {config.kubernetes.io/local-config: "true"}
"""
ITEMS = (SERVICE, CONFIG_MAP, NAMESPACE, KPTFILE, LOCAL, CLASSES)


def test_without_keep_all_are_annotated() -> None:
    given = wire(*ITEMS, config=CLASSES)
    answer = call(given)
    assert (answer.code, answer.err) == (0, "")
    noted = "annotations: {krm-windows.dev/change-class: live}"
    assert lines_apart(given.encode(), answer.out) == [
        "+    annotations:",
        "+      krm-windows.dev/change-class: window",
        "-  metadata: {name: web, namespace: shop}",
        f"+  metadata: {{name: web, namespace: shop, {noted}}}",
        "+    annotations:",
        "+      krm-windows.dev/change-class: live",
    ]


def test_with_keep_the_others_are_dropped() -> None:
    kept = (CONFIG_MAP, NAMESPACE, KPTFILE, LOCAL, CLASSES)
    assert call(wire(*ITEMS, config=LIVE)).out.decode() == wire(*kept, config=LIVE)
    nothing = call(wire(SERVICE, config=LIVE))
    assert (nothing.code, nothing.items) == (0, [])


def test_the_exec_plugin_protocol(tmp_path: Path) -> None:
    config = tmp_path / "classes.yaml"
    config.write_text(LIVE)
    answer = call(f"{SERVICE}---\n{CONFIG_MAP}---\n{NAMESPACE}", str(config))
    assert answer.code == 0
    assert answer.out.decode().removeprefix("---\n") == f"{CONFIG_MAP}---\n{NAMESPACE}"


def test_on_an_error_every_item_is_returned() -> None:
    """An empty output would delete what it lacks."""
    given = wire(SERVICE, config=f"{CLASSES}  keep: windows\n")
    answer = call(given)
    assert (answer.code, answer.rules) == (1, ["class-unknown"])
    assert answer.out.decode().startswith(given)
    said = 'must be one of the classes (live, window), got "windows"; did you mean "window"?'
    assert said in answer.err


@pytest.mark.parametrize(
    ("default", "kinds", "wanted"),
    [
        ("''", "kind", [("spec.default", "name-syntax"), ("spec.rules[1].kind", "field-unknown")]),
        (
            "window",
            "kinds",
            [("spec.rules[1].class", "class-unknown"), ("spec.rules[2]", "rule-unreachable")],
        ),
    ],
    ids=["while some cannot be read", "once all can"],
)
def test_all_that_is_wrong_is_said_at_once(
    default: str, kinds: str, wanted: list[tuple[str, str]]
) -> None:
    config = CLASSES.replace("default: window", f"default: {default}")
    config += f"  - {{class: lives, {kinds}: [Secret]}}\n"
    config += "  - {class: live, kinds: [ConfigMap], names: [a]}\n"
    results = call(wire(SERVICE, config=config)).results
    assert [(each["field"]["path"], each["tags"]["rule"]) for each in results] == wanted


def test_as_validator_it_prints_nothing() -> None:
    mode = "metadata:\n  annotations: {krm-windows.dev/mode: Validate}\n"
    config = CLASSES.replace("metadata:\n", mode, 1)
    assert call(wire(*ITEMS, config=config)).out == b""
    assert call(wire(*ITEMS, config=config.replace("default: window", "default: a"))).code == 1


def test_a_hash_that_is_still_to_come_would_get_lost() -> None:
    """kustomize renames what it hashes after the function has run."""
    env = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: env\n  namespace: shop\n"
    env += "  annotations: {internal.config.kubernetes.io/needsHashSuffix: enabled}\n"
    web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n"
    reference = "{containers: [{name: web, envFrom: [{configMapRef: {name: env}}]}]}"
    web += f"spec: {{template: {{spec: {reference}}}}}\n"
    known = "{from: Deployment/shop/web, to: ConfigMap/shop/env, reason: why not}"
    acknowledged = f"{CLASSES}  acknowledge: [{known}]\n"
    assert call(wire(web, env, config=CLASSES)).rules == ["reference-renamed"]
    assert call(wire(web, env, config=acknowledged)).rules == []
    answer = call(wire(web, env, config=f"{acknowledged}  keep: window\n"))
    assert answer.rules == ["reference-renamed"]
    assert "only after this function has removed it here" in answer.err
