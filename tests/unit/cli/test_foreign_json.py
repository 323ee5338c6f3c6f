"""JSON that others wrote, in every place where it is read: it is refused or passed over.

Never is it an internal error.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from calls import POLICY, call, wire
from hostile import JSON, with_other_values

from krm_windows.cli import main
from krm_windows.emit import timetables
from krm_windows.emit.configmap import TIMETABLE
from krm_windows.exit_codes import ExitCode
from krm_windows.forge import http, queue
from krm_windows.forge.errors import ForgeError
from krm_windows.gate import annotations
from krm_windows.krm import InputError, KubeObject, plain_json
from krm_windows.service.bodies import parsed_json
from krm_windows.service.problems import Problem

EVERY = pytest.mark.parametrize("text", JSON.values(), ids=JSON)
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
"""
READERS: dict[str, Callable[[str], object]] = {
    "plain_json": plain_json.read,
    "several values": lambda text: list(plain_json.values(text)),
    "an answer of a forge": lambda text: http.parsed(text.encode()),
    "the event of a merge queue": lambda text: queue.event(text.encode()),
    "the body of a request": lambda text: parsed_json(text.encode()),
    "an annotation": annotations.read,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@EVERY
def test_a_reader_refuses_it_in_its_own_words(text: str, reader: Callable[[str], object]) -> None:
    """Whatever else it raises would be a defect."""
    with suppress(ValueError, InputError, ForgeError, Problem):
        reader(text)


@pytest.fixture(scope="module")
def gate() -> dict[str, object]:
    """Return the ConfigMap of a gate."""
    config = POLICY + "  released: [{kind: Kustomization, names: [old]}]\n"
    [found] = call(wire(config=config)).of("ConfigMap")
    return dict(found)


@pytest.fixture(scope="module")
def texts(gate: dict[str, object]) -> list[str]:
    """Return what may be in the place of its timetable: no JSON, and JSON of another shape."""
    return [*JSON.values(), *with_other_values(timetable_of(gate))]


def timetable_of(gate: dict[str, object]) -> str:
    """Return the text of a timetable."""
    data = gate["data"]
    assert isinstance(data, dict)
    return str(data[TIMETABLE])


def manifest(gate: dict[str, object], text: str, name: str = "week-gate") -> str:
    """Return the ConfigMap with a text in the place of its timetable."""
    metadata = gate["metadata"]
    assert isinstance(metadata, dict)
    return str(
        yaml.dump(
            gate | {"data": {TIMETABLE: text}, "metadata": metadata | {"name": name}},
            Dumper=yaml.CSafeDumper,
        )
    )


def named(gate: dict[str, object], texts: list[str]) -> Iterator[str]:
    """Yield the ConfigMap with each of some texts."""
    for number, text in enumerate(texts):
        yield manifest(gate, text, f"gate-{number}")


def test_a_timetable_that_is_read_has_the_types_that_it_declares(
    gate: dict[str, object], texts: list[str]
) -> None:
    """Else there is none."""
    assert timetables.read(KubeObject.parse(manifest(gate, timetable_of(gate)).encode()))
    for text in texts:
        found = timetables.read(KubeObject.parse(manifest(gate, text).encode()))
        if found is not None:
            # All that is asked of one: it is compared, put into sets, and written.
            whole = (found.policy, found.cluster, found.state, found.first_apply, found.time_zone)
            assert hash((*whole, found.former_names, found.targets, found.released))
            assert "/".join([*found.former_names, *map(str, found.targets)]) is not None


def test_in_a_repository(
    gate: dict[str, object], texts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the label of a policy, which whoever writes the file chooses."""
    (tmp_path / "clusters/north").mkdir(parents=True)
    (tmp_path / "clusters/north/flux.yaml").write_text(FLUX)
    some = [JSON["deep lists"], *texts[len(JSON) :: len(texts) // 5]]
    (tmp_path / "clusters/north/gate.yaml").write_text("---\n".join(named(gate, some)))
    code = main(["check", "--repo", str(tmp_path), "--no-cache", "--source", "flux-system=."])
    assert code in (ExitCode.FINE, ExitCode.ERROR), capsys.readouterr().err


def test_in_a_stream_and_a_directory_of_what_was_rendered(
    gate: dict[str, object], texts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside a policy, and as what the older version of it left."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    place = tmp_path / "windows"
    answer = call(wire(*named(gate, texts), config=POLICY))
    assert answer.code in (ExitCode.FINE, ExitCode.ERROR), answer.err
    main(["render", str(tmp_path / "policy.yaml"), "--output-dir", str(place)])
    [file] = place.glob("configmap*")
    head = file.read_text().splitlines()[0]
    for text in texts[:: len(texts) // 5]:
        file.write_text(f"{head}\n{manifest(gate, text)}")
        code = main(["render", str(tmp_path / "policy.yaml"), "--output-dir", str(place)])
        assert code in (ExitCode.FINE, ExitCode.ERROR), capsys.readouterr().err
