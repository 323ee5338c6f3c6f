"""What is not ours leaves byte for byte as it came."""

import pytest
from calls import APPS, POLICY, as_item, call, lines_apart, wire
from yaml_strategies import AMBIGUOUS

CONFIG_MAP = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sample\n  namespace: shop\ndata:\n"
)

# Texts that readers of YAML 1.1, 1.2 and JSON disagree about.
LOOKALIKES = (*AMBIGUOUS, "2024-01-01T00:00:00Z", "2001-12-14 21:59:43.10 -5")

UNUSUAL = {
    "block styles": (
        "  a: |\n    x\n\n    y\n  b: >-\n    folded\n    text\n  c: |+\n    kept\n\n  d: |2\n"
        "      in\n"
    ),
    "flow styles": "  a: {b: [1, 2, {c: d}], \"e\": 'f'}\n  g: [\n    h,\n    i\n  ]\n",
    "quoted over lines": "  a: \"one\n\n    two \\\n    three\"\n  b: 'it''s\n    this'\n",
    "anchors": "  a: &a [1, 2]\n  b: *a\n  c: &c\n    d: e\n  f:\n    <<: *c\n",
    "tags": "  a: !!str 1\n  b: !custom {c: d}\n  c: !!binary aGVsbG8=\n",
    "comments": "  # above\n  a: 1 # beside\n  # between\n\n  b: 2\n  # below\n",
    "odd blanks": "  a:    1   \n  b :  2\n  'c' : 3\n  ? d\n  : 4\n",
    "nothing": "  a:\n  b: ''\n  c: {}\n  d: []\n  e: ~\n",
    "markers in text": '  a: |\n    ---\n    ...\n    - x\n    functionConfig: no\n  b: "---"\n',
    "beyond the BMP": '  a: "\\U0001F680 🚀"\n  b: 🚀\n',
    "tabs in text": '  a: "\t"\n  b: |\n    x\n    \tx\n',
    "long": f'  a: {"x" * 5000}\n  b: "{"y z " * 2000}"\n',
    "the function's own words": (
        "  krm-windows.dev/governed-by: flux-system/week\n  suspend: false\n  a: week-gate\n"
    ),
}


def list_of(text: str) -> str:
    return text.partition("items:\n")[2].partition("functionConfig:\n")[0]


def untouched(*items: str) -> bool:
    data = wire(*items)
    answer = call(data)
    assert answer.code == 0, answer.err
    kept, additions = list_of(data), list_of(answer.out.decode()).removeprefix(list_of(data))
    return list_of(answer.out.decode()) == kept + additions and "\n  kind: CronJob\n" in additions


@pytest.mark.parametrize("style", UNUSUAL)
def test_T01_every_style(style: str) -> None:
    assert untouched(CONFIG_MAP + UNUSUAL[style], CONFIG_MAP)


def test_T02_lookalikes() -> None:
    plain = "".join(f"  k{i}: {text}\n" for i, text in enumerate(LOOKALIKES))
    double = "".join(f'  "{text}": "{text}"\n' for text in LOOKALIKES)
    single = "".join(f"  '{text}': '{text}'\n" for text in LOOKALIKES)
    flow = "  flow: [" + ", ".join(f"{text}, '{text}'" for text in LOOKALIKES) + "]\n"
    keys = "".join(f"  {text}: x\n" for text in LOOKALIKES if text != "<<")
    for data in (plain, double, single, flow, keys):
        assert untouched(CONFIG_MAP + data)


def test_T02_lookalikes_in_an_edited_item() -> None:
    strange = "".join(
        f"      k{i}: {text}\n      q{i}: '{text}'\n" for i, text in enumerate(LOOKALIKES)
    )
    apps = f"{APPS}  suspend: false\n  postBuild:\n    substitute:\n{strange}"
    answer = call(wire(apps), LOG_TO_STDERR="true")
    assert answer.code == 0
    changed = [
        line for line in lines_apart(wire(apps).encode(), answer.out) if line.startswith("-")
    ]
    assert changed == ["-    suspend: false"]


