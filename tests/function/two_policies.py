"""Policies that may gate one target, each in a file of its name."""

from pathlib import Path

POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  timeZone: Europe/Berlin
  crossNamespaceTargets: Allow
  targets: [{{kind: Kustomization, namespace: flux-system, names: [{targets}], mustExist: false}}]
  windows: {{week: {{opens: Mon 08:00, closes: Thu 17:00}}}}
{more}"""


def policy(name: str, targets: str = "apps", more: str = "", namespace: str = "flux-system") -> str:
    text = POLICY.format(name=name, namespace=namespace, targets=targets, more=more)
    Path(f"{name}.yaml").write_text(text)
    return f"{name}.yaml"
