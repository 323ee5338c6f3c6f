"""Which policies a cluster has.

They are rendered into what is applied, among the plugins of a build, or in a file.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from krm_windows import rules
from krm_windows.emit import names, timetables
from krm_windows.emit.configmap import TIMETABLE
from krm_windows.emit.labels import POLICY
from krm_windows.flux.model import Finding, Gate, Kustomization, Object
from krm_windows.gate.timetable import Target, Timetable
from krm_windows.inventory import Inventory, Resource
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_timetable, kinds, rights
from krm_windows.plan.targets import select
from krm_windows.plan.timetable import shipped
from krm_windows.policy.load import Loaded, load
from krm_windows.policy.model import WindowPolicy
from krm_windows.policy.targets import TargetSelector
from krm_windows.results import fails

TARGETS = "spec.targets"
RELEASED = "spec.released"


@dataclass(frozen=True, slots=True)
class WrittenPolicy:
    """A WindowPolicy and where it is written.

    `loaded` is the policy as it was read, for every cluster that it names.
    """

    manifest: Object
    loaded: Loaded

    @classmethod
    def of(cls, file: str, item: KubeObject) -> "WrittenPolicy":
        """Read a policy that is in a file."""
        return cls(Object.in_file(item, file), load(item.node))

    @property
    def name(self) -> str:
        """Its `namespace/name`."""
        return f"{self.manifest.namespace}/{self.manifest.name}"

    def gate(
        self,
        cluster: str | None,
        objects: Iterable[Object],
        by: str | None,
    ) -> Gate | None:
        """Return what it gates among some objects, for a cluster; None where it is wrong."""
        policy, found = self.loaded.for_cluster(cluster)
        if policy is None or fails(found):
            return None
        return Gate(
            policy=self.name,
            targets=tuple(_targets(policy, policy.spec.targets, TARGETS, objects)),
            manifest=self.manifest,
            path=TARGETS,
            delivered_by=by,
            waits=policy.spec.first_apply == "Wait",
            held=policy.spec.admission_policy == "Enabled",
            timetable=partial(_compiled, policy, cluster, tuple(objects)),
            released=tuple(_targets(policy, policy.spec.released, RELEASED, objects)),
        )

    def faulty(self) -> Finding:
        """Say that it is wrong."""
        message = (
            "the policy is invalid, so what it gates is unknown: run `krm-windows check "
            f"{self.manifest.file}`"
        )
        return Finding(rules.BUILD_FAILED, message, about=self.manifest)


def _targets(
    policy: WindowPolicy, selectors: Sequence[TargetSelector], path: str, objects: Iterable[Object]
) -> Iterator[Target]:
    """Yield what selectors of a policy find among some objects."""
    seen = _seen(policy, objects)
    for index, selector in enumerate(selectors):
        yield from select(selector, f"{path}[{index}]", policy.metadata.namespace, seen).targets()


def _seen(policy: WindowPolicy, objects: Iterable[Object]) -> Inventory:
    wanted = kinds(policy)
    # Reading an object in full is dear, so only kinds that are selected are handed on.
    resources = []
    for each in objects:
        if each.kind in wanted:
            found = Resource(each.item, each.api_version, each.kind, each.namespace, each.name)
            resources.append(found)
    return Inventory(tuple(resources), visible=True)


def _compiled(
    policy: WindowPolicy, cluster: str | None, objects: Sequence[Object]
) -> Timetable | None:
    timetable, found = compile_timetable(policy, cluster, _seen(policy, objects))
    return None if fails(found) else shipped(timetable)


def rendered(kustomizations: Iterable[Kustomization]) -> Iterator[Gate]:
    """Yield the policies whose output some Kustomizations apply.

    They are known by their timetables, or else by their rights.
    """
    timetabled: set[str] = set()
    delivered: dict[str, str] = {}
    granted: dict[str, list[Object]] = {}
    for each in kustomizations:
        for label, item in _ours(each):
            gate = _timetabled(item, each.key)
            if gate is not None:
                timetabled.add(label)
                yield gate
            elif item.kind == "CronJob":
                delivered.setdefault(label, each.key)
            elif item.kind == "Role":
                granted.setdefault(label, []).append(item)
    # With the actuator `Kubectl` there is no timetable, and the Roles name the targets.
    for label, roles in granted.items():
        if label in timetabled:
            continue
        targets: list[Target] = []
        for role in roles:
            targets += rights.granted(role.get("rules"), role.namespace)
        policy = names.policy_of(label)
        yield Gate(policy, tuple(targets), roles[0], "rules", delivered.get(label))


def _ours(kustomization: Kustomization) -> Iterator[tuple[str, Object]]:
    """Yield what a Kustomization applies that was rendered from a policy, with its label."""
    for item in kustomization.objects:
        # A look at the text is much cheaper than reading an object.
        if not item.item.mentions(POLICY):
            continue
        label = item.note(POLICY)
        if label:
            yield label, item


def _timetabled(item: Object, by: str) -> Gate | None:
    """Return the policy whose timetable an object is, None where it is none."""
    found = timetables.read(item.item)
    if found is None:
        # Another ConfigMap of ours, or one of a release that this one cannot read.
        return None
    waits = found.first_apply == "Wait"
    return Gate(
        found.policy,
        found.targets,
        item,
        f"data.{TIMETABLE}",
        by,
        waits,
        timetable=lambda: found,
        released=found.released,
    )
