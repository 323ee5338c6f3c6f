"""The hooks: who may create Jobs may use all accounts and Secrets, so they are held to these.

A hook's Job says itself what the API server would fill in (`emit.hooks`), so its Pod is compared as
a whole: a field that nobody thought of is refused and not allowed.
"""

from krm_windows.emit import hooks as templates
from krm_windows.emit.admission import cel
from krm_windows.emit.admission.restraint import Restraint, by_account, name, rule
from krm_windows.emit.template import fill, read
from krm_windows.plan.model import Plan
from krm_windows.policy.hooks import Hooks

_VARIABLES = read("""
labels: $labels
hooks: $hooks
job: "object == null ? dyn({}) : dyn(object)"
metadata: variables.job.?metadata.orValue({})
name: variables.metadata.?name.orValue('')
spec: variables.job.?spec.orValue({})
template: variables.spec.?template.orValue({})
template_metadata: variables.template.?metadata.orValue({})
template_labels: variables.template_metadata.?labels.orValue({})
pod: variables.template.?spec.orValue({})
""")
# Of what the API server writes into metadata: the rest, as owners and finalizers, no Job of a hook
# has. The Job controller labels each Job's Pods (batch/v1). At last, whether the Job is one of a
# hook's: the template is compared apart, the selector is the API server's, and when a Pod is
# replaced does not matter to a Job with one try.
_VALIDATIONS = read("""
- variables.metadata.all(key, key in ['creationTimestamp', 'generation', 'labels', 'managedFields',
  'name', 'namespace', 'uid'])
- variables.metadata.?labels.orValue({}) == variables.labels
- variables.template.all(key, key in ['metadata', 'spec'])
- variables.template_metadata.all(key, key in ['creationTimestamp', 'labels'])
- variables.template_labels.all(key,
  key in ['batch.kubernetes.io/controller-uid', 'batch.kubernetes.io/job-name', 'controller-uid',
  'job-name'] ||
  ((key in variables.labels && variables.template_labels[key] == variables.labels[key])))
- variables.labels.all(key, key in variables.template_labels)
- variables.hooks.exists(hook, variables.name.startsWith(hook.name) &&
  variables.spec.all(key, key in ['podReplacementPolicy', 'selector', 'template'] ||
  (key in hook.spec && variables.spec[key] == hook.spec[key])) &&
  hook.spec.all(key, key in variables.spec) && variables.pod == hook.pod)
""")


def restraint(plan: Plan, hooks: Hooks) -> Restraint:
    """Hold the Jobs of a plan's account to those of its hooks, whatever their names end with."""
    return Restraint(
        name=name(plan, "hooks"),
        rules=[rule(("batch", "jobs"))],
        condition=by_account(plan),
        variables=fill(
            _VARIABLES,
            labels=cel.literal(templates.job_labels(plan)),
            hooks=cel.literal(templates.jobs(plan, hooks)),
        ),
        validations=[
            f"request.operation == 'CREATE' && request.namespace == {cel.text(hooks.namespace)}",
            *_VALIDATIONS,
        ],
        message=f"the gate of {plan.policy} may create only the Jobs of the policy's hooks here",
    )
