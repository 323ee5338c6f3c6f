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
        return Result(
            message=message,
            severity=self.severity,
            resource_ref=ref,
            field=Field(path=path, current_value=current, proposed_value=proposed)
            if path
            else None,
            file=file,
            tags={"rule": self.id},
        )


def _error(name: str, summary: str) -> Rule:
    return Rule(name, Severity.ERROR, summary)


def _warning(name: str, summary: str) -> Rule:
    return Rule(name, Severity.WARNING, summary)


def _info(name: str, summary: str) -> Rule:
    return Rule(name, Severity.INFO, summary)


# The wire.
INPUT_UNREADABLE = _error(
    "input-unreadable", "The input is not a ResourceList, or an object in it is not YAML."
)
EDIT_REFUSED = _error(
    "edit-refused", "An edit would change more than it was asked to, so it was not made."
)
CONFIGURATION = _error(
    "configuration", "The functionConfig is absent, or of a kind that this function does not take."
)
INTERNAL = _error("internal", "A fault of this program.")

# The policy: the shape of the document.
FIELD_UNKNOWN = _error("field-unknown", "A field is not part of the API.")
FIELD_REQUIRED = _error("field-required", "A field that must be given is absent or empty.")
FIELD_TYPE = _error("field-type", "A field holds another type than the API says.")
FIELD_VALUE = _error("field-value", "A field holds a value that the API does not list.")
KEY_DUPLICATE = _error("key-duplicate", "A mapping has one key twice.")
NAME_SYNTAX = _error("name-syntax", "A name is not of the form that its field takes, or too long.")

# The policy: its moments.
MOMENT_SYNTAX = _error("moment-syntax", "A value cannot be read as a moment.")
MOMENT_SECONDS = _error(
    "moment-seconds", "A moment is written with seconds, mostly because it was not quoted."
)
MOMENT_BLANK = _error("moment-blank", "A date and its time are separated by a blank.")
MOMENT_ROLE = _error("moment-role", "A moment of a shape that this field does not take.")
DURATION_SYNTAX = _error("duration-syntax", "A value cannot be read as a duration.")
CRON_SYNTAX = _error("cron-syntax", "A value is not a schedule that a CronJob accepts.")
CRON_EVERY = _error(
    "cron-every", "`@every` counts from the start of a controller, so it has no fixed times."
)
CRON_REBOOT = _error("cron-reboot", "`@reboot` has no fixed times.")
CRON_ZONE = _error("cron-zone", "A schedule carries its own time zone.")
CRON_FIELDS = _error("cron-fields", "A schedule has a field for seconds or years.")
CRON_EXTENSION = _error(
    "cron-extension", "A schedule uses `L`, `W`, `#`, `H` or `R`, which Kubernetes does not know."
)
CRON_SEVEN = _error("cron-seven", "A schedule calls Sunday 7; for Kubernetes it is 0.")
CRON_WRAP = _error("cron-wrap", "A range of a schedule ends before it begins.")
CRON_ODD = _error(
    "cron-odd", "A schedule is accepted by Kubernetes but does not mean what it seems to."
)
CRON_NEVER = _error("cron-never", "A schedule never fires.")
CRON_EITHER_DAY = _warning(
    "cron-either-day", "A schedule restricts both day fields, which means either of them."
)

# The policy: windows, freezes, overrides.
END_CHOICE = _error("end-choice", "A beginning needs exactly one of an end and a duration.")
END_ONE_OFF = _error("end-one-off", "A one-off end needs a one-off beginning.")
END_INSTANT = _error("end-instant", "A time of day cannot end what begins at an instant.")
END_ORDER = _error("end-order", "An end is not after its beginning.")
ENDS_MEET = _error("ends-meet", "A beginning and an end recur and can fall into the same minute.")
OUTSIDE_WINDOWS = _error("outside-windows", "`windows` and `outsideWindows` contradict each other.")
STATE_HELD = _warning(
    "state-held", "`state` overrides the whole policy, so its windows have no effect."
)

