"""Policy to plan: targets resolved, moments into a timetable, triggers and rights worked out."""

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from itertools import chain

from krm_windows import rules
from krm_windows.gate.revisions import Source
from krm_windows.gate.timetable import Target
from krm_windows.inventory import Inventory
from krm_windows.plan import revisions, sources, targets, timeouts
from krm_windows.plan.edges import Edges, edges
from krm_windows.plan.model import Plan, Rights
from krm_windows.plan.rights import rights
from krm_windows.plan.targets import Address, Selection, address
from krm_windows.plan.timetable import covered
from krm_windows.plan.triggers import Wording, triggers
from krm_windows.policy import moments
from krm_windows.policy.model import CronJobNames, Freeze, Override, Spec, Window, WindowPolicy
from krm_windows.results import Result
from krm_windows.schedule import zones
from krm_windows.schedule.table import TooLargeError
from krm_windows.schedule.timetable import Kind, Rule, Timetable

# What the checks of a plan look at beside the targets themselves: consumers of sources, and their
# timeouts; where those that a HelmRelease names come from; and the scope of a kind.
ALWAYS_READ = frozenset({"Kustomization", "HelmRelease", "HelmChart", targets.DEFINITION})


def kinds(policy: WindowPolicy) -> frozenset[str]:
    """Return the kinds of items that compiling this policy looks into."""
    every = (*policy.spec.targets, *policy.spec.released)
    return ALWAYS_READ | {selector.kind for selector in every}


def compile_policy(
    policy: WindowPolicy,
    cluster: str | None,
    inventory: Inventory,
) -> tuple[Plan, list[Result]]:
    """Compile a policy for one cluster.

    The plan is worth something only where no result is an error.
    """
    spec = policy.spec
    gated = _selected(policy, "targets", inventory)
    released = _selected(policy, "released", inventory)
    timetable, results = _compiled(policy, cluster, gated, released, inventory)
    for selection in gated:
        results += _check(spec, selection, inventory)
    results += _check_released(gated, released, inventory)
    found = _triggers(spec, timetable)
    plan = Plan(
        name=policy.metadata.name,
        namespace=policy.metadata.namespace,
        timetable=timetable,
        triggers=found.triggers,
        rights=_rights(spec, timetable, inventory),
        actuator=spec.actuator,
        patience=found.patience,
        interval=spec.interval,
        extras=frozenset(spec.extras),
        hooks=spec.hooks,
        events=spec.events,
        admission=spec.admission_policy == "Enabled",
        api_servers=spec.network_policy.api_server if spec.network_policy else (),
        zone_release=zones.release(),
    )
    return plan, [*results, *found.results]


def _rights(spec: Spec, timetable: Timetable, inventory: Inventory) -> tuple[Rights, ...]:
    # What is opened for good takes the same right to patch as what is gated.
    turned = (*timetable.targets, *timetable.released)
    gate = timetable.policy if spec.actuator.type == "Gate" else ""
    read: Collection[Source] = ()
    if spec.hooks and spec.hooks.only_if == "Pending":
        read = revisions.read(timetable.targets, inventory)
    return rights(turned, gate, spec.hooks, events=spec.events, sources=read)


def compile_timetable(
    policy: WindowPolicy,
    cluster: str | None,
    inventory: Inventory,
) -> tuple[Timetable, list[Result]]:
    """Compile when a policy is open, without the CronJobs that see to it: half of the work.

    The results are those that keep its times from being known; what speaks against a target is the
    build's matter.
    """
    gated = _selected(policy, "targets", inventory)
    return _compiled(policy, cluster, gated, _selected(policy, "released", inventory), inventory)


def _selected(policy: WindowPolicy, field: str, inventory: Inventory) -> list[Selection]:
    """Return what the entries of a field select: of `targets`, or of `released`."""
    home = policy.metadata.namespace
    return [
        targets.select(selector, f"spec.{field}[{i}]", home, inventory)
        for i, selector in enumerate(getattr(policy.spec, field))
    ]


def _compiled(
    policy: WindowPolicy,
    cluster: str | None,
    gated: list[Selection],
    released: list[Selection],
    inventory: Inventory,
) -> tuple[Timetable, list[Result]]:
    early, results = _closes_early(policy.spec, gated, inventory)
    timetable = _timetable(policy, cluster, early, _unique(gated), _unique(released))
    try:
        covered(timetable)
    except TooLargeError as error:
        message = str(error) or (
            "days differ so much in when windows, freezes and overrides hold that their table is "
            "larger than a ConfigMap may be: split them into several policies, or use fewer"
        )
        message = f"{message} (docs/reference/limits.md)"
        results.append(rules.TOO_LARGE.result(message, path="spec"))
        # Nothing is made of a policy with an error, so that nobody works them out again.
        timetable = timetable._replace(windows=(), freezes=(), overrides=())
    return timetable, results


