"""Laws of change classes: each resource is in exactly one."""

import json
import re

import yaml
from calls import as_item, call, wire
from hypothesis import given as drawn
from hypothesis import reject
from hypothesis import strategies as st

from krm_windows.classes import selection
from krm_windows.classes.model import ClassRule, Spec
from krm_windows.classes.partition import Partition, divide
from krm_windows.inventory import CHANGE_CLASS, resource_of
from krm_windows.krm import KubeObject
from krm_windows.policy.findings import RefusedError
from krm_windows.render import split

NAMES = st.sampled_from(["web", "web-2", "dash-a", "env-4h2mbtbbt6", "shop", "things.example.com"])
NAMESPACES = st.sampled_from(["shop", "web", None])
KINDS = st.sampled_from(
    [
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("v1", "Service"),
        ("serving.knative.dev/v1", "Service"),
        ("apps/v1", "Deployment"),
        ("v1", "Namespace"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("example.com/v1", "Thing"),
    ]
)
GLOBS = st.sampled_from(["*", "web", "web*", "*b", "dash-*", "*-*", "env", "shop"])
Object = dict[str, object]
CLASSES = ["live", "day", "night", "week"]
ENTRY = re.compile(r"^- .*\n(?:  .*\n)*", re.MULTILINE)
DEFINITION = {"group": "example.com", "names": {"kind": "Thing"}}


@st.composite
def objects(draw: st.DrawFn) -> Object:
    version, kind = draw(KINDS)
    namespace = None if kind in ("Namespace", "CustomResourceDefinition") else draw(NAMESPACES)
    metadata = {
        "name": draw(NAMES),
        "namespace": namespace,
        "labels": draw(st.dictionaries(st.just("tier"), st.sampled_from(["front", "back"]))),
    }
    if draw(st.integers(0, 5)) == 0:
        metadata["annotations"] = {CHANGE_CLASS: draw(st.sampled_from(CLASSES[:2]))}
    metadata = {key: value for key, value in metadata.items() if value}
    spec = {"spec": DEFINITION} if kind == "CustomResourceDefinition" else {}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **spec}


def identity(found: Object) -> tuple[object, ...]:
    metadata = found["metadata"]
    group = str(found["apiVersion"]).rpartition("/")[0]
    return group, found["kind"], metadata.get("namespace"), metadata["name"]


STREAMS = st.lists(objects(), max_size=8, unique_by=identity)


@st.composite
def rules(draw: st.DrawFn) -> Object:
    kinds = st.sampled_from(
        ["ConfigMap", "Service", "Service.serving.knative.dev", "Thing", "Namespace"]
    )
    selectors = st.fixed_dictionaries(
        {},
        optional={
            "kinds": st.lists(kinds, min_size=1, max_size=2),
            "names": st.lists(GLOBS, min_size=1, max_size=2),
            "namespaces": st.lists(GLOBS, min_size=1, max_size=2),
            "matchLabels": st.just({"tier": "front"}),
        },
    )
    return {"class": draw(st.sampled_from(CLASSES[:2])), **draw(selectors.filter(bool))}


@st.composite
def specs(draw: st.DrawFn) -> Object:
    names = CLASSES[: draw(st.integers(2, 4))]
    listed = draw(st.permutations(names))
    return {
        "classes": [{"name": name} for name in listed],
        "default": draw(st.sampled_from(names)),
        "rules": draw(st.lists(rules(), max_size=3)),
    }


def partition(spec: Object, stream: list[Object]) -> Partition:
    items = [KubeObject.from_value(found) for found in stream]
    try:
        read = Spec.read(spec)
    except RefusedError:
        reject()
    return divide(read, items)


def given(stream: list[Object], spec: Object) -> str:
    items = [KubeObject.from_value(found).span.decode() for found in stream]
    head = {"apiVersion": "krm-windows.dev/v1alpha1", "kind": "ChangeClasses"}
    config = json.dumps({**head, "metadata": {"name": "c"}, "spec": spec})
    return wire(*items, config=f"{config}\n")


