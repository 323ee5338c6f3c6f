"""The one table of rules: every finding of a build, with its id, severity and page.

A room adds its rules to its own section. The reference page is generated from this table.
"""

from typing import NamedTuple

from krm_windows import SOURCE
from krm_windows.results import Field, File, ResourceRef, Result, Severity


class Rule(NamedTuple):
    """What can be wrong: `id` in kebab-case, `summary` one sentence, `page` below `docs/`."""

    id: str
    severity: Severity
    summary: str
    page: str = "reference/rules.md"

    @property
    def url(self) -> str:
        """The address of its entry in the documentation."""
        return f"{SOURCE}/blob/main/docs/{self.page}#{self.id}"

    def result(  # noqa: PLR0913 - one keyword for each part of a result
        self,
        message: str,
        *,
        path: str = "",
        current: str | None = None,
        proposed: str | None = None,
        ref: ResourceRef | None = None,
        file: File | None = None,
    ) -> Result:
        """Report that this rule fired, at the field `path` of `ref`, with the value and the fix."""
        field = None
        if path:
            field = Field(path=path, current_value=current, proposed_value=proposed)
        return Result(
            message=message,
            severity=self.severity,
            resource_ref=ref,
            field=field,
            file=file,
            rule=self.id,
        )


def _error(name: str, summary: str) -> Rule:
    return Rule(name, Severity.ERROR, summary)


def _warning(name: str, summary: str) -> Rule:
    return Rule(name, Severity.WARNING, summary)


def _info(name: str, summary: str) -> Rule:
    return Rule(name, Severity.INFO, summary)


# The wire.
INPUT_UNREADABLE = _error(
    "input-unreadable",
    "A file cannot be read, is not valid YAML, or not one policy or ResourceList.",
)
EDIT_REFUSED = _error("edit-refused", "An edit would change more than intended; it was not made.")
CONFIGURATION = _error("configuration", "The functionConfig is missing or of another kind.")
INTERNAL = _error("internal", "A bug in this program.")

# The policy: the shape of the document.
FIELD_UNKNOWN = _error("field-unknown", "A field is unknown.")
FIELD_REQUIRED = _error("field-required", "A required field is absent or empty.")
FIELD_TYPE = _error("field-type", "A field has the wrong type.")
FIELD_VALUE = _error("field-value", "A value is not one of those allowed.")
KEY_DUPLICATE = _error("key-duplicate", "A mapping has a duplicate key.")
NAME_SYNTAX = _error("name-syntax", "A name is invalid for its field, or too long.")

# The policy: its moments.
MOMENT_SYNTAX = _error("moment-syntax", "A value is not a valid moment.")
MOMENT_SECONDS = _error("moment-seconds", "A moment has seconds, usually for lack of quotes.")
MOMENT_BLANK = _error("moment-blank", "Date and time are separated by a space instead of `T`.")
MOMENT_ROLE = _error("moment-role", "This field does not accept a moment of this form.")
DURATION_SYNTAX = _error("duration-syntax", "A value is not a valid duration.")
CRON_SYNTAX = _error("cron-syntax", "A value is not a schedule that a CronJob accepts.")
CRON_EVERY = _error(
    "cron-every", "`@every` counts from the start of the controller: no fixed times."
)
CRON_REBOOT = _error("cron-reboot", "`@reboot` has no fixed times.")
CRON_ZONE = _error("cron-zone", "A schedule has its own time zone.")
CRON_FIELDS = _error("cron-fields", "A schedule has a field for seconds or years.")
CRON_EXTENSION = _error(
    "cron-extension", "Kubernetes does not support `L`, `W`, `#`, `H` and `R` in a schedule."
)
CRON_SEVEN = _error("cron-seven", "A schedule writes Sunday as 7; in Kubernetes it is 0.")
CRON_WRAP = _error("cron-wrap", "A range in a schedule ends before it begins.")
CRON_ODD = _error("cron-odd", "A schedule does not mean what it seems to mean.")
CRON_NEVER = _error("cron-never", "A schedule never fires.")
CRON_EITHER_DAY = _warning(
    "cron-either-day", "A schedule restricts both day fields, which means either."
)

