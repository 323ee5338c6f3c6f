"""Fields that contradict each other.

Read from the document as it was written, so that no mistake inside a field hides one between
fields.
"""

from collections.abc import Iterator

from krm_windows import gateable, rules
from krm_windows.policy.document import Tree
from krm_windows.policy.findings import Finding, closest

# What only a program in the cluster keeps, and those values that ask for nothing.
_BEYOND_EDGES = (
    "adoptUntil",
    "closesEarly",
    "events",
    "firstApply",
    "formerNames",
    "freezes",
    "hooks",
    "interval",
    "outsideWindows",
    "overrides",
    "released",
    "state",
)
_NOTHING: tuple[Tree, ...] = ({}, [])
_AS_WITHOUT = {
    "closesEarly": "0m",
    "events": "false",
    "outsideWindows": "Closed",
    "state": "Scheduled",
}
# Where Flux and Kubernetes run: whoever may create Jobs there may use their accounts.
_FLUX = "flux-system"
_KUBERNETES = "kube-"
_WITH_ROLLBACK = ("beforeOpen", "afterApply")


def check(tree: Tree) -> Iterator[Finding]:
    """Yield every contradiction between fields, with paths from the object's root."""
    # Whatever is no map has no fields that could contradict each other, and an error of its own.
    spec = _map(_map(tree).get("spec"))
    home = _map(_map(tree).get("metadata")).get("namespace")
    if spec:
        yield from _outside(spec)
        yield from _beyond_edges(spec)
        yield from _elsewhere(spec, home)
        yield from _network(spec)
        yield from _hooks(spec, home)
    # Each entry ends in one of two ways.
    for kind, end in (("windows", "closes"), ("freezes", "ends")):
        # Overrides have no `duration` beside their `ends`.
        for name, entry in _map(spec.get(kind)).items():
            yield from _ends(entry, end, f"spec.{kind}.{name}")
    for path, target in _targets(spec):
        yield from _target(target, path)


def _targets(spec: dict[str, Tree]) -> Iterator[tuple[str, Tree]]:
    """Yield the selectors of objects, each with its path."""
    for field in ("targets", "released"):
        for i, target in enumerate(_list(spec.get(field))):
            yield f"spec.{field}[{i}]", target


def _map(tree: Tree) -> dict[str, Tree]:
    if isinstance(tree, dict):
        return tree
    return {}


def _list(tree: Tree) -> list[Tree]:
    if isinstance(tree, list):
        return tree
    return []


def _outside(spec: dict[str, Tree]) -> Iterator[Finding]:
    outside = spec.get("outsideWindows")
    windows = spec.get("windows", {})
    path = "spec.outsideWindows"
    # A policy of freezes only, written without saying so. Said, it is open by an override alone.
    if outside is None and windows == {}:
        must = (
            "must be Open for a policy with only freezes, or Closed for one that only an override "
            "opens, or `windows` must have an entry"
        )
        yield Finding(rules.OUTSIDE_WINDOWS, must, path=path)
    # Both say "open": one of them was not meant.
    if outside == "Open" and windows != {}:
        must = (
            "must be Closed, or `windows` must have no entry: otherwise the policy is open "
            "outside its windows too"
        )
        yield Finding(rules.OUTSIDE_WINDOWS, must, "Open", path=path)


def _beyond_edges(spec: dict[str, Tree]) -> Iterator[Finding]:
    """Yield what the actuator `Kubectl` cannot keep, as its CronJobs know nothing but edges."""
    if _map(spec.get("actuator")).get("type") != "Kubectl":
        return
    must = (
        "must not be set with the actuator Kubectl, which acts only at edges; or use the "
        "actuator Gate"
    )
    for name in _BEYOND_EDGES:
        # An absent field and an empty one are as if nobody had asked.
        given = spec.get(name, {})
        if given not in _NOTHING and given != _AS_WITHOUT.get(name):
            yield Finding(rules.KUBECTL_FIELD, must, path=f"spec.{name}")
    if "program" in _map(spec.get("actuator")):
        must = "must not be set with the actuator Kubectl, which has no program"
        yield Finding(rules.KUBECTL_FIELD, must, path="spec.actuator.program")
    # Without any edge nothing would close the targets in the first place.
    if spec.get("outsideWindows") == "Closed" and spec.get("windows", {}) == {}:
        must = (
            "must have an entry with the actuator Kubectl, which acts only at edges; or use the "
            "actuator Gate"
        )
        yield Finding(rules.KUBECTL_FIELD, must, path="spec.windows")


