"""What is not ours leaves byte for byte as it came."""

import pytest
from calls import APPS, POLICY, as_item, call, indented, lines_apart, wire
from yaml_strategies import AMBIGUOUS

CONFIG_MAP = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sample\n  namespace: shop\ndata:\n"
)
CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n"

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


def untouched(*items: str) -> bool:
    given = wire(*items, config="")
    answer = call(wire(*items))
    assert answer.code == 0, answer.err
    additions = answer.out.decode().removeprefix(given)
    return given + additions == answer.out.decode() and "\n  kind: CronJob\n" in additions


@pytest.mark.parametrize("style", UNUSUAL)
def test_T01_every_style(style: str) -> None:
    assert untouched(CONFIG_MAP + UNUSUAL[style], CONFIG_MAP)


def test_T01_no_line_break_at_the_end() -> None:
    """What is put behind a list that ends in the middle of a line begins a line of its own."""
    given = wire(CONFIG_MAP + "  a: b\n").removesuffix("\n")
    answer = call(given)
    assert answer.code == 0
    assert answer.out.decode().startswith(given.partition("functionConfig")[0])
    refused = call(wire(APPS, config="").replace("items:", "kept: 1\nitems:") + "last: x")
    assert refused.code == 3
    assert b"\nlast: x\nresults:\n" in refused.out


def test_T02_lookalikes() -> None:
    plain = "".join(f"  k{i}: {text}\n" for i, text in enumerate(LOOKALIKES))
    double = "".join(f'  "{text}": "{text}"\n' for text in LOOKALIKES)
    single = "".join(f"  '{text}': '{text}'\n" for text in LOOKALIKES)
    flow = "  flow: [" + ", ".join(f"{text}, '{text}'" for text in LOOKALIKES) + "]\n"
    keys = "".join(f"  {text}: x\n" for text in LOOKALIKES if text != "<<")
    for data in (plain, double, single, flow, keys):
        assert untouched(CONFIG_MAP + data)


def test_T02_lookalikes_in_an_edited_item() -> None:
    strange = "".join(f"      k{i}: {x}\n      q{i}: '{x}'\n" for i, x in enumerate(LOOKALIKES))
    given = wire(f"{APPS}  suspend: false\n  postBuild:\n    substitute:\n{strange}")
    answer = call(given)
    assert answer.code == 0
    changed = lines_apart(given.encode(), answer.out)
    assert [line for line in changed if line.startswith("-")] == ["-    suspend: false"]


def test_T03_plain_equals_sign_in_a_crd() -> None:
    """The `=` that stops a reader of YAML 1.1 stops nothing here, nor where one looks."""
    crd = f"{CRD}  name: x.example.org\nspec:\n  enum:\n  - =\n  - '='\n  - '!='\n  =: =\n"
    assert untouched(crd)
    answer = call(wire(APPS + "  patches:\n  - op: =\n"))
    assert answer.code == 0
    assert b"    - op: =\n" in answer.out


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
    noted = [
        each.replace("metadata:\n", f"metadata:\n{ANNOTATIONS}") for each in (APPS, CONFIG_MAP)
    ]
    answer = call(wire(*noted))
    assert answer.out.decode().count(indented(ANNOTATIONS)) == 2
    new = {key for item in answer.items[2:] for key in item["metadata"]["annotations"]}
    theirs = {key for key in new if key.startswith(("internal.", "config.", "kustomize.config."))}
    assert theirs == {f"internal.config.kubernetes.io/{name}" for name in ("path", "index")}


def test_T07_what_belongs_to_others() -> None:
    local = "metadata:\n  annotations: {config.kubernetes.io/local-config: 'true'}\n"
    kustomize = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
    assert untouched(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: week-gate\npipeline: {}\n",
        POLICY,
        CONFIG_MAP.replace("metadata:\n", local),
        f"apiVersion: v1\nkind: List\nitems:\n{as_item(APPS)}  suspend: false\n",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: flux-system}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: week-}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n",
        # Of another group than those of Flux.
        f"{kustomize}metadata: {{name: apps}}\nsuspend: false\n",
    )


def test_T08_order() -> None:
    names = ["sample-3", "sample-1", "apps", "sample-7", "sample-2"]
    items = [APPS if name == "apps" else CONFIG_MAP.replace("sample", name) for name in names]
    there, back = call(wire(*items)), call(wire(*reversed(items)))
    assert [item["metadata"]["name"] for item in there.items[:5]] == names
    assert [item["metadata"]["name"] for item in back.items[:5]] == names[::-1]
    assert there.items[5:] == back.items[5:]


def test_T09_fifty_large_definitions() -> None:
    texts = "".join(
        f"        description: >-\n          {text} {'word ' * 8}\n" for text in LOOKALIKES
    )
    enum = "        enum: [=, on, 1e3, '22:00']\n        pattern: ^[a-z]\\d+$\n"
    fields = "".join(f"      field{i}:\n        type: string\n{enum}{texts}" for i in range(20))
    body = f"spec:\n  schema:\n    openAPIV3Schema:\n{fields}"
    crds = [f"{CRD}  name: things{number}.example.org\n{body}" for number in range(50)]
    assert sum(map(len, crds)) > 1_500_000
    assert untouched(*crds)
