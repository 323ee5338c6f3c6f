"""One object: what it says of itself, and that an edit changes the lines it must and no other."""

from difflib import unified_diff

import pytest

from krm_windows import krm

TEXT = """\
# head
- apiVersion: apps/v1 # line
  kind: Deployment
  metadata:
    name: web
    labels:
      app: web   # why
      # foot
    # below
  spec:
    paused: false
    args:
    - a
    # about b
    - b
    map: {a: b, c: [1, 2]}
  # end
"""


def item(text: str = TEXT) -> krm.KubeObject:
    data = text.encode()
    return krm.KubeObject(data, 0, len(data), column=0)


def changed(obj: krm.KubeObject, before: str = TEXT) -> list[str]:
    """Return the lines of the diff that were removed and added."""
    diff = unified_diff(before.splitlines(), obj.span.decode().splitlines(), lineterm="", n=0)
    return [line for line in diff if not line.startswith(("---", "+++", "@@"))]


def test_an_object_says_what_it_is() -> None:
    """Kind, version, name, labels and annotations are strings, empty where there are none."""
    obj = item()
    assert (obj.api_version, obj.kind, obj.namespace, obj.name) == ("apps/v1", "Deployment", "", "web")
    assert (obj.labels, obj.annotations) == ({"app": "web"}, {})


def test_a_scalar_is_replaced_in_its_place() -> None:
    """Only its line differs, and the comment behind it stays."""
    obj = item()
    obj.set("front", "metadata", "labels", "app")
    assert changed(obj) == ["-      app: web   # why", "+      app: front   # why"]


def test_an_entry_is_added_behind_the_last_and_its_comments() -> None:
    """The comment below the last entry stays below it."""
    obj = item()
    obj.set_label("time", "22:00")
    assert changed(obj) == ['+      time: "22:00"']
    assert "# foot\n      time" in obj.span.decode()


def test_missing_mappings_are_made() -> None:
    """An annotation can be set where there are none."""
    obj = item()
    obj.set_annotation("a", "on")
    assert changed(obj) == ["+    annotations:", '+      a: "on"']


def test_setting_what_is_there_changes_nothing() -> None:
    """Writing every value back gives the same bytes."""
    obj = item()
    obj.set(obj.get("spec"), "spec")
    assert obj.span.decode() == TEXT
    assert not obj.edited


def test_a_list_keeps_what_is_the_same_at_both_ends() -> None:
    """A new element comes between its neighbours, and comments stay with theirs."""
    obj = item()
    obj.set(["a", "new", "b"], "spec", "args")
    assert changed(obj) == ["+    - new"]


@pytest.mark.parametrize(("path", "gone"), [(("spec", "paused"), "paused: false"), (("apiVersion",), "apiVersion")])
def test_an_entry_is_removed_with_its_line(path: tuple[str, ...], gone: str) -> None:
    """The others stay where they are, on the line of the dash too."""
    obj = item()
    assert obj.remove(*path)
    assert gone not in obj.span.decode()
    assert obj.kind == "Deployment"
    assert not obj.remove(*path)