def _elsewhere(spec: dict[str, Tree], home: Tree) -> Iterator[Finding]:
    """Yield every target in another namespace, unless the policy says that it is intended.

    Who may write policies in one namespace would else close, and open, what belongs to another.
    """
    if spec.get("crossNamespaceTargets") == "Allow" or not isinstance(home, str):
        return
    # As Flux has it with `--no-cross-namespace-refs`: a reference that leaves is a decision.
    must = (
        f"must be the policy's own namespace, {home}; set `crossNamespaceTargets: Allow` in the "
        "policy to gate targets in other namespaces"
    )
    for path, target in _targets(spec):
        # Without one it is the policy's own.
        namespace = _map(target).get("namespace", home)
        if isinstance(namespace, str) and namespace != home:
            yield Finding(rules.TARGET_ELSEWHERE, must, namespace, path=f"{path}.namespace")


def _network(spec: dict[str, Tree]) -> Iterator[Finding]:
    if "networkPolicy" in spec and "NetworkPolicy" not in _list(spec.get("extras")):
        must = "has no effect without `extras: [NetworkPolicy]`"
        yield Finding(rules.NETWORK_POLICY, must, path="spec.networkPolicy")


def _hooks(spec: dict[str, Tree], home: Tree) -> Iterator[Finding]:
    """Yield what speaks against the hooks."""
    hooks = _map(spec.get("hooks"))
    yield from _hook_namespace(hooks.get("namespace"), _taken(spec, home))
    # A namespace alone would be prepared for nothing.
    if hooks and not hooks.keys() & {"beforeOpen", "afterApply", "afterClose"}:
        must = "must have `beforeOpen`, `afterApply` or `afterClose`"
        yield Finding(rules.HOOK_NONE, must, path="spec.hooks")
    for name in _WITH_ROLLBACK:
        hook = _map(hooks.get(name))
        # A failure that is ignored leaves nothing to roll back.
        if "rollback" in hook and hook.get("onFailure") == "Continue":
            must = (
                "must not be set with `onFailure: Continue`, which never aborts, so there is "
                "nothing to roll back"
            )
            yield Finding(rules.HOOK_ROLLBACK, must, path=f"spec.hooks.{name}.rollback")
    for path, hook in _every_hook(hooks):
        yield from _variables(hook, path)


def _taken(spec: dict[str, Tree], home: Tree) -> dict[str, str]:
    """Return the namespaces that accounts of others live in, and whose they are."""
    taken = {_FLUX: "Flux's"}
    if isinstance(home, str):
        taken[home] = "the policy's"
    for _, target in _targets(spec):
        namespace = _map(target).get("namespace")
        if isinstance(namespace, str):
            taken[namespace] = "a target's"
    return taken


def _hook_namespace(namespace: Tree, taken: dict[str, str]) -> Iterator[Finding]:
    """Refuse a namespace of others.

    The right to create Jobs is that to use every account beside them.
    """
    if not isinstance(namespace, str):
        return
    if namespace in taken:
        whose = taken[namespace]
    elif namespace.startswith(_KUBERNETES):
        whose = "Kubernetes'"
    else:
        return
    must = (
        f"must be a separate namespace, not {whose}: anyone who may create Jobs can use every "
        "service account in it"
    )
    yield Finding(rules.HOOK_NAMESPACE, must, namespace, path="spec.hooks.namespace")


def _every_hook(hooks: dict[str, Tree]) -> Iterator[tuple[str, dict[str, Tree]]]:
    for name in _WITH_ROLLBACK:
        hook = _map(hooks.get(name))
        yield f"spec.hooks.{name}", hook
        yield f"spec.hooks.{name}.rollback", _map(hook.get("rollback"))
    yield "spec.hooks.afterClose", _map(hooks.get("afterClose"))


def _variables(hook: dict[str, Tree], path: str) -> Iterator[Finding]:
    """Yield every variable that does not have exactly one value, from exactly one place."""
    for i, entry in enumerate(_list(hook.get("env"))):
        variable = _map(entry)
        source = variable.get("valueFrom")
        # Both or none: `==` is true of either.
        if ("value" in variable) == ("valueFrom" in variable):
            must = "must have exactly one of `value` and `valueFrom`"
            yield Finding(rules.HOOK_VALUE, must, path=f"{path}.env[{i}]")
        # Also `valueFrom: {}`, which comes from nowhere; what is no map is an error of its type.
        if isinstance(source, dict) and ("secretKeyRef" in source) == ("configMapKeyRef" in source):
            must = "must have exactly one of `secretKeyRef` and `configMapKeyRef`"
            yield Finding(rules.HOOK_VALUE, must, path=f"{path}.env[{i}].valueFrom")