def test_T03_plain_equals_sign_in_a_crd() -> None:
    """The `=` that stops a reader of YAML 1.1 stops nothing here."""
    crd = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n"
        "  name: x.example.org\n"
    )
    assert untouched(crd + "spec:\n  enum:\n  - =\n  - '='\n  - '!='\n  =: =\n")
    apps = APPS + "  patches:\n  - op: =\n"
    answer = call(wire(apps))
    assert answer.code == 0
    assert "    - op: =\n" in answer.out.decode()


ANNOTATIONS = """\
  annotations:
    internal.config.kubernetes.io/prefixes: p-
    internal.config.kubernetes.io/previousKinds: Kustomization
    internal.config.kubernetes.io/previousNames: apps
    internal.config.kubernetes.io/previousNamespaces: flux-system
    kustomize.config.k8s.io/id: |
      kind: Kustomization
      name: apps
      namespace: flux-system
      version: v1
    config.kubernetes.io/index: '0'
    internal.config.kubernetes.io/index: '0'
    internal.config.kubernetes.io/annotations-migration-resource-id: '0'
    internal.config.kubernetes.io/id: '1'
    config.k8s.io/id: '1'
"""


def test_T04_annotations_of_the_orchestrator() -> None:
    apps = APPS.replace("metadata:\n", f"metadata:\n{ANNOTATIONS}")
    answer = call(
        wire(apps, CONFIG_MAP.replace("metadata:\n", f"metadata:\n{ANNOTATIONS}") + "  a: b\n")
    )
    assert (
        answer.out.decode().count("".join(f"  {line}\n" for line in ANNOTATIONS.splitlines())) == 2
    )
    new = {key for item in answer.items[2:] for key in item["metadata"]["annotations"]}
    place = {"internal.config.kubernetes.io/path", "internal.config.kubernetes.io/index"}
    assert {
        key for key in new if key.startswith(("internal.", "config.", "kustomize.config."))
    } == place


def test_T07_what_belongs_to_others() -> None:
    assert untouched(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: week-gate\npipeline: {}\n",
        POLICY,
        CONFIG_MAP.replace(
            "metadata:\n", "metadata:\n  annotations: {config.kubernetes.io/local-config: 'true'}\n"
        ),
        f"apiVersion: v1\nkind: List\nitems:\n{as_item(APPS)}  suspend: false\n",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: flux-system}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: week-}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n",
    )


def test_T08_order() -> None:
    others = [
        CONFIG_MAP.replace("sample", f"sample-{number}") + "  a: b\n" for number in (3, 1, 7, 5, 2)
    ]
    items = [*others[:2], APPS, *others[2:]]
    answers = [call(wire(*items)), call(wire(*reversed(items)))]
    names = [[item["metadata"]["name"] for item in answer.items] for answer in answers]
    came = [text.partition("name: ")[2].partition("\n")[0] for text in items]
    assert names[0][: len(items)] == came
    assert names[1][: len(items)] == came[::-1]
    assert answers[0].items[len(items) :] == answers[1].items[len(items) :]


def test_T09_fifty_large_definitions() -> None:
    texts = "".join(
        f"        description: >-\n          {text} {'word ' * 8}\n" for text in LOOKALIKES
    )
    head = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: "
    )
    field = (
        "      field{}:\n        type: string\n        enum: [=, on, 1e3, '22:00']\n"
        "        pattern: ^[a-z]\\d+$\n"
    )
    body = "spec:\n  schema:\n    openAPIV3Schema:\n" + "".join(
        field.format(i) + texts for i in range(20)
    )
    crds = [f"{head}things{number}.example.org\n{body}" for number in range(50)]
    assert sum(map(len, crds)) > 1_500_000
    assert untouched(*crds)
