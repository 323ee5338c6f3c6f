"""A policy's own text, changed by a merge patch: what the patch leaves alone keeps every byte."""

from collections.abc import Collection, Mapping

from krm_windows.krm import InputError, KubeObject, Value
from krm_windows.krm import Mapping as Node
from krm_windows.krm.merge_patch import compose, merge, pruned
from krm_windows.plurals import some
from krm_windows.policy.findings import closest

# So many clusters are named where one is not known.
_FEW = 10


class AbsentError(InputError):
    """What a change is about is not in the policy: a cluster, or an override."""


def check_cluster(config: KubeObject, cluster: str | None, advice: str = "") -> None:
    """Refuse a cluster that a policy does not name; raises AbsentError, with advice behind it."""
    if cluster is None:
        return
    clusters = clusters_of(config)
    if cluster in clusters:
        return
    raise AbsentError(
        f"cluster {cluster!r} not found in the policy {others(cluster, clusters)}{advice}"
    )


def others(cluster: str, clusters: Collection[str]) -> str:
    """Say which clusters there are beside one that is not known, and which may be meant."""
    named = some(list(clusters), _FEW) or "none"
    near = closest(cluster, clusters, len(clusters))
    hint = f"; did you mean {near!r}?" if near else ""
    return f"(known: {named}){hint}"


def clusters_of(config: KubeObject) -> dict[str, Value]:
    """Return what the file has for the clusters of a policy, by their names."""
    found = config.get("spec", "clusters")
    # `clusters:` with nothing behind it is null.
    return found if isinstance(found, dict) else {}


def spec_on(config: KubeObject, cluster: str | None) -> dict[str, Value]:
    """Return the spec of a policy as the file has it; on a cluster with what that changes."""
    return _changed_on(config, cluster, config.get("spec"))


def rules_on(config: KubeObject, field: str, cluster: str | None) -> dict[str, Value]:
    """Return the windows, freezes or overrides of a policy as the file has them, by name.

    On a cluster they are those that hold there.
    """
    # Not the whole spec: a thousand clusters are in it, and each may be asked about.
    found = _changed_on(config, cluster, {field: config.get("spec", field)}).get(field)
    return found if isinstance(found, dict) else {}


def _changed_on(config: KubeObject, cluster: str | None, spec: Value) -> dict[str, Value]:
    if cluster is not None:
        spec = merge(spec, config.get("spec", "clusters", cluster) or {})
    return spec if isinstance(spec, dict) else {}


def patched(config: KubeObject, patch: Value) -> KubeObject:
    """Return a policy with a merge patch (RFC 7386) applied to the whole object.

    A map of a cluster that the patch empties is left out: there it would change nothing. Raises
    InputError for what is no patch of an object, and where the object would be another.
    """
    changed = config.as_read()
    changed.set(merge(config.get(), _object(patch)))
    # Another name is another object, for the cluster: the old one would stay behind there.
    if _identity(changed) != _identity(config):
        raise InputError(
            "a patch must not change apiVersion, kind, name or namespace (to rename a policy, "
            "edit its file and add `formerNames`)"
        )
    clusters, was = clusters_of(changed), clusters_of(config)
    kept = {name: _filled(entry, was.get(name)) for name, entry in clusters.items()}
    if kept != clusters:
        changed.set(kept, "spec", "clusters")
    return changed


def patched_clusters(config: KubeObject, patches: Mapping[str, Value]) -> KubeObject:
    """Return a policy whose spec is changed by a merge patch on each of some clusters.

    The entry of a cluster is a patch itself, so the two become one. Null takes from the cluster
    what the policy has for all. Raises AbsentError for a cluster that the policy does not name,
    and InputError for what is no patch.
    """
    spec, clusters = config.get("spec"), clusters_of(config)
    entries: dict[str, Value] = {}
    for cluster, patch in patches.items():
        if cluster not in clusters:
            entry = f'{{"spec": {{"clusters": {{"{cluster}": {{}}}}}}}}'
            advice = f": first add it with a patch of the whole object, {entry}"
            check_cluster(config, cluster, advice)
        # A cluster that changes nothing may be written as `test:` alone.
        entries[cluster] = _entry(cluster, clusters[cluster] or {}, patch, spec)
    place = ("spec", "clusters")
    changed = config.as_read()
    # At once, however many they are: each change is a reading of the text.
    changed.set({**clusters, **entries}, *place)
    deeper = [cluster for cluster in entries if _is_line_that_deepens(config, changed, cluster)]
    if deeper:
        changed.set({**clusters, **entries, **{cluster: {} for cluster in deeper}}, *place)
        changed.set({**clusters, **entries}, *place)
    return changed


def _entry(cluster: str, own: Value, patch: Value, spec: Value) -> Value:
    """Return what a cluster has of its own once a patch is applied there."""
    composed = compose(own, _object(patch))
    entry = pruned(composed, spec)
    # Of all the other clusters nothing is compared.
    if isinstance(spec, dict):
        spec = {name: part for name, part in spec.items() if name != "clusters"}
    # Two patches do not always make one: see `compose`.
    at_once = merge(spec, entry)
    in_turn = merge(merge(spec, own), patch)
    if _filled(at_once, at_once) != _filled(in_turn, in_turn):
        raise InputError(
            f"the change cannot be written as an entry of cluster {cluster!r}: write that entry "
            "with a patch of the whole object"
        )
    return entry


def _is_line_that_deepens(config: KubeObject, changed: KubeObject, cluster: str) -> bool:
    """Whether the entry of a cluster was one line, such as `{timeZone: UTC}`, and is deeper now.

    It is written below its key then. More lines may have comments.
    """
    place = ("spec", "clusters", cluster)
    node, made = config.node_at(*place), changed.node_at(*place)
    if not (isinstance(node, Node) and isinstance(made, Node)):
        return False
    is_line = {key.line for key, _ in node.own} == {node.line}
    return made.flow and is_line and made.height > node.height


def _object(patch: Value) -> Value:
    if not isinstance(patch, dict):
        raise InputError(
            "a patch must be a JSON object, such as "
            '{"spec": {"freezes": {"release": {"starts": "2026-12-20", "ends": "2027-01-03"}}}}'
        )
    return patch


def _identity(policy: KubeObject) -> tuple[str, ...]:
    return (
        policy.api_version,
        policy.kind,
        policy.namespace,
        policy.name,
    )


def _filled(value: Value, was: Value) -> Value:
    """Return a value without maps that hold nothing and were there before, whatever they held.

    A policy means the same without them.
    """
    if not (isinstance(value, dict) and isinstance(was, dict)):
        return value
    # From within: a map of empty maps is empty, too.
    kept = {name: _filled(part, was.get(name)) for name, part in value.items()}
    return {name: part for name, part in kept.items() if part != {} or name not in was}
