"""Policy to plan: targets resolved, moments into a timetable, triggers and rights worked out."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from krm_windows import rules
from krm_windows.gate.timetable import Kind, Rule, Target, Timetable
from krm_windows.inventory import Inventory
from krm_windows.plan import sources, targets, timeouts, zone_rules
from krm_windows.plan.edges import Edges, edges
from krm_windows.plan.model import Plan, Runtime
from krm_windows.plan.rights import rights
from krm_windows.plan.targets import Selection
from krm_windows.plan.triggers import Given, Wording, triggers
from krm_windows.policy import moments
from krm_windows.policy.model import Actuator, Spec, WindowPolicy
from krm_windows.results import Result

# What the checks of a plan look at beside the targets themselves: consumers of sources, and their timeouts.
ALWAYS_READ = frozenset({"Kustomization", "HelmRelease"})


def kinds(policy: WindowPolicy) -> frozenset[str]:
    """Return the kinds of items that compiling this policy looks into."""
    return ALWAYS_READ | {
        selector.kind for selector in (*policy.spec.targets, *policy.spec.released)
    }


def compile_policy(
    policy: WindowPolicy, cluster: str | None, inventory: Inventory
) -> tuple[Plan, list[Result]]:
    """Compile a policy for one cluster; the plan is worth something only where no result is an error."""
    spec, home = policy.spec, policy.metadata.namespace
    selections = [
        targets.select(selector, f"spec.targets[{i}]", home, inventory)
        for i, selector in enumerate(spec.targets)
    ]
    released = [
        targets.select(selector, f"spec.released[{i}]", home, inventory)
        for i, selector in enumerate(spec.released)
    ]
    early, results = _closes_early(spec, selections, inventory)
    results += [result for selection in selections for result in _check(spec, selection, inventory)]
    results += _check_released(selections, released, inventory)
    timetable = _timetable(policy, cluster, early, _unique(selections), _unique(released))
    found = _triggers(spec, timetable)
    plan = Plan(
        name=policy.metadata.name,
        namespace=home,
        timetable=timetable,
        triggers=found.triggers,
        rights=rights((*timetable.targets, *timetable.released), spec.hooks, events=spec.events),
        runtime=_runtime(spec.actuator, found.patience),
        interval=spec.interval,
        extras=frozenset(spec.extras),
        hooks=spec.hooks,
        events=spec.events,
        admission=spec.admission_policy == "Enabled",
        api_servers=spec.network_policy.api_server if spec.network_policy else (),
    )
    return plan, [*results, *found.results]


def _triggers(spec: Spec, timetable: Timetable) -> Edges:
    """Return the CronJobs of the policy's actuator: those that act at edges, or those that run the gate."""
    wording = _wording(spec)
    if spec.actuator.type == "Kubectl":
        return edges(timetable, wording)
    return Edges(triggers(timetable, wording, spec.interval))


def _runtime(actuator: Actuator, patience: timedelta) -> Runtime:
    pull_secrets = tuple(actuator.image_pull_secrets)
    return Runtime(
        image=actuator.runs_on,
        pull_policy=actuator.image_pull_policy,
        pull_secrets=pull_secrets,
        actuator=actuator.type,
        patience=patience,
        resources=actuator.resources,
    )


def _check(spec: Spec, selection: Selection, inventory: Inventory) -> Iterable[Result]:
    yield from targets.check(selection, inventory)
    yield from sources.check(selection, inventory)
    if spec.first_apply == "Wait" and not selection.row.applied:
        yield rules.WAIT_UNKNOWN.result(
            f"cannot be Wait for {selection.row.kind}: its status does not say whether it was ever applied",
            path="spec.firstApply",
            current="Wait",
        )


def _check_released(
    selections: list[Selection], released: list[Selection], inventory: Inventory
) -> Iterable[Result]:
    gated = {_address(target) for selection in selections for target in selection.targets()}
    for selection in released:
        yield from targets.check_released(selection, inventory)
        for target in selection.targets():
            if _address(target) in gated:
                message = (
                    f"must not release {target}, which `targets` gates: name it in one of the two"
                )
                yield rules.TARGET_DUPLICATE.result(
                    message, path=selection.path, current=target.name
                )


def _closes_early(
    spec: Spec, selections: list[Selection], inventory: Inventory
) -> tuple[timedelta, list[Result]]:
    if isinstance(spec.closes_early, timedelta):
        return spec.closes_early, []
    return timeouts.longest(selections, inventory)


def _unique(selections: list[Selection]) -> tuple[Target, ...]:
    """Return the objects of all entries, sorted, each once."""
    found = {_address(target): target for selection in selections for target in selection.targets()}
    return tuple(found[address] for address in sorted(found))


def _address(target: Target) -> tuple[str, str, str, str]:
    return target.group, target.resource, target.namespace, target.name


def _timetable(
    policy: WindowPolicy,
    cluster: str | None,
    early: timedelta,
    gated: tuple[Target, ...],
    released: tuple[Target, ...],
) -> Timetable:
    spec = policy.spec
    return Timetable(
        policy=f"{policy.metadata.namespace}/{policy.metadata.name}",
        cluster=cluster,
        time_zone=spec.time_zone,
        zone_rules=zone_rules.make(spec.time_zone),
        outside_windows=spec.outside_windows,
        state=spec.state,
        closes_early=early,
        first_apply=spec.first_apply,
        adopt_until=spec.adopt_until.value if spec.adopt_until else None,
        former_names=tuple(sorted(spec.former_names)),
        windows=tuple(
            Rule(Kind.WINDOW, f"{n}", w.opens.value, w.ends)
            for n, w in sorted(spec.windows.items())
        ),
        freezes=tuple(
            Rule(Kind.FREEZE, f"{n}", f.starts.value, f.ends_at, f.reason)
            for n, f in sorted(spec.freezes.items())
        ),
        overrides=tuple(
            Rule(
                Kind.OVERRIDE,
                f"{n}",
                o.starts.value if o.starts else None,
                o.ends_at,
                o.reason,
                o.state,
            )
            for n, o in sorted(spec.overrides.items())
        ),
        targets=gated,
        released=released,
    )


def _wording(spec: Spec) -> Wording:
    """Take from the policy what its CronJobs repeat: schedules as written, given names, the windows in words."""
    schedules: dict[tuple[str, str], str] = {}
    for name, window in spec.windows.items():
        for edge, moment in (("opens", window.opens), ("closes", window.closes)):
            if moment is not None and moments.is_cron(moment):
                schedules[f"windows.{name}", edge] = moment.text
    return Wording(
        schedules=schedules,
        given={
            f"windows.{name}": Given(window.cron_jobs.open, window.cron_jobs.close)
            for name, window in spec.windows.items()
            if window.cron_jobs
        },
        words={
            f"windows.{name}": f"{name}: {window.words()}, {spec.time_zone}"
            for name, window in spec.windows.items()
        },
    )


def uninstall(plan: Plan) -> Plan:
    """Return the plan that only lifts our marks and suspensions: no triggers, nothing besides, every target released."""
    held = plan.timetable
    released = tuple(sorted({*held.targets, *held.released}, key=str))
    lifts = replace(held, state="Open", targets=(), released=released)
    granted = rights(released, events=plan.events)
    return replace(
        plan, triggers=(), extras=frozenset(), timetable=lifts, hooks=None, rights=granted
    )
