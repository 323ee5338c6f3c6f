"""The Job and its Pod: what it may not do, how it ends, and when its name changes."""

import pytest
import zoned
from calls import POLICY, emitted

from krm_windows.emit import Manifest, apply_job, configmap, names
from krm_windows.gate.timetable import FORMAT_VERSION
from krm_windows.plan.model import Plan
from krm_windows.policy.model import Actuator

TIMETABLE = zoned.timetable(policy="flux-system/week", time_zone="Etc/UTC")
PLAN = Plan("week", "flux-system", TIMETABLE, (), (), Actuator())


def job_of(plan: Plan) -> Manifest:
    return apply_job.run(plan, configmap.config_map(plan))


def pods() -> list[dict]:
    jobs = [*emitted(POLICY, "Job"), *emitted(POLICY, "CronJob")]
    return [job["spec"].get("jobTemplate", job)["spec"] for job in jobs]


@pytest.mark.parametrize("spec", pods())
def test_the_token_is_the_containers_alone(spec: dict) -> None:
    pod = spec["template"]["spec"]
    [account] = emitted(POLICY, "ServiceAccount")
    assert pod["automountServiceAccountToken"] is account["automountServiceAccountToken"] is False
    [volume] = [each for each in pod["volumes"] if "projected" in each]
    sources = [list(each.items()) for each in volume["projected"]["sources"]]
    [token] = [each for [(name, each)] in sources if name == "serviceAccountToken"]
    assert 600 <= token["expirationSeconds"] <= 3600
    [mount] = [
        each for each in pod["containers"][0]["volumeMounts"] if each["name"] == volume["name"]
    ]
    assert mount["readOnly"] is True


@pytest.mark.parametrize("spec", [pods()[0], apply_job.lift(PLAN)["spec"]])
def test_the_job_that_is_applied_never_counts_as_failed(spec: dict) -> None:
    """Nothing would run it again, so it starts again until it ends well."""
    assert spec["backoffLimit"] == 2**31 - 1
    assert spec["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert (
        not {"activeDeadlineSeconds", "podFailurePolicy", "ttlSecondsAfterFinished"} & spec.keys()
    )


def test_only_the_job_of_an_edit_forgives_what_is_missing() -> None:
    """It blocks no delivering Kustomization that waits for it."""
    commands = [spec["template"]["spec"]["containers"][0]["command"][3:] for spec in pods()]
    at_once, *others = commands
    assert at_once[:-1] == ["--allow-missing", "--leave-to-next", "--digest"]
    assert {tuple(flags) for flags in others} == {(), ("--backwards",)}


def test_the_apply_job_waits_for_its_own_config_map() -> None:
    held = zoned.timetable(policy="flux-system/week", time_zone="Europe/Berlin")
    shut = held._replace(state="Closed")
    digests: list[str] = []
    for timetable, release in ((held, "2026a"), (held, "2099z"), (shut, "2026a")):
        plan = PLAN._replace(timetable=timetable, zone_release=release)
        config = configmap.config_map(plan)
        digest = config["data"][configmap.DIGEST]
        command = str(apply_job.run(plan, config)["spec"])
        assert f"'--digest', '{digest}'" in command
        digests.append(str(digest))
    assert digests[0] == digests[1] != digests[2]


def test_of_two_runs_at_an_edge_one_begins_at_the_end() -> None:
    """A CronJob in the policy's zone has one in UTC beside it: their runs share the targets."""
    for item in emitted(POLICY, "CronJob"):
        in_utc = item["spec"]["timeZone"] == "Etc/UTC"
        assert ("'--backwards'" in str(item)) is in_utc, item["metadata"]["name"]


def test_where_no_look_follows_nothing_is_left_to_it() -> None:
    """`render --uninstall`: that its Job has ended is the sign that all is open."""
    assert not PLAN.triggers
    assert "--leave-to-next" not in str(job_of(PLAN)["spec"])


IN_IMAGE = PLAN._replace(actuator=Actuator(program="Image", image=f"i@sha256:{'1' * 64}"))


def test_a_program_in_the_image_has_what_it_reads_from_the_config_map() -> None:
    data = configmap.config_map(IN_IMAGE)["data"]
    assert set(data) == {"timetable.json", "digest"}
    assert len(data["timetable.json"]) < 8192
    pod = job_of(IN_IMAGE)["spec"]["template"]["spec"]
    [container] = pod["containers"]
    command = ["python3", "-I", "-m", "krm_windows.gate", "--files", "/gate"]
    flags = ["--allow-missing", "--digest", data["digest"]]
    assert container["command"] == [*command, *flags]
    assert pod["volumes"][0] == {"name": "gate", "configMap": {"name": "week-gate-2"}}


def test_a_format_has_a_config_map_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Pod of before an upgrade cannot mount what only the programs after it can read."""
    before = configmap.config_map(IN_IMAGE)["metadata"]["name"]
    monkeypatch.setattr(names, "FORMAT_VERSION", FORMAT_VERSION + 1)
    after = configmap.config_map(IN_IMAGE)["metadata"]["name"]
    assert before != after == f"week-gate-{FORMAT_VERSION + 1}"
    volume = job_of(IN_IMAGE)["spec"]["template"]["spec"]["volumes"][0]
    assert volume["configMap"]["name"] == after
    # What travels with its program is read by that.
    assert configmap.config_map(PLAN)["metadata"]["name"] == "week-gate"


@pytest.mark.parametrize(
    "other",
    [
        PLAN._replace(timetable=PLAN.timetable._replace(state="Open")),
        PLAN._replace(actuator=Actuator(image="i:2")),
        PLAN._replace(actuator=Actuator(image_pull_policy="Never")),
        PLAN._replace(actuator=Actuator(image_pull_secrets=("secret",))),
    ],
    ids=["timetable", "image", "pull policy", "pull secrets"],
)
def test_every_edit_is_looked_at(other: Plan) -> None:
    """The name follows from all that the Job does, so that Flux makes a new one."""
    assert job_of(PLAN)["metadata"]["name"] == job_of(PLAN._replace())["metadata"]["name"]
    assert job_of(PLAN)["metadata"]["name"] != job_of(other)["metadata"]["name"]