# The policy: everything else.
TIME_ZONE = _error("time-zone", "A time zone is not in the IANA database.")
INTERVAL = _error("interval", "An interval does not divide an hour or a day evenly.")
IMAGE_PINNED = _error("image-pinned", "An image has neither a fixed tag nor a digest.")
QUANTITY_SYNTAX = _error(
    "quantity-syntax", "A value is not a Kubernetes quantity, or makes no sense in this field."
)
RESOURCES = _error(
    "resources", "A Pod would request more than its limits, or have less than a run needs."
)
TARGET_SELECTOR = _error(
    "target-selector", "A target needs exactly one of `names` and `matchLabels`."
)
TOO_MANY = _error(
    "too-many", "A list or a map of the policy has more entries than can be read or applied."
)
TOO_LARGE = _error("too-large", "An object would be larger than Kubernetes, etcd or kubectl take.")
TARGET_DUPLICATE = _error("target-duplicate", "A target is named twice.")
TARGET_KIND = _error(
    "target-kind", "A target's kind is not known, and how to suspend it is not said."
)
SUSPEND_FIELD = _error(
    "suspend-field", "A target's field does not stop reconciliation when it is true."
)
TARGET_ELSEWHERE = _error(
    "target-elsewhere", "A target lies in another namespace, and nobody said that it may."
)
NETWORK_POLICY = _error(
    "network-policy", "`networkPolicy` says where the API server is, and nothing uses it."
)
CRONJOB_SHARED = _error("cronjob-shared", "Two edges of the windows claim one CronJob.")
HOOK_NAMESPACE = _error(
    "hook-namespace",
    "Hooks would run where the accounts of the policy, a target, Flux or Kubernetes are.",
)
HOOK_NONE = _error("hook-none", "`hooks` has no hook.")
HOOK_ROLLBACK = _error("hook-rollback", "A hook has a rollback, and its failure aborts nothing.")
HOOK_VALUE = _error("hook-value", "A hook's variable has no value, or two.")
CLUSTER_EMPTY_MAP = _error(
    "cluster-empty-map", "A cluster's patch holds an empty map, which changes nothing."
)
CLUSTER_NULL = _error(
    "cluster-null", "A cluster has nothing behind its name, so it would have no windows."
)
CLUSTER_DROPPED = _warning(
    "cluster-dropped", "The windows of a cluster are removed that the policies name no more."
)
CLUSTER_UNKNOWN = _error("cluster-unknown", "The policy has no such cluster.")

# The plan: what may be gated.
TARGET_REFUSED = _error(
    "target-refused", "A target's kind cannot be gated: nothing is held back, or events are lost."
)
TARGET_MISSING = _error(
    "target-missing", "A target is not among the resources, though others of its kind are."
)
TARGET_UNSEEN = _warning(
    "target-unseen", "A target is not among the resources; it may come from elsewhere."
)
PENDING_UNKNOWN = _warning(
    "pending-unknown",
    "A hook depends on what a target has applied or has to apply, and nobody can tell.",
)
TARGET_UNMATCHED = _error("target-unmatched", "`matchLabels` matches nothing that is visible.")
TARGET_RENAMED = _warning(
    "target-renamed", "A target was renamed by kustomize; names in Role and timetable are not."
)
CRONJOB_NO_DEADLINE = _warning(
    "cronjob-no-deadline", "A gated CronJob has no deadline, so a missed run fires late."
)
SELF_LOCK = _error(
    "self-lock",
    "A target delivers the policy or starts its gate, so the windows lock themselves out.",
)
SOURCE_SHARED = _error("source-shared", "A gated source also feeds what must stay live.")
SOURCE_UPLINK = _info(
    "source-uplink", "A gated source is fetched while the window is open, which takes the uplink."
)
WAIT_UNKNOWN = _error(
    "wait-unknown", "`firstApply: Wait` on a kind whose status does not say that it was applied."
)
TIMEOUT_UNKNOWN = _error(
    "timeout-unknown", "`closesEarly: auto` with a target whose timeout is not visible."
)

