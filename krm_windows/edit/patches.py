"""A policy's own text, changed by a merge patch: what the patch leaves alone keeps every byte."""

from krm_windows.krm import InputError, KubeObject, Mapping, Value
from krm_windows.krm.merge_patch import compose, merge, pruned


class AbsentError(InputError):
    """What a change is about is not in the policy: a cluster, or an override."""


def check_cluster(config: KubeObject, cluster: str | None, advice: str = "") -> None:
    """Refuse a cluster that a policy does not name; raises AbsentError, with advice behind it."""
    if cluster is None:
        return
    clusters = config.get("spec", "clusters")
    # `clusters:` with nothing behind it is null.
    if not isinstance(clusters, dict):
        clusters = {}
    if cluster in clusters:
        return
    named = ", ".join(clusters) or "none"
    raise AbsentError(f"cluster {cluster!r} not found in the policy (it has {named}){advice}")


def patched(config: KubeObject, patch: Value) -> KubeObject:
    """Return a policy with a merge patch (RFC 7386) applied to the whole object.

    Raises InputError for what is no patch of an object, and where the object would be another.
    """
    changed = config.as_read()
    changed.set(merge(config.get(), _object(patch)))
    # Another name is another object, for the cluster: the old one would stay behind there.
    if _identity(changed) != _identity(config):
        raise InputError(
            "a patch must not change apiVersion, kind, name or namespace (to rename a policy, "
            "edit its file and add `formerNames`)"
        )
    return changed


def patched_cluster(config: KubeObject, cluster: str, patch: Value) -> KubeObject:
    """Return a policy whose spec on one cluster is changed by a merge patch.

    The entry of the cluster is a patch itself, so the two become one. Null takes from the cluster
    what the policy has for all. Raises AbsentError for a cluster that the policy does not name,
    and InputError for what is no patch.
    """
    entry_of_it = f'{{"spec": {{"clusters": {{"{cluster}": {{}}}}}}}}'
    check_cluster(
        config, cluster, f": first add it with a patch of the whole object, {entry_of_it}"
    )
    spec = config.get("spec")
    # A cluster that changes nothing may be written as `test:` alone.
    own = config.get("spec", "clusters", cluster) or {}
    composed = compose(own, _object(patch))
    entry = pruned(composed, spec)
    # Two patches do not always make one: see `compose`.
    at_once = merge(spec, entry)
    in_turn = merge(merge(spec, own), patch)
    if _filled(at_once) != _filled(in_turn):
        raise InputError(
            f"the change cannot be written as an entry of cluster {cluster!r}: write that entry "
            "with a patch of the whole object"
        )
    changed = config.as_read()
    place = ("spec", "clusters", cluster)
    changed.set(entry, *place)
    node, made = config.node_at(*place), changed.node_at(*place)
    if isinstance(node, Mapping) and isinstance(made, Mapping):
        # What was one line, such as `berlin: {timeZone: Europe/Berlin}`, and becomes deeper is
        # written below its key. More lines may have comments.
        is_line = {key.line for key, _ in node.own} == {node.line}
        if made.flow and is_line and made.height > node.height:
            changed.set({}, *place)
            changed.set(entry, *place)
    return changed


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


def _filled(value: Value) -> Value:
    """Return a value without maps that hold nothing: a policy means the same without them."""
    if not isinstance(value, dict):
        return value
    filled: dict[str, Value] = {}
    for name, part in value.items():
        # From within: a map of empty maps is empty, too.
        kept = _filled(part)
        if kept != {}:
            filled[name] = kept
    return filled