# The policy: windows, freezes, overrides.
END_CHOICE = _error("end-choice", "A window, freeze or override needs either an end or a duration.")
END_ONE_OFF = _error("end-one-off", "A one-off end needs a one-off beginning.")
END_INSTANT = _error("end-instant", "A time of day cannot end what begins at an instant.")
END_ORDER = _error("end-order", "An end is not after its beginning.")
ENDS_MEET = _error("ends-meet", "A recurring beginning and end can be the same minute.")
OUTSIDE_WINDOWS = _error("outside-windows", "`windows` and `outsideWindows` contradict each other.")
STATE_HELD = _warning("state-held", "`state` overrides the whole policy: windows have no effect.")

# The policy: everything else.
TIME_ZONE = _error("time-zone", "A time zone is not in the IANA database.")
INTERVAL = _error("interval", "An interval does not divide an hour or a day evenly.")
IMAGE_PINNED = _error("image-pinned", "An image has neither tag nor digest.")
PROGRAM_IMAGE = _error("program-image", "`program: Image` needs an image with a digest.")
QUANTITY_SYNTAX = _error(
    "quantity-syntax", "A value is not a Kubernetes quantity, or not valid here."
)
RESOURCES = _error(
    "resources", "A Pod requests more than its limits, or has less than a run needs."
)
TARGET_SELECTOR = _error("target-selector", "A target needs either `names` or `matchLabels`.")
TOO_MANY = _error("too-many", "A list or map has too many entries.")
TOO_LARGE = _error("too-large", "An object is larger than Kubernetes, etcd or kubectl accept.")
TARGET_DUPLICATE = _error("target-duplicate", "A target is listed twice.")
TARGET_KIND = _error("target-kind", "A target's kind is unknown: say how to suspend it.")
SUSPEND_FIELD = _error("suspend-field", "A field does not stop reconciliation when it is true.")
TARGET_PRIVILEGED = _error(
    "target-privileged", "A target's kind holds secrets, grants rights or decides admission."
)
TARGET_CLUSTER_SCOPED = _error(
    "target-cluster-scoped", "Cluster-scoped kinds are not supported yet."
)
TARGET_ELSEWHERE = _error(
    "target-elsewhere", "A target is in another namespace, which the policy does not allow."
)
NETWORK_POLICY = _error(
    "network-policy", "`networkPolicy` has the API server's address, but nothing uses it."
)
CRONJOB_SHARED = _error("cronjob-shared", "Two edges use the same CronJob name.")
HOOK_NAMESPACE = _error(
    "hook-namespace",
    "Hooks would run in the namespace of the policy, a target, Flux or Kubernetes.",
)
HOOK_NONE = _error("hook-none", "`hooks` has no hook.")
HOOK_ROLLBACK = _error("hook-rollback", "A hook has a rollback, but its failure aborts nothing.")
HOOK_VALUE = _error("hook-value", "A hook's environment variable needs exactly one value.")
CLUSTER_EMPTY_MAP = _error(
    "cluster-empty-map", "An empty map in a cluster's patch changes nothing."
)
CLUSTER_NULL = _error("cluster-null", "A cluster's patch is null, so it would have no windows.")
CLUSTER_ADDED = _warning(
    "cluster-added", "A change adds a cluster to those of a policy; the name may be mistyped."
)
CLUSTER_DROPPED = _warning(
    "cluster-dropped", "A cluster's windows are removed: no policy names it any more."
)
CLUSTER_UNKNOWN = _error("cluster-unknown", "The policy has no such cluster.")

