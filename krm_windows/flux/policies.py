"""Which policies a cluster has: rendered into what is applied, among the plugins of a build, or standing in a file."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from krm_windows import inventory, rules
from krm_windows.emit.configmap import TIMETABLE
from krm_windows.emit.labels import POLICY
from krm_windows.flux.model import Gate, Kustomization, Notice, Object
from krm_windows.gate import timetable
from krm_windows.gate.timetable import Target
from krm_windows.gateable import TABLE
from krm_windows.inventory import Resource
from krm_windows.krm import KubeObject
from krm_windows.plan import kinds
from krm_windows.plan.targets import select
from krm_windows.policy.load import Loaded, load
from krm_windows.policy.model import WindowPolicy
from krm_windows.results import fails

TARGETS = "spec.targets"


@dataclass(frozen=True, slots=True)
class Written:
    """A WindowPolicy and where it stands; `loaded` is it as it was read, for every cluster that it names."""

    place: Object
    loaded: Loaded

    @classmethod
    def of(cls, file: str, item: KubeObject) -> "Written":
        """Read a policy that stands in a file."""
        first = item.source.count(b"\n", 0, item.start)
        place = Object(item, item.api_version, item.kind, item.namespace, item.name, file, first)
        return cls(place, load(item.node))

    @property
    def name(self) -> str:
        """Its `namespace/name`."""
        return f"{self.place.namespace}/{self.place.name}"

    def gate(self, cluster: str | None, objects: Iterable[Object], by: str | None) -> Gate | None:
        """Return what it gates among some objects, for a cluster; None where it is wrong."""
        policy, found = self.loaded.for_cluster(cluster)
        if policy is None or fails(found):
            return None
        waits = policy.spec.first_apply == "Wait"
        held = policy.spec.admission_policy == "Enabled"
        return Gate(
            self.name, tuple(_targets(policy, objects)), self.place, TARGETS, by, waits, held
        )

    def faulty(self) -> Notice:
        """Say that it is wrong."""
        message = f"the policy is wrong, so what it gates is not known: `krm-windows check {self.place.file}` says why"
        return Notice(rules.BUILD_FAILED, message, about=self.place)


def _targets(policy: WindowPolicy, objects: Iterable[Object]) -> Iterator[Target]:
    wanted = kinds(policy)
    resources = [
        Resource(o.item, o.api_version, o.kind, o.namespace, o.name)
        for o in objects
        if o.kind in wanted
    ]
    seen = inventory.Inventory(tuple(resources), visible=True)
    for index, selector in enumerate(policy.spec.targets):
        yield from select(
            selector, f"{TARGETS}[{index}]", policy.metadata.namespace, seen
        ).targets()


def rendered(kustomization: Kustomization) -> Iterator[Gate]:
    """Yield the policies whose output a Kustomization applies, by their timetables, or else by their rights."""
    ours = [
        item for item in kustomization.objects if item.item.mentions(POLICY) and item.note(POLICY)
    ]
    gates = [
        gate
        for item in ours
        if item.kind == "ConfigMap" and (gate := _timetabled(item, kustomization.key))
    ]
    yield from gates
    told = {gate.place.note(POLICY) for gate in gates}
    granted: dict[str, list[Object]] = {}
    for item in ours:
        if item.kind == "Role" and item.note(POLICY) not in told:
            granted.setdefault(item.note(POLICY) or "", []).append(item)
    for label, roles in granted.items():
        targets = tuple(target for role in roles for target in _granted(role))
        yield Gate(label.replace(".", "/", 1), targets, roles[0], "rules", kustomization.key)


def _timetabled(item: Object, by: str) -> Gate | None:
    try:
        found = timetable.load(item.text("data", TIMETABLE))
    except (ValueError, TypeError, LookupError):
        return None
    return Gate(
        found.policy, found.targets, item, f"data.{TIMETABLE}", by, found.first_apply == "Wait"
    )


def _granted(role: Object) -> Iterator[Target]:
    """Yield the objects that a Role of ours lets the gate turn."""
    rows = {(row.group, row.resource): row for row in TABLE}
    for rule in role.parts("rules"):
        groups, resources, names = (
            rule.get(key) for key in ("apiGroups", "resources", "resourceNames")
        )
        if not (
            isinstance(groups, list) and isinstance(resources, list) and isinstance(names, list)
        ):
            continue
        row = rows.get((str(groups[0]), str(resources[0])))
        if row is not None:
            yield from (
                Target(
                    group=row.group,
                    resource=row.resource,
                    kind=row.kind,
                    namespace=role.namespace,
                    name=str(name),
                    field=row.field,
                )
                for name in names
            )
