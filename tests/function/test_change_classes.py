"""ChangeClasses as an orchestrator calls it.

All items annotated, or those of one class, and else nothing changed.
"""

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


def keeping(name: str) -> str:
    return f"{CLASSES}  keep: {name}\n"


def test_without_keep_all_are_annotated() -> None:
    given = wire(*ITEMS, config=CLASSES)
    answer = call(given)
    assert (answer.code, answer.err) == (0, "")
    assert lines_apart(given.encode(), answer.out) == [
        "+    annotations:",
        "+      krm-windows.dev/change-class: window",
        "-  metadata: {name: web, namespace: shop}",
        (
            "+  metadata: {name: web, namespace: shop, "
            "annotations: {krm-windows.dev/change-class: live}}"
        ),
        "+    annotations:",
        "+      krm-windows.dev/change-class: live",
    ]


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ("live", (CONFIG_MAP, NAMESPACE, KPTFILE, LOCAL, CLASSES)),
        ("window", (SERVICE, KPTFILE, LOCAL, CLASSES)),
    ],
)
def test_with_keep_the_others_are_dropped(keep: str, kept: tuple[str, ...]) -> None:
    config = keeping(keep)
    assert call(wire(*ITEMS, config=config)).out.decode() == wire(*kept, config=config)


def test_a_class_without_resources_leaves_an_empty_list() -> None:
    answer = call(wire(SERVICE, config=keeping("live")))
    assert (answer.code, answer.items) == (0, [])


def test_the_exec_plugin_protocol(tmp_path: Path) -> None:
    config = tmp_path / "classes.yaml"
    config.write_text(keeping("live"))
    stream = f"{SERVICE}---\n{CONFIG_MAP}---\n{NAMESPACE}"
    answer = call(stream, str(config))
    assert answer.code == 0
    assert answer.out.decode().removeprefix("---\n") == f"{CONFIG_MAP}---\n{NAMESPACE}"


def test_on_an_error_every_item_is_returned() -> None:
    """An empty output would delete what it lacks."""
    given = wire(SERVICE, CONFIG_MAP, config=keeping("windows"))
    answer = call(given)
    assert answer.code == 1
    assert answer.out.decode().startswith(given)
    assert answer.rules == ["class-unknown"]
    assert (
        'must be one of the classes (live, window), got "windows"; did you mean "window"?'
        in answer.err
    )


def test_all_that_is_wrong_is_said_at_once() -> None:
    config = (
        CLASSES
        + "  - {class: lives, kind: [Secret]}\n  - {class: live, kinds: [ConfigMap], names: [a]}\n"
    )
    empty = config.replace("default: window", "default: ''")
    for text, wanted in (
        (empty, [("spec.default", "name-syntax"), ("spec.rules[1].kind", "field-unknown")]),
        (
            config.replace("kind: [", "kinds: ["),
            [("spec.rules[1].class", "class-unknown"), ("spec.rules[2]", "rule-unreachable")],
        ),
    ):
        results = call(wire(SERVICE, config=text)).results
        found = [(result["field"]["path"], result["tags"]["rule"]) for result in results]
        assert found == wanted


def test_as_validator_it_prints_nothing() -> None:
    mode = "metadata:\n  annotations: {krm-windows.dev/mode: Validate}\n"
    config = CLASSES.replace("metadata:\n", mode, 1)
    assert call(wire(*ITEMS, config=config)).out == b""
    assert (
        call(wire(*ITEMS, config=config.replace("default: window", "default: windows"))).code == 1
    )


GENERATED = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: env
  namespace: shop
  annotations: {internal.config.kubernetes.io/needsHashSuffix: enabled}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    spec:
      containers:
      - name: web
        envFrom:
        - configMapRef: {name: env}
"""
ACKNOWLEDGED = (
    "  acknowledge:\n  - {from: Deployment/shop/web, to: ConfigMap/shop/env, reason: why not}\n"
)


def test_a_hash_that_is_still_to_come_would_get_lost() -> None:
    """kustomize renames what it hashes after the function has run."""
    assert call(wire(WEB, GENERATED, config=CLASSES)).rules == ["reference-renamed"]
    assert call(wire(WEB, GENERATED, config=CLASSES + ACKNOWLEDGED)).rules == []
    answer = call(wire(WEB, GENERATED, config=CLASSES + ACKNOWLEDGED + "  keep: window\n"))
    assert answer.rules == ["reference-renamed"]
    assert "only after this function has removed it here" in answer.err