# The plan: what may be gated.
TARGET_REFUSED = _error(
    "target-refused", "A target's kind has no field to gate it, or would lose events."
)
TARGET_MISSING = _error(
    "target-missing", "A target is not among the resources; others of its kind are."
)
TARGET_UNSEEN = _warning(
    "target-unseen", "A target is not among the resources; it may come from elsewhere."
)
PENDING_UNKNOWN = _warning(
    "pending-unknown", "What a hook's target has applied, or has to apply, is unknown."
)
TARGET_UNMATCHED = _error("target-unmatched", "`matchLabels` matches nothing that is visible.")
TARGET_RENAMED = _warning(
    "target-renamed", "kustomize renamed a target, but not in Role and timetable."
)
CRONJOB_NO_DEADLINE = _warning(
    "cronjob-no-deadline", "A gated CronJob without a deadline starts a missed run late."
)
SELF_LOCK = _error(
    "self-lock", "A target delivers the policy or starts its gate: it would lock itself out."
)
SOURCE_SHARED = _error(
    "source-shared", "A gated source is also used by something that must not wait."
)
SOURCE_NEEDS_NETWORK = _info(
    "source-needs-network", "A gated source is fetched in the window, which needs the network then."
)
WAIT_UNKNOWN = _error(
    "wait-unknown", "`firstApply: Wait` on a kind whose status does not say whether it was applied."
)
TIMEOUT_UNKNOWN = _error(
    "timeout-unknown", "`closesEarly: auto` with a target whose timeout is unknown."
)

# The plan: what the edges of the actuator Kubectl can keep.
KUBECTL_FIELD = _error(
    "kubectl-field", "The actuator `Kubectl` does not support this field; `Gate` does."
)
KUBECTL_UNION = _error(
    "kubectl-union", "No cron schedules fire at exactly these edges; `Gate` needs none."
)
KUBECTL_DEADLINE = _error("kubectl-deadline", "A late Job of one edge would undo the next.")
KUBECTL_CLOCK_CHANGE = _error(
    "kubectl-clock-change", "A clock change skips, repeats or moves an edge."
)
KUBECTL_ZONE = _warning(
    "kubectl-zone", "The time zone's rules changed recently; the controller's may be older."
)
KUBECTL_RESUMES_ALL = _warning(
    "kubectl-resumes-all", "The actuator `Kubectl` also resumes what a person suspended."
)

# The stream: what a transformer finds and changes.
SUSPEND_FALSE = _warning(
    "suspend-false", "`suspend: false` in Git would undo every close; it is removed."
)
SUSPEND_TRUE = _error("suspend-true", "`suspend: true` in Git, which the gate must not undo.")
WAIT_NOT_SUSPENDED = _warning(
    "wait-not-suspended", "`firstApply: Wait` on a target that Git does not suspend."
)
ANNOTATION_IN_GIT = _error(
    "annotation-in-git", "An annotation that only the gate may write is in Git."
)
TWO_POLICIES = _error(
    "two-policies", "Two policies gate one target, or one gates and one releases it."
)
TWO_POLICIES_UNCLEAR = _warning(
    "two-policies-unclear",
    "Two policies that name no cluster gate one target, and may be for the same cluster.",
)
LOCAL_CONFIG = _error("local-config", "A policy would be applied, but no cluster has its kind.")
NAME_TAKEN = _error("name-taken", "An object of somebody else has the name of one of ours.")
RENDER_READ_ONLY = _error(
    "render-read-only", "`render` would change a file that it must only read."
)
CONFIG_PATH = _warning(
    "config-path", "An annotation limits the resources that kustomize passes to the function."
)

# The final stream: what `verify` finds.
NOT_RUN = _error("not-run", "The output has nothing of the policy: the function was not run.")
ZONE_RULES_CHANGED = _warning(
    "zone-rules-changed", "The time zone's rules are not those of the build."
)
ZONE_RULES_OLDER = _error(
    "zone-rules-older", "The zone data here is older than the output's, and differs."
)
TABLE_ENDS = _warning("table-ends", "The table of days ends within two years.")
STALE = _error("stale", "The output's timetable does not match the policy.")
EMITTED_MISSING = _error("emitted-missing", "An object of the policy is missing in the output.")
REFERENCE_BROKEN = _error(
    "reference-broken", "A Job's ServiceAccount or ConfigMap is missing in its namespace."
)
RIGHTS_MISSING = _error("rights-missing", "No Role lets the gate suspend and resume a target.")
RIGHTS_EXCESS = _error("rights-excess", "A Role grants more than the policy needs.")
TARGET_SUSPEND = _error(
    "target-suspend", "A target in the output has `suspend`, which the parent would restore."
)

