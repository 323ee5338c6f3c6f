"""JSON that others wrote, in every place where it is read: refused or passed over, no defect."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from calls import APPS, POLICY, Run, call, wire
from hostile import JSON, with_other_values

from krm_windows.emit import timetables
from krm_windows.emit.configmap import TIMETABLE
from krm_windows.exit_codes import ExitCode
from krm_windows.forge import http, queue
from krm_windows.forge.errors import ForgeError
from krm_windows.gate import annotations
from krm_windows.krm import InputError, KubeObject, plain_json
from krm_windows.service.bodies import parsed_json
from krm_windows.service.problems import Problem

READERS: dict[str, Callable[[str], object]] = {
    "plain_json": plain_json.read,
    "several values": lambda text: list(plain_json.values(text)),
    "an answer of a forge": lambda text: http.parsed(text.encode()),
    "the event of a merge queue": lambda text: queue.event(text.encode()),
    "the body of a request": lambda text: parsed_json(text.encode()),
    "an annotation": annotations.read,
}
JUDGED = (ExitCode.FINE, ExitCode.ERROR)
[GATE] = call(wire(config=POLICY + "  released: [{kind: Kustomization, names: [old]}]\n")).of(
    "ConfigMap"
)
TEXT = GATE["data"][TIMETABLE]
# What may be in the place of its timetable: no JSON, and JSON of another shape.
TEXTS = [*JSON.values(), *with_other_values(TEXT)]


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("text", JSON.values(), ids=JSON)
def test_a_reader_refuses_it_in_its_own_words(text: str, reader: Callable[[str], object]) -> None:
    """Whatever else it raises would be a defect."""
    with suppress(ValueError, InputError, ForgeError, Problem):
        reader(text)


def manifest(text: str, name: str = "week-gate") -> str:
    metadata = GATE["metadata"] | {"name": name}
    made = GATE | {"data": {TIMETABLE: text}, "metadata": metadata}
    return yaml.dump(made, Dumper=yaml.CSafeDumper)


def test_a_timetable_that_is_read_has_the_types_that_it_declares() -> None:
    assert timetables.read(KubeObject.parse(manifest(TEXT).encode()))
    for text in TEXTS:
        found = timetables.read(KubeObject.parse(manifest(text).encode()))
        if found is not None:
            # All that is asked of one: it is compared, put into sets, and written.
            whole = (found.policy, found.cluster, found.state, found.first_apply, found.time_zone)
            assert hash((*whole, found.former_names, found.targets, found.released))
            assert "/".join([*found.former_names, *map(str, found.targets)]) is not None


def test_in_a_repository(tmp_path: Path, run: Run) -> None:
    """With the label of a policy, which whoever writes the file chooses."""
    north = tmp_path / "repository/clusters/north"
    north.mkdir(parents=True)
    (north / "flux.yaml").write_text(APPS)
    some = [JSON["deep lists"], *TEXTS[len(JSON) :: len(TEXTS) // 5]]
    gates = (manifest(text, f"gate-{number}") for number, text in enumerate(some))
    (north / "gate.yaml").write_text("---\n".join(gates))
    ended = run("check", "--repo", "repository", "--no-cache", "--source", "fleet=.")
    assert ended.code in JUDGED, ended.err


def test_in_a_stream_and_a_directory_of_what_was_rendered(run: Run) -> None:
    answer = call(wire(*(manifest(text, f"gate-{number}") for number, text in enumerate(TEXTS))))
    assert answer.code in JUDGED, answer.err
    render = ("render", "policy.yaml", "--output-dir", "windows")
    run(*render)
    [file] = Path("windows").glob("configmap*")
    head = file.read_text().splitlines()[0]
    for text in TEXTS[:: len(TEXTS) // 3]:
        file.write_text(f"{head}\n{manifest(text)}")
        ended = run(*render)
        assert ended.code in JUDGED, ended.err