# The plan: what the edges of the actuator Kubectl can keep.
KUBECTL_FIELD = _error(
    "kubectl-field", "A field that the actuator `Kubectl` cannot keep; `Gate` does."
)
KUBECTL_UNION = _error(
    "kubectl-union", "No schedules fire at exactly the edges of the windows; `Gate` needs none."
)
KUBECTL_DEADLINE = _error(
    "kubectl-deadline", "Two edges are so close that a late Job of one would undo the other."
)
KUBECTL_CLOCK_CHANGE = _error(
    "kubectl-clock-change", "A clock change skips, repeats or moves an edge that acts."
)
KUBECTL_ZONE = _warning(
    "kubectl-zone", "The rules of the zone changed lately; the controller's copy may be older."
)
KUBECTL_LIFTS = _warning(
    "kubectl-lifts", "The actuator `Kubectl` also resumes what somebody suspended by hand."
)

# The stream: what a transformer finds and changes.
SUSPEND_FALSE = _warning(
    "suspend-false", "`suspend: false` on a target in Git undoes every close; it is removed."
)
SUSPEND_TRUE = _error(
    "suspend-true",
    "`suspend: true` on a target in Git is somebody's decision, which a gate must not undo.",
)
WAIT_NOT_SUSPENDED = _warning(
    "wait-not-suspended", "`firstApply: Wait` on a target that Git does not suspend."
)
ANNOTATION_IN_GIT = _error(
    "annotation-in-git",
    "An annotation in Git claims that the gate closed an object, or ran a hook.",
)
TWO_POLICIES = _error("two-policies", "Two policies gate one target.")
TWO_POLICIES_UNCLEAR = _warning(
    "two-policies-unclear",
    "Two policies that name no cluster gate one target, and may be for one cluster.",
)
LOCAL_CONFIG = _error(
    "local-config", "A policy would be applied itself, and no cluster knows its kind."
)
NAME_TAKEN = _error(
    "name-taken", "An object that krm-windows did not make has the name of one that it makes."
)
RENDER_READ_ONLY = _error(
    "render-read-only", "`render` would have to change a file that it only reads."
)
CONFIG_PATH = _warning(
    "config-path", "An annotation on the policy narrows what kustomize hands to the function."
)

# The final stream: what `verify` finds.
NOT_RUN = _error("not-run", "Nothing of the policy is in the output: the function was not run.")
INTERVALS_LOST = _warning(
    "intervals-lost", "A rule cannot be said in full in the grammar of Alertmanager's intervals."
)
ZONE_RELEASE = _info(
    "zone-release", "It was built with another release of the zone data, which says the same."
)
ZONE_RULES_CHANGED = _warning(
    "zone-rules-changed", "The rules of the time zone are not those that it was built with."
)
ZONE_RULES_OLDER = _error(
    "zone-rules-older", "This builder's zone data is older than that of the output, and differs."
)
STALE = _error("stale", "The timetable in the output is not what the policy compiles to.")
EMITTED_MISSING = _error(
    "emitted-missing", "Something that the policy yields is missing from the output."
)
REFERENCE_BROKEN = _error(
    "reference-broken", "A Job refers to an account or a ConfigMap that is not beside it."
)
RIGHTS_MISSING = _error(
    "rights-missing", "No Role in a target's namespace lets the gate suspend and resume it."
)
RIGHTS_EXCESS = _error("rights-excess", "A Role of ours grants more than the policy needs.")
TARGET_SUSPEND = _error(
    "target-suspend", "A target in the output says `suspend`, which the parent would bring back."
)

