"""Closed-by annotations in Git are errors of every build, however they are written."""

from pathlib import Path

import pytest
from calls import APPS, POLICY, call, wire

from krm_windows.cli import main

CLOSED_BY = "closed-by.krm-windows.dev/e4b94ba4a9b5ac93"
OTHER = APPS.replace("name: apps", "name: other")


def annotated(lines: str, document: str = APPS) -> str:
    return document.replace("  namespace: flux-system\n", f"  namespace: flux-system\n{lines}", 1)


WAYS = {
    "as it is": annotated(f'  annotations:\n    {CLOSED_BY}: "{{}}"\n'),
    "in quotes": annotated(f"  annotations:\n    '{CLOSED_BY}': '{{}}'\n"),
    "in escapes": annotated('  annotations:\n    "\\x63losed-by.krm-w\\u0069ndows.dev/0": "{}"\n'),
    "in flow style": annotated(f'  annotations: {{team: blue, {CLOSED_BY}: "{{}}"}}\n'),
    "as an explicit key": annotated(f"  annotations:\n    ? {CLOSED_BY}\n    : text\n"),
    "by an alias": annotated(f'  labels: &all\n    {CLOSED_BY}: "{{}}"\n  annotations: *all\n'),
    "without a value": annotated(f"  annotations:\n    {CLOSED_BY}:\n"),
    "on what is no target": annotated(f'  annotations:\n    {CLOSED_BY}: "{{}}"\n', OTHER),
    "for all that is applied": APPS.replace(
        "spec:\n", f"spec:\n  commonMetadata:\n    annotations:\n      {CLOSED_BY}: a\n"
    ),
}
HONEST = {
    "a hold": annotated('  annotations:\n    krm-windows.dev/hold: "ann"\n'),
    "a governor": annotated("  annotations:\n    krm-windows.dev/governed-by: flux-system/week\n"),
    "in a text": (
        f'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  help: "{CLOSED_BY}"\n'
    ),
    "a label": (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  labels:\n    {CLOSED_BY}: a\n"
    ),
}


@pytest.mark.parametrize("document", WAYS.values(), ids=WAYS)
def test_an_annotation_in_the_resources(document: str) -> None:
    source = wire(document) if document != WAYS["on what is no target"] else wire(APPS, document)
    answer = call(source)
    assert answer.code == 1
    assert answer.rules == ["annotation-in-git"]
    [path] = [result["field"]["path"] for result in answer.results]  # type: ignore[index]
    assert ".annotations." in path
    assert ".krm-windows.dev/" in path
    assert all(
        line in answer.out.decode().splitlines() for line in source.splitlines() if "krm-w" in line
    )


@pytest.mark.parametrize("document", HONEST.values(), ids=HONEST)
def test_what_is_no_claim(document: str) -> None:
    answer = call(wire(document) if "name: apps" in document else wire(APPS, document))
    assert "annotation-in-git" not in answer.rules
    assert answer.code == 0


def test_an_annotation_in_what_is_rendered_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    Path("all").mkdir()
    Path("all/resources.yaml").write_text(WAYS["in escapes"])
    assert main(["render", "policy.yaml", "--resources", "all", "--output-dir", "out"]) == 1
    assert "(annotation-in-git)" in capsys.readouterr().err
    assert not Path("out").exists()
    assert main(["verify", "all/resources.yaml", "--policy", "policy.yaml"]) == 1
    assert "(annotation-in-git)" in "".join(capsys.readouterr())