# The audit: what `check` finds in the coming years.
WINDOW_NEVER_OPENS = _error("window-never-opens", "A window never opens in the checked years.")
WINDOW_ALWAYS_OPEN = _warning("window-always-open", "A window, or all together, are never closed.")
WINDOW_UNEQUAL = _warning(
    "window-unequal", "An occurrence is more than twice as long as its window's shortest."
)
WINDOW_SHORT = _warning("window-short", "A window is shorter than an interval and a Pod's start.")
WINDOW_CLOSES_EARLY = _warning("window-closes-early", "`closesEarly` leaves an occurrence no time.")
WINDOW_OVER = _warning("window-over", "A dated window is over.")
FREEZE_OVER = _warning("freeze-over", "A dated freeze is over.")
OVERRIDE_OVER = _warning("override-over", "An override is over.")
FREEZE_CUTS = _info("freeze-cuts", "A freeze covers only part of a window; the rest stays open.")
CLOSED_LONG = _warning(
    "closed-long", "The policy is closed for more days than `--max-closed` allows."
)
OCCURRENCE_SKIPPED = _warning("occurrence-skipped", "A clock change skips a whole occurrence.")
EDGE_MISSING_HOUR = _warning(
    "edge-missing-hour", "An edge is in an hour that a clock change skips."
)
EDGE_REPEATED_HOUR = _warning(
    "edge-repeated-hour", "An edge is in an hour that a clock change repeats."
)
IMAGE_TAG = _info("image-tag", "An image with a tag and no digest can change.")
ADMISSION_DISABLED = _warning(
    "admission-disabled", "No admission policy holds the gate's account to its field."
)

# A change: what `diff` finds between an older policy and a newer one.
FORMER_NAME = _error(
    "former-name", "A renamed policy does not list its former name in `formerNames`."
)
TARGET_DROPPED = _error(
    "target-dropped", "No policy gates or releases a target any more, so it may stay closed."
)

# A migration: what `migrate` finds in hand-written CronJobs.
MIGRATE_UNTRANSLATED = _error(
    "migrate-untranslated", "Part of the windows was not understood; no policy has it."
)
MIGRATE_UNSUPPORTED = _error(
    "migrate-unsupported", "A way to suspend or resume is not supported; no policy has it."
)
MIGRATE_NEVER_CLOSES = _error(
    "migrate-never-closes", "A CronJob opens something that no CronJob closes."
)
MIGRATE_NEVER_OPENS = _error(
    "migrate-never-opens", "A CronJob closes something that no CronJob opens."
)
MIGRATE_RACE = _error(
    "migrate-race", "Two CronJobs open and close in the same minute, in random order."
)
MIGRATE_SELF_LOCK = _warning(
    "migrate-self-lock",
    "CronJobs suspend what applies them, so changes wait for the window; a policy leaves that out.",
)
MIGRATE_TIME_ZONE = _warning(
    "migrate-time-zone", "A CronJob without `timeZone` uses the controller's."
)
MIGRATE_ALL = _warning(
    "migrate-all", "A CronJob acts on all objects of a kind; the policy names them."
)
MIGRATE_LEFT_OUT = _warning(
    "migrate-left-out", "A CronJob does something that the policy does not."
)
MIGRATE_NOT_FOLLOWED = _warning(
    "migrate-not-followed", "A kustomization uses something that is not supported."
)
MIGRATE_TARGET_UNSEEN = _warning(
    "migrate-target-unseen", "What a CronJob suspends is not in the repository; the policy has it."
)
MIGRATE_CLUSTER_UNKNOWN = _warning(
    "migrate-cluster-unknown",
    "No cluster that was found applies these windows, so no policy has them.",
)

# Change classes: what they say of themselves.
CLASS_DUPLICATE = _error("class-duplicate", "Two change classes have the same name.")
CLASS_UNKNOWN = _error("class-unknown", "A change class is not declared.")
RULE_EMPTY = _error("rule-empty", "A rule without a selector would match everything.")
RULE_UNREACHABLE = _error(
    "rule-unreachable", "An earlier rule matches everything that this one does."
)
ACKNOWLEDGE_UNUSED = _warning(
    "acknowledge-unused", "There is no reference between the acknowledged objects."
)