# The audit: what `check` finds in the coming years.
WINDOW_NEVER_OPENS = _error("window-never-opens", "A window is never open in the audited years.")
WINDOW_ALWAYS_OPEN = _warning(
    "window-always-open", "A window, or all together, leave nothing closed."
)
WINDOW_UNEQUAL = _warning(
    "window-unequal", "An occurrence is more than twice as long as the shortest of its window."
)
WINDOW_SHORT = _warning(
    "window-short", "A window is shorter than the time between two runs and a Pod's start."
)
WINDOW_CLOSES_EARLY = _warning(
    "window-closes-early", "`closesEarly` leaves nothing of an occurrence of a window."
)
WINDOW_OVER = _warning("window-over", "A dated window is over.")
FREEZE_OVER = _warning("freeze-over", "A dated freeze is over.")
OVERRIDE_OVER = _warning("override-over", "An override is over.")
FREEZE_CUTS = _info("freeze-cuts", "A freeze takes a part of a window, and the rest stays open.")
CLOSED_LONG = _warning(
    "closed-long", "The policy is closed for more days in a row than `--max-closed` allows."
)
VANISHES = _warning("vanishes", "An occurrence lies wholly in an hour that a clock change skips.")
EDGE_MISSING_HOUR = _warning(
    "edge-missing-hour", "An edge falls into an hour that a clock change skips."
)
EDGE_REPEATED_HOUR = _warning(
    "edge-repeated-hour", "An edge falls into an hour that a clock change repeats."
)
IMAGE_TAG = _info(
    "image-tag",
    "An image that the policy names has a tag and no digest, so it can become another one.",
)
ADMISSION_DISABLED = _warning(
    "admission-disabled",
    "No admission policy limits the gate's account to the field that it changes.",
)

# A change: what `diff` finds between an older policy and a newer one.
FORMER_NAME = _error(
    "former-name", "A policy was renamed, and `formerNames` does not say what it was called."
)
TARGET_DROPPED = _error(
    "target-dropped", "A target is no longer gated, and `released` does not have it opened."
)

# A migration: what `migrate` finds in hand-written CronJobs.
MIGRATE_UNTRANSLATED = _error(
    "migrate-untranslated", "Something of the windows is not understood, so it is in no policy."
)
MIGRATE_UNREAD = _error(
    "migrate-unread",
    "Something suspends or resumes in a form that is not read, so it is in no policy.",
)
MIGRATE_NEVER_CLOSES = _error(
    "migrate-never-closes", "A CronJob opens something that no CronJob closes."
)
MIGRATE_NEVER_OPENS = _error(
    "migrate-never-opens", "A CronJob closes something that no CronJob opens."
)
MIGRATE_RACE = _error(
    "migrate-race", "Two CronJobs open and close in the same minute, and chance decides."
)
MIGRATE_SELF_LOCK = _warning(
    "migrate-self-lock", "CronJobs suspend what applies them, so edits wait for the window."
)
MIGRATE_RIGHTS = _warning(
    "migrate-rights", "The account of a CronJob may do more than `get` and `patch` its targets."
)
MIGRATE_CHAIN = _warning(
    "migrate-chain", "Behind `&&`, one failure leaves the rest of the targets as they were."
)
MIGRATE_TIME_ZONE = _warning(
    "migrate-time-zone", "A CronJob without `timeZone` goes by the clock of its controller."
)
MIGRATE_IMAGE = _warning("migrate-image", "A CronJob runs on an image that is not pinned, or dead.")
MIGRATE_SUSPEND = _warning("migrate-suspend", "`suspend` on a target in Git fights the windows.")
MIGRATE_PATCH_UNUSED = _warning(
    "migrate-patch-unused", "A patch, or a CronJob, is in no kustomization."
)
MIGRATE_ALL = _warning(
    "migrate-all", "A CronJob acts on all objects of a kind; the policy names them."
)
MIGRATE_LEFT_OUT = _warning(
    "migrate-left-out", "A CronJob does something that the policy does not."
)
MIGRATE_NOT_FOLLOWED = _warning(
    "migrate-not-followed", "A kustomization uses something that is not followed."
)
MIGRATE_TARGET_UNSEEN = _warning(
    "migrate-target-unseen",
    "What a CronJob suspends is not in the repository; the policy names it.",
)
MIGRATE_CLUSTER_UNKNOWN = _warning(
    "migrate-cluster-unknown",
    "Windows are applied to no cluster that was found, so no policy has them.",
)
MIGRATE_BY_HAND = _warning(
    "migrate-by-hand", "Something of the old windows has to be removed by hand."
)
MIGRATE_SUSPENDED = _info(
    "migrate-suspended", "A cluster leaves its CronJobs suspended, so it has no window."
)

