"""The apply Job: it runs as soon as it is applied, and its name changes with what it does."""

import json

from krm_windows.emit import configmap, gate, kubectl, names
from krm_windows.emit.job import unfailing_spec
from krm_windows.emit.labels import FORCE, metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan


def run(plan: Plan, config: Manifest) -> Manifest:
    """Return the Job that runs the gate at once, named after all that it depends on.

    `config` is the gate's ConfigMap. Where another run comes, it leaves to that what it cannot do;
    where none comes (`render --uninstall`), it goes on.
    """
    flags = ["--allow-missing"]
    if plan.triggers:
        flags.append("--leave-to-next")
    # The Pod may be given the ConfigMap as it was before.
    flags += ["--digest", str(config["data"][configmap.DIGEST])]
    spec = unfailing_spec(plan, gate.pod(plan, *flags))
    # A new name makes a new Job, so everything that changes what it does is in the digest.
    return _job(plan, spec, [config["data"], spec])


def lift(plan: Plan) -> Manifest:
    """Return the Job that opens all targets, where no edge will do it any more."""
    spec = unfailing_spec(plan, kubectl.pod(plan, suspend=False))
    return _job(plan, spec, spec)


def _job(
    plan: Plan,
    spec: dict[str, object],
    content: object,
) -> Manifest:
    # Sorted keys: the order in which something was written down makes no other Job.
    digest = names.digest(json.dumps(content, sort_keys=True))
    # A Job cannot be changed, only made anew (batch/v1); `force` has Flux do so where it must.
    name = names.apply_job(plan, digest)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(plan, name, plan.namespace, {FORCE: "enabled"}),
        "spec": spec,
    }