def _triggers(spec: Spec, timetable: Timetable) -> Edges:
    """Return the CronJobs of the policy's actuator: those that act at edges, or run the gate."""
    wording = _wording(spec)
    if spec.actuator.type == "Kubectl":
        return edges(timetable, wording)
    return Edges(triggers(timetable, wording, spec.interval))


def _check(
    spec: Spec,
    selection: Selection,
    inventory: Inventory,
) -> Iterable[Result]:
    yield from targets.check(selection, inventory)
    yield from sources.check(selection, inventory)
    # What hooks that look at revisions cannot know of a target.
    if spec.hooks and spec.hooks.only_if == "Pending":
        yield from revisions.check(selection, inventory)
    if spec.hooks and spec.hooks.after_apply:
        yield from revisions.check_applied(selection)
    # Without a field that says so, an object never applied looks like one that waits for its
    # window.
    if spec.first_apply == "Wait" and not selection.row.applied:
        yield rules.WAIT_UNKNOWN.result(
            f"cannot be Wait for {selection.row.kind}: its status does not show whether it was "
            "ever applied",
            path="spec.firstApply",
            current="Wait",
        )


def _check_released(
    selections: list[Selection],
    released: list[Selection],
    inventory: Inventory,
) -> Iterable[Result]:
    # Twice named, the gate would close it at one edge and open it at once.
    gated = _unique(selections)
    for selection in released:
        yield from targets.check_released(selection, inventory)
        for target in selection.targets():
            if address(target) in gated:
                message = (
                    f"must not list {target}, which `targets` gates: list it in only one of the two"
                )
                yield rules.TARGET_DUPLICATE.result(
                    message, path=selection.path, current=target.name
                )


def _closes_early(
    spec: Spec,
    selections: list[Selection],
    inventory: Inventory,
) -> tuple[timedelta, list[Result]]:
    # A duration needs no reading of the objects; `auto` is their longest timeout.
    if isinstance(spec.closes_early, timedelta):
        return spec.closes_early, []
    return timeouts.longest(selections, inventory)


def _unique(selections: Iterable[Selection]) -> dict[Address, Target]:
    """Return the objects of all entries, each once, by their addresses."""
    every = chain.from_iterable(selection.targets() for selection in selections)
    found = {address(target): target for target in every}
    # Sorted, so that the order of `targets` in the policy changes no byte.
    return dict(sorted(found.items()))


def _timetable(
    policy: WindowPolicy,
    cluster: str | None,
    early: timedelta,
    gated: dict[Address, Target],
    released: dict[Address, Target],
) -> Timetable:
    spec = policy.spec
    return Timetable(
        policy=f"{policy.metadata.namespace}/{policy.metadata.name}",
        cluster=cluster,
        time_zone=spec.time_zone,
        outside_windows=spec.outside_windows,
        state=spec.state,
        closes_early=early,
        first_apply=spec.first_apply,
        adopt_until=spec.adopt_until.value if spec.adopt_until else None,
        former_names=tuple(sorted(spec.former_names)),
        windows=_rules(Kind.WINDOW, spec.windows),
        freezes=_rules(Kind.FREEZE, spec.freezes),
        overrides=_rules(Kind.OVERRIDE, spec.overrides),
        targets=tuple(gated.values()),
        released=tuple(released.values()),
    )


def _rules(kind: Kind, entries: Mapping[str, Window | Freeze | Override]) -> tuple[Rule, ...]:
    """Return the rules of a field; one that does not say when it begins has held since always."""
    found = []
    for name, each in sorted(entries.items()):
        begins = each.span().begins
        reason, state = getattr(each, "reason", ""), getattr(each, "state", None)
        at = begins.value if begins else None
        found.append(Rule(kind, name, at, each.ends_at, reason, state))
    return tuple(found)


def _wording(spec: Spec) -> Wording:
    """Take from the policy what its CronJobs repeat.

    Schedules as written, given names, the windows in words.
    """
    schedules: dict[tuple[str, str], str] = {}
    given: dict[str, CronJobNames] = {}
    words: dict[str, str] = {}
    for name, window in spec.windows.items():
        path = f"windows.{name}"
        words[path] = f"{name}: {window.words()}, {spec.time_zone}"
        # Only cron is kept as it is written: what is said in words is no schedule.
        for edge, moment in (("opens", window.opens), ("closes", window.closes)):
            if moment is not None and moments.is_cron(moment):
                schedules[path, edge] = moment.text
        if window.cron_jobs:
            given[path] = window.cron_jobs
    return Wording(schedules, given, words)


def uninstall(plan: Plan) -> Plan:
    """Return the plan that only lifts our suspensions and their annotations.

    No triggers, nothing besides, every target released.
    """
    timetable = plan.timetable
    released = tuple(sorted({*timetable.targets, *timetable.released}, key=str))
    # Hooks do not run on the way out, so no Jobs have to be created.
    granted = rights(released, plan.policy, events=plan.events)
    return plan._replace(
        triggers=(),
        extras=frozenset(),
        timetable=timetable._replace(state="Open", targets=(), released=released),
        hooks=None,
        rights=granted,
    )