@drawn(specs(), STREAMS)
def test_the_classes_of_a_split_join_to_the_base(spec: Object, stream: list[Object]) -> None:
    """What is said against a stream is the same for every class: all of its builds fail or none."""
    texts = [as_item(KubeObject.from_value(found).span.decode()) for found in stream]
    answers = [
        call(given(stream, {**spec, "keep": declared["name"]})) for declared in spec["classes"]
    ]
    assert len({answer.code for answer in answers}) == 1
    kept = [
        ENTRY.findall(answer.out.decode().partition("functionConfig:")[0]) for answer in answers
    ]
    if answers[0].code == 0:
        assert sorted(entry for found in kept for entry in found) == sorted(texts)
        assert all(found == [text for text in texts if text in found] for found in kept)


@drawn(specs(), STREAMS)
def test_the_files_of_a_split_join_to_the_base(spec: Object, stream: list[Object]) -> None:
    texts = [KubeObject.from_value(found).span for found in stream]
    divided = partition(spec, stream)
    files = split.files("c", Spec.read(spec), divided, None)
    head = f"{split.header('c')}\n".encode()
    contents = {path: content.removeprefix(head) for path, content in files.items()}
    listed = {
        path.partition("/")[0]: [
            f"{path.partition('/')[0]}/{name}"
            for name in yaml.load(content, yaml.CSafeLoader)["resources"]
        ]
        for path, content in contents.items()
        if path.endswith("/kustomization.yaml")
    }
    assert sorted(contents[path] for paths in listed.values() for path in paths) == sorted(texts)
    for name, paths in listed.items():
        assert [contents[path] for path in paths] == [
            placed.resource.item.span for placed in divided.of(name)
        ]


@drawn(specs(), STREAMS)
def test_annotation_first_rule_default(spec: Object, stream: list[Object]) -> None:
    """In this order they decide about everything but what others cannot be without."""
    for found, placed in zip(stream, partition(spec, stream).placements, strict=True):
        annotated = found["metadata"].get("annotations", {}).get(CHANGE_CLASS)
        matching = [
            rule["class"]
            for rule in spec["rules"]
            if selection.matches(ClassRule.read(rule), placed.resource)
        ]
        if found["kind"] not in ("Namespace", "CustomResourceDefinition"):
            assert placed.change_class == (annotated or [*matching, spec["default"]][0])


@drawn(specs(), STREAMS)
def test_nothing_comes_before_its_namespace_or_its_kind(spec: Object, stream: list[Object]) -> None:
    placements = partition(spec, stream).placements
    for provider in placements:
        for user in placements:
            kind, name = provider.resource.kind, provider.resource.name
            inside = kind == "Namespace" and user.resource.namespace == name
            of_kind = kind == "CustomResourceDefinition" and user.resource.kind == "Thing"
            assert not (inside or of_kind) or provider.rank <= user.rank


@drawn(specs(), STREAMS)
def test_annotated_resources_stay_where_they_are(spec: Object, stream: list[Object]) -> None:
    once = call(given(stream, spec))
    if once.code == 0:
        assert call(once.out).out == once.out
        items = once.items if stream else []
        annotated = [found["metadata"]["annotations"][CHANGE_CLASS] for found in items]
        assert annotated == [placed.change_class for placed in partition(spec, stream).placements]


@drawn(rules(), rules(), STREAMS)
def test_a_rule_that_covers_another_leaves_it_nothing(
    earlier: Object, later: Object, stream: list[Object]
) -> None:
    one, other = ClassRule.read(earlier), ClassRule.read(later)
    if one.covers(other):
        for found in stream:
            resource = resource_of(KubeObject.from_value(found))
            assert selection.matches(one, resource) or not selection.matches(other, resource)