# Change classes: what they say of themselves.
CLASS_DUPLICATE = _error("class-duplicate", "Two change classes have one name.")
CLASS_UNKNOWN = _error("class-unknown", "A change class is named that is not declared.")
RULE_EMPTY = _error("rule-empty", "A rule has no selector, so it would match everything.")
RULE_UNREACHABLE = _error(
    "rule-unreachable", "A rule never decides, because an earlier one matches all that it does."
)
ACKNOWLEDGE_UNUSED = _warning(
    "acknowledge-unused", "There is no reference between the objects that an acknowledgement names."
)

# Change classes: what the resources say against them.
CLASS_TOO_LATE = _error(
    "class-too-late", "A Namespace or CRD is annotated with a later class than what needs it."
)
OBJECT_DUPLICATE = _error("object-duplicate", "An object is among the resources twice.")
OBJECT_LIST = _error(
    "object-list", "A List among the resources holds objects that may be of several classes."
)
REFERENCE_PARTED = _error(
    "reference-parted", "A reference into another class would break, as the name in it changes."
)
REFERENCE_AHEAD = _warning(
    "reference-ahead", "An object refers to one of a later class, which may not be there yet."
)
REFERENCE_BENEATH = _warning(
    "reference-beneath", "An object refers to one of an earlier class that changes beneath it."
)
PATH_ELSEWHERE = _warning(
    "path-elsewhere", "A Flux Kustomization's path is not where the split is written."
)
CLASS_MOVED = _error(
    "class-moved", "An object moves to another class, and the old one would prune it."
)

# A fleet: what delivers the windows.
WINDOWS_UNAPPLIED = _error("windows-unapplied", "Windows were rendered, and nothing applies them.")
DELIVERY_FIELD = _error(
    "delivery-field", "With such a field a Flux Kustomization does not deliver windows."
)

# The repository: what `check --repo` finds beside the rules of plan and stream.
BUILD_FAILED = _error("build-failed", "Something that a cluster applies cannot be read or built.")
ADMISSION_UNDELIVERED = _warning(
    "admission-undelivered",
    "What delivers a policy may not create the admission policies that belong to it.",
)
NOT_FOLLOWED = _info(
    "not-followed", "Something lies outside of the repository, so it was not read."
)
SOURCE_ASSUMED = _info(
    "source-assumed", "Nothing says which source this directory is, so the usual name is taken."
)
CLUSTER_NULL_DROPPED = _error(
    "cluster-null-dropped",
    "A patch of a policy removes something below a cluster, which a merge drops.",
)
CLUSTER_UNBUILT = _warning(
    "cluster-unbuilt", "A cluster's own directory cannot be built, so nothing is known of it."
)
POLICY_FILE_ALONE = _info(
    "policy-file-alone", "A policy is in a file, and nothing that is applied has it."
)
CLUSTER_UNLISTED = _warning(
    "cluster-unlisted", "Flux seems to enter the repository where no cluster was looked for."
)
CLUSTER_UNGATED = _info("cluster-ungated", "A cluster has no policy, though others have.")
OBJECT_SHARED = _error(
    "object-shared", "Two Kustomizations that change at different times apply one object."
)
OBJECT_MOVED = _error(
    "object-moved", "An object moved to a later Kustomization, and pruning deletes it until then."
)
DEPENDS_BLOCKED = _error(
    "depends-blocked", "A Kustomization depends on one that is closed when it is not, and stops."
)
DEPENDS_STALE = _warning(
    "depends-stale", "A live Kustomization depends on a windowed one, and does not wait for it."
)
CHILD_LIVE = _warning(
    "child-live", "A closed Kustomization delivers one that goes on applying new revisions."
)
REFERS_TO_LIVE = _warning(
    "refers-to-live", "Something windowed refers to what changes at once beneath it."
)
REFERS_TO_WINDOWED = _warning(
    "refers-to-windowed", "Something live refers to what changes in a window only."
)
RELEASE_MOVES = _warning(
    "release-moves", "A HelmRelease below a closed Kustomization takes new versions of its chart."
)
AUTOMATION_MOVES = _warning(
    "automation-moves", "An image automation below a closed Kustomization goes on committing."
)
SOURCE_MOVES = _warning(
    "source-moves", "A source below a closed Kustomization goes on taking new revisions."
)


RULES: tuple[Rule, ...] = tuple(
    value for value in tuple(vars().values()) if isinstance(value, Rule)
)