# Change classes: what the resources say against them.
CLASS_TOO_LATE = _error(
    "class-too-late", "A Namespace or CRD is annotated with a later class than what needs it."
)
OBJECT_DUPLICATE = _error("object-duplicate", "An object occurs twice among the resources.")
OBJECT_LIST = _error("object-list", "Objects of a List may be in different classes.")
REFERENCE_RENAMED = _error(
    "reference-renamed", "An object gets another name, which breaks a reference of another class."
)
REFERENCE_TO_LATER_CLASS = _warning(
    "reference-to-later-class", "An object refers to one of a later class, which may not exist yet."
)
REFERENCE_TO_EARLIER_CLASS = _warning(
    "reference-to-earlier-class",
    "An object refers to one of an earlier class, which may change first.",
)
PATH_ELSEWHERE = _warning(
    "path-elsewhere", "A Flux Kustomization's path is not where the split is written."
)
CLASS_MOVED = _error(
    "class-moved", "An object moves to another class, and the old one would prune it."
)

# A fleet: what delivers the windows.
WINDOWS_UNAPPLIED = _error("windows-unapplied", "Windows were rendered, but nothing applies them.")
WINDOWS_STALE = _error("windows-stale", "Rendered windows are not what their policy yields now.")
WINDOWS_UNCHECKED = _warning(
    "windows-unchecked", "Rendered windows cannot be compared with their policy."
)
DELIVERED_TOGETHER = _warning(
    "delivered-together",
    "On a new cluster, objects whose namespace or kind does not exist yet keep Flux from "
    "applying the windows.",
)
DELIVERY_FIELD = _error(
    "delivery-field", "A field keeps rendered windows from the cluster, or changes them."
)

# The repository: what `check --repo` finds beside the rules of plan and stream.
BUILD_FAILED = _error("build-failed", "Something that a cluster applies cannot be read or built.")
DELIVERY_CHANGED = _error(
    "delivery-changed",
    "Something else is applied than was rendered, by more fields than one, or none.",
)
NOT_FOLLOWED = _info("not-followed", "Something outside the repository was not read.")
SOURCE_ASSUMED = _info(
    "source-assumed", "The source of this directory is unknown; the usual name is assumed."
)
CLUSTER_UNBUILT = _warning(
    "cluster-unbuilt", "A cluster's directory cannot be built; it was not checked."
)
POLICY_FILE_ALONE = _info(
    "policy-file-alone", "Nothing that is applied comes from a policy's file."
)
CLUSTER_UNLISTED = _warning(
    "cluster-unlisted", "Flux seems to apply a directory that was not checked."
)
CLUSTER_UNGATED = _info("cluster-ungated", "A cluster has no policy, although others do.")
OBJECT_SHARED = _error(
    "object-shared", "Two Kustomizations that change at different times apply the same object."
)
OBJECT_MOVED = _error(
    "object-moved", "An object moved to a later Kustomization, and is pruned until then."
)
TARGET_REMOVED = _warning(
    "target-removed", "If a target is removed while closed, what it applied stays in the cluster."
)
NEW_CLUSTER_BLOCKED = _error(
    "new-cluster-blocked",
    "On a new cluster, windows wait for a namespace or definition, and what creates it waits "
    "for them, or for a window (`firstApply: Wait`).",
)
DEPENDS_BLOCKED = _error(
    "depends-blocked",
    "A Kustomization depends on one that is closed when it is open: it fails until then.",
)
DEPENDS_STALE = _warning(
    "depends-stale", "A live Kustomization depends on a windowed one, but does not wait for it."
)
CHILD_LIVE = _warning(
    "child-live", "A gated Kustomization delivers one that keeps applying revisions."
)
REFERS_TO_LIVE = _warning(
    "refers-to-live", "A windowed object refers to one that may change any time."
)
REFERS_TO_WINDOWED = _warning(
    "refers-to-windowed", "A live object refers to one that changes only in a window."
)
RELEASE_MOVES = _warning(
    "release-moves", "A HelmRelease below a gated Kustomization installs new charts."
)
AUTOMATION_MOVES = _warning(
    "automation-moves", "An image automation below a gated Kustomization keeps committing."
)
SOURCE_MOVES = _warning("source-moves", "A source below a gated Kustomization keeps fetching.")


RULES: tuple[Rule, ...] = tuple(
    value for value in tuple(vars().values()) if isinstance(value, Rule)
)