def _ends(entry: Tree, end: str, path: str) -> Iterator[Finding]:
    # Both or none: which of two ends counts nobody could say, and without one it never ends.
    if isinstance(entry, dict) and (end in entry) == ("duration" in entry):
        must = f"must have exactly one of `{end}` and `duration`"
        yield Finding(rules.END_CHOICE, must, path=path)


def _target(target: Tree, path: str) -> Iterator[Finding]:
    """Yield what is wrong between the fields of a selector, and with its kind."""
    if not isinstance(target, dict):
        return
    if ("names" in target) == ("matchLabels" in target):
        # Both would leave open whether one or the other is enough.
        must = "must have exactly one of `names` and `matchLabels`"
        yield Finding(rules.TARGET_SELECTOR, must, path=path)
    kind = target.get("kind")
    api_version = target.get("apiVersion")
    if not isinstance(kind, str):
        return
    group_version = None
    if isinstance(api_version, str):
        group_version = api_version
    never = _never(target, kind, group_version, path)
    if never is not None:
        # What else is said of its fields would only lead to another error.
        yield never
        return
    yield from _suspend_field(target, gateable.find(kind, group_version), path)
    if _is_known(kind, group_version):
        return
    # Of a kind that nobody knows the gate needs its URL, for which the plural counts, and a field.
    if not target.keys() >= {"apiVersion", "resource", "suspendField"}:
        yield _unknown_kind(kind, group_version, path)


def _never(
    target: dict[str, Tree], kind: str, group_version: str | None, path: str
) -> Finding | None:
    """Return what keeps a kind from being a target, whatever else the selector says."""
    where, written = ("apiVersion", group_version) if group_version else ("kind", kind)
    instead = "gate the Kustomization or HelmRelease that applies it instead"
    privileged = gateable.privileged(kind, group_version)
    if privileged is not None:
        group = f'the API group "{privileged.group}"' if privileged.group else "the core API group"
        must = (
            f"must not be of {group}, which {privileged.why}: the gate would get the right to read "
            f"and patch {kind}; {instead}"
        )
        return Finding(rules.TARGET_PRIVILEGED, must, written, path=f"{path}.{where}")
    resource = target.get("resource")
    if gateable.is_cluster_scoped(
        kind, group_version, resource if isinstance(resource, str) else None
    ):
        must = f"must be a namespaced kind: cluster-scoped kinds are not supported yet; {instead}"
        return Finding(rules.TARGET_CLUSTER_SCOPED, must, kind, path=f"{path}.kind")
    return None


def _unknown_kind(kind: str, group_version: str | None, path: str) -> Finding:
    row = gateable.find(kind)
    # The very kind, of a group that has no such field, such as kustomize's own Kustomization.
    if row is not None:
        must = f"must not be {group_version}: the kind that can be gated is of {row.group}"
        return Finding(rules.TARGET_KIND, must, group_version, path=f"{path}.apiVersion")
    # Most likely it is a kind of the table, mistyped.
    known = sorted(row.kind for row in gateable.TABLE)
    proposed = closest(kind, known)
    listed = "a known kind"
    if proposed is None:
        listed = f"one of {', '.join(known)}"
    must = (
        f"must be {listed}, or have `apiVersion`, `resource`, `suspendField` and `trueMeans` set "
        "next to it"
    )
    return Finding(rules.TARGET_KIND, must, kind, proposed, f"{path}.kind")


def _suspend_field(
    target: dict[str, Tree],
    row: gateable.Gateable | None,
    path: str,
) -> Iterator[Finding]:
    """Yield what is wrong with the field that closes a target: the gate writes true into it."""
    field = target.get("suspendField")
    # Another text is no path at all, which the field itself says.
    if not isinstance(field, str) or not field.startswith("spec."):
        return
    if row is None:
        # `spec.paused` stops, `spec.syncPolicy.automated.enabled` would be switched on by a close.
        must = (
            "must have `trueMeans: Closed` next to it, which says that true stops reconciliation; "
            "a field in which true lets it continue cannot gate the kind"
        )
        is_wrong = target.get("trueMeans") is None
    else:
        # Of Flux `spec.suspend`, of a CronJob too.
        known = ".".join(row.field)
        must = f"must not be set: {row.kind} is closed by {known}, and no other field stops it"
        is_wrong = field != known
    if is_wrong:
        yield Finding(rules.SUSPEND_FIELD, must, field, path=f"{path}.suspendField")


def _is_known(kind: str, api_version: str | None) -> bool:
    """Whether the table has a row for the kind, or says why there can be none."""
    if gateable.find(kind, api_version) is not None:
        return True
    return gateable.refusal(kind, api_version) is not None
