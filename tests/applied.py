"""What messages propose, applied as a reader would: each proposal is a sentence of a small grammar.

A message says what is wrong and, behind the last semicolon, what to do; where there are several
ways, they are separated by `, or`. A way that nothing here applies has to be named with a reason.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

Result = dict[str, Any]
Change = Callable[[dict[str, Any]], object]
# A way ends at `or`, and where the next one begins with an imperative after a comma.
_OR = re.compile(r",? or (?=[a-z]+ )(?!its)|, (?=deliver )")


def ways(message: str) -> list[str]:
    _, semicolon, advice = message.rpartition("; ")
    return _OR.split(advice) if semicolon else []


def apply(way: str, result: Result, folder: Path) -> list[str] | None:
    for pattern, do in WAYS.items():
        found = re.fullmatch(pattern, way)
        if found:
            return do(found, result, folder) or []
    return None


def policies(folder: Path) -> list[Path]:
    return [
        path for path in sorted(folder.rglob("*.yaml")) if "kind: WindowPolicy" in path.read_text()
    ]


def edit(path: Path, kind: str, name: str, change: Change) -> None:
    documents = list(filter(None, yaml.safe_load_all(path.read_text())))
    for each in list(documents):
        is_it = (each["kind"], each["metadata"]["name"]) == (kind, name)
        if is_it and change(each) is False:
            documents.remove(each)
    path.write_text(yaml.safe_dump_all(documents, sort_keys=False))


def edit_policy(folder: Path, change: Change) -> None:
    [path, *_] = policies(folder)
    name = yaml.safe_load(path.read_text())["metadata"]["name"]
    edit(path, "WindowPolicy", name, change)


def steps(path: str) -> list[str | int]:
    """Return the keys of a path; keys of annotations have dots themselves."""
    head, dot, rest = path.partition("annotations.")
    keys: list[str | int] = [
        int(key) if key.isdigit() else key
        for key in re.findall(r"[^.\[\]]+", head + "annotations" * bool(dot))
    ]
    return [*keys, rest] if dot else keys


def _there(result: Result, change: Change) -> None:
    ref = result["resourceRef"]
    edit(Path(result["file"]["path"]), ref["kind"], ref["name"], change)


def _gate(found: re.Match[str], result: Result, folder: Path) -> None:
    ref = result.get("resourceRef", {})
    named = re.findall(r"([A-Z]\w+) ([\w-]+)/([\w-]+)", found["what"])
    if found["what"] == "the HelmReleases that use it":
        named = re.findall(r"(\w+) ([\w-]+)/([\w-]+)", result["tags"]["objects"])
    named = named or [(ref["kind"], ref["namespace"], ref["name"])]

    def add(policy: dict[str, Any]) -> None:
        spec = policy["spec"]
        spec["targets"] += [
            {"kind": kind, "namespace": namespace, "names": [name]}
            for kind, namespace, name in named
        ]
        if any(namespace != policy["metadata"]["namespace"] for _, namespace, _ in named):
            spec["crossNamespaceTargets"] = "Allow"

    edit_policy(folder, add)


def _pin(found: re.Match[str], result: Result, _: Path) -> None:
    def pin(document: dict[str, Any]) -> None:
        if found["what"] == "one version":
            document["spec"]["chart"]["spec"]["version"] = "1.2.3"
        else:
            document["spec"]["ref"] = {"tag": "1.2.3"}

    _there(result, pin)


def _remove(_: re.Match[str], result: Result, __: Path) -> None:
    *above, last = steps(result["field"]["path"])

    def remove(document: dict[str, Any]) -> None:
        for key in above:
            document = document[key]  # type: ignore[index]
        document.pop(last)  # type: ignore[arg-type]

    _there(result, remove)


def _remove_object(_: re.Match[str], result: Result, __: Path) -> None:
    if "field" not in result:
        _there(result, lambda _: False)
        return

    def drop(policy: dict[str, Any]) -> None:
        for selector in policy["spec"]["targets"]:
            selector["names"] = [
                name for name in selector["names"] if name != result["field"]["currentValue"]
            ]
        policy["spec"]["targets"] = [each for each in policy["spec"]["targets"] if each["names"]]
        # A policy of nothing is none.
        if not policy["spec"]["targets"]:
            policy["spec"]["targets"] = [{"kind": "Kustomization", "names": ["live"]}]

    _there(result, drop)


def _gate_only(folder: Path, kind: str, name: str) -> None:
    targets = [{"kind": kind, "names": [name]}]
    edit_policy(folder, lambda policy: policy["spec"].update(targets=targets))


def _gate_workloads(_: re.Match[str], __: Result, folder: Path) -> None:
    _gate_only(folder, "Kustomization", "windowed")


def _second(_: re.Match[str], __: Result, folder: Path) -> None:
    source = {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "second", "namespace": "flux-system"},
        "spec": {"interval": "1m", "url": "https://git.example/fleet"},
    }
    (folder / "clusters/north/second.yaml").write_text(yaml.safe_dump(source))
    _gate_only(folder, "GitRepository", "second")


def _set(found: re.Match[str], _: Result, folder: Path) -> None:
    given = yaml.safe_load(found["what"])
    edit_policy(folder, lambda policy: policy["spec"].update(given))


def _unset(found: re.Match[str], _: Result, folder: Path) -> None:
    (key,) = yaml.safe_load(found["what"])
    edit_policy(folder, lambda policy: policy["spec"].pop(key))


def _mark(found: re.Match[str], result: Result, _: Path) -> None:
    note = yaml.safe_load(found["what"])
    _there(result, lambda each: each["metadata"].setdefault("annotations", {}).update(note))


def _did_you_mean(found: re.Match[str], result: Result, _: Path) -> None:
    path = Path(result["file"]["path"])
    current = result["field"]["currentValue"]
    path.write_text(re.sub(rf"\b{re.escape(current)}\b(?=[\],])", found["what"], path.read_text()))


def _options(found: re.Match[str], _: Result, __: Path) -> list[str]:
    return [word.strip("'") for word in found["what"].split()]


WAYS: dict[str, Callable[[re.Match[str], Result, Path], list[str] | None]] = {
    r"gate the Kustomizations that apply your workloads instead": _gate_workloads,
    r"gate (?P<what>[\w /-]+?) \(in another namespace with `crossNamespaceTargets: Allow`\)": _gate,
    r"pin (?P<what>one version|`spec.ref` to one version)": _pin,
    r"remove (it|the dependency)( \(to keep .*\))?": _remove,
    r"remove it from all but one of them": _remove_object,
    r"remove `(?P<what>[^`]+)`": _unset,
    r"set `(?P<what>[^`]+)`": _set,
    r"mark it as intended with `(?P<what>[^`]+)`": _mark,
    r'did you mean "(?P<what>[^"]+)"\?': _did_you_mean,
    r"create a second GitRepository for the workloads that may wait, and gate that one": _second,
    r"the cluster's administrator can allow it with `(?P<what>--[^`]+)`": _options,
}
