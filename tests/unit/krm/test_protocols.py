"""The protocols: what comes out of stdout and stderr, and the exit code, whatever comes in."""

import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from krm_windows import krm
from krm_windows.results import File, ResourceRef, Result, Severity

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
ITEMS = "items:\n- kind: A # one\n  apiVersion: v1\n# about b\n- kind: B\n"
NEW = {"apiVersion": "v1", "kind": "New", "metadata": {"name": "on"}}


@dataclass
class Answer:
    """What a call gave."""

    code: int
    out: bytes
    err: str

    @property
    def value(self) -> dict[str, krm.Value]:
        """The output as YAML 1.2."""
        found = krm.value(krm.KubeObject.parse(self.out).node)
        assert isinstance(found, dict)
        return found


def call(
    data: str | bytes, process: krm.Process = lambda _: None, *argv: str, log: bool = False
) -> Answer:
    """Run a function in this process."""
    stdin = io.BytesIO(data.encode() if isinstance(data, str) else data)
    stdout, stderr = io.BytesIO(), io.StringIO()
    environ = {"LOG_TO_STDERR": "true"} if log else {}
    code = krm.run(process, argv=argv, stdin=stdin, stdout=stdout, stderr=stderr, environ=environ)
    return Answer(code, stdout.getvalue(), stderr.getvalue())


def add(resources: krm.ResourceList) -> None:
    """Add an object and a warning."""
    resources.items.append(krm.KubeObject.from_value(NEW))
    resources.results.append(Result(message="new", severity=Severity.WARNING))


def lose(resources: krm.ResourceList) -> None:
    """Edit one item, drop the others, and fail."""
    resources.items[0].set("changed", "kind")
    del resources.items[1:]
    raise LookupError("no\nway")


def test_P02_v1beta1_comes_out_as_it_came() -> None:
    """The older version is accepted, and not turned into the newer one."""
    data = HEAD.replace("v1\n", "v1beta1\n") + ITEMS
    assert call(data).out.decode() == data


@pytest.mark.parametrize(
    "items",
    ["", "items:\n", "items: null # none\n", "items: []\n", "items: [] # none", "items: ~\n"],
)
def test_P03_items_are_a_list_in_the_output(items: str) -> None:
    """Missing, null or empty: a list comes out, and can be added to."""
    assert call(HEAD + items).value["items"] == []
    answer = call(HEAD + items + ("" if items.endswith("none") else "unknown: 1\n"), add)
    assert answer.value["items"] == [NEW]
    assert answer.value["results"] == [{"message": "new", "severity": "warning"}]


@pytest.mark.parametrize(
    "items",
    [
        "",
        ', "items": []',
        ', "items": null',
        ', "items": [{"kind": "A"},\n  {"kind": "B"}], "results": [{"message": "old"}]',
    ],
)
def test_P04_json_in_and_json_out(items: str) -> None:
    """JSON is written back as JSON, with additions in its own style."""
    data = '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"' + items + "}\n"
    answer = call(data, add)
    assert answer.code == 0
    value = yaml.safe_load(answer.out)
    assert (value["items"][-1], value["results"][-1]["message"]) == (NEW, "new")
    assert answer.out.startswith(b'{"apiVersion"')
    assert answer.value == value


@pytest.mark.parametrize("prefix", ["", "\ufeff", "---\n", "\ufeff---\n", "# top\n--- # doc\n"])
@pytest.mark.parametrize("suffix", ["", "...\n", "# end\n"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_P05_marks_and_line_breaks_stay(prefix: str, suffix: str, line_break: str) -> None:
    """Byte order mark, CRLF, leading --- and trailing ... are kept as they came.

    They are used for what is added.
    """
    data = (
        (prefix + HEAD + ITEMS.replace("one", "é 😀") + suffix).replace("\n", line_break).encode()
    )
    assert call(data).out == data
    out = call(data, add).out
    assert out.count(b"\r\n") == (out.count(b"\n") if line_break == "\r\n" else 0)
    resources = krm.ResourceList.read(out)
    assert [item.kind for item in resources.items] == ["A", "B", "New"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("a: [", "line 2"),
        ("\tx: {", "line 1"),
        ("text", "is not a mapping"),
        ("- a\n", "is not a mapping"),
        ("kind: List\nitems: []\n", "ResourceList"),
        ("apiVersion: v2\nkind: ResourceList\n", "ResourceList"),
        (HEAD + "items: 3\n", "must be a list"),
        (HEAD + "items: []\nitems: []\n", "duplicate field"),
        (HEAD + ITEMS + "---\n" + HEAD, "second document"),
        (b"kind: \xff\n", "line 1, column 7"),
        ("kind: x".encode("utf-16"), "UTF-16"),
    ],
)
def test_P06_what_is_no_resource_list_is_refused(data: str | bytes, said: str) -> None:
    """Exit 1 and one line; stdout is the input where that is YAML, else empty."""
    answer = call(data)
    assert answer.code == 1
    assert said in answer.err
    assert answer.err.count("\n") == 1
    list(yaml.safe_load_all(answer.out))


def test_P09_unknown_fields_and_earlier_results_are_kept() -> None:
    """Ours come behind the earlier ones; every other byte of the document stays."""
    data = (
        HEAD
        + ITEMS
        + "# mine\nunknown: {a: 012}\nresults:\n- message: 'old' # first\n  extra: 1e3\nlast: x\n"
    )
    out = call(data, add).out.decode()
    new = '- apiVersion: v1\n  kind: New\n  metadata:\n    name: "on"\n'
    expected = data.replace("# mine\n", f"{new}# mine\n")
    assert out == expected.replace("last:", "- message: new\n  severity: warning\nlast:")


def test_P10_stray_prints_and_warnings_go_to_stderr() -> None:
    """stdout holds YAML and nothing else."""

    def chatty(_: krm.ResourceList) -> None:
        print("hello")  # noqa: T201 - what this is about
        sys.stdout.write("there")
        sys.stderr.write("careful")  # as a warning does

    answer = call(HEAD + ITEMS, chatty)
    assert answer.out.decode() == HEAD + ITEMS
    assert all(word in answer.err for word in ("hello", "there", "careful"))


def test_P11_our_own_failure_is_one_line() -> None:
    """Exit 70; with --debug there is a traceback before it."""
    answer = call(HEAD + ITEMS, lose)
    assert (answer.code, answer.err) == (
        70,
        "[error] internal error: LookupError: no way (--debug shows where) (internal)\n",
    )
    assert "Traceback" in call(HEAD + ITEMS, lose, "--debug").err


@pytest.mark.parametrize(
    "failure",
    [
        LookupError("x"),
        krm.InputError("x", 3, 4),
        krm.EditError("x"),
        krm.ConfigurationError("x"),
        RecursionError(),
    ],
)
def test_P12_every_failure_gives_the_items_as_they_came(failure: Exception) -> None:
    """Whatever was done to them until then; the failure is among the results."""

    def fail(resources: krm.ResourceList) -> None:
        resources.items.clear()
        raise failure

    answer = call(HEAD + ITEMS, fail)
    assert answer.out.decode().startswith(HEAD + ITEMS)
    assert answer.value["results"]
    assert answer.code == {
        krm.ConfigurationError: 3,
        krm.InputError: 1,
        krm.EditError: 1,
    }.get(type(failure), 70)


def test_P12_an_error_among_the_results_changes_no_item() -> None:
    """What a function did before it found an error is not written."""

    def fail(resources: krm.ResourceList) -> None:
        resources.items.clear()
        resources.results.append(Result(message="bad", severity=Severity.ERROR))

    answer = call(HEAD + ITEMS, fail)
    assert answer.code == 1
    assert answer.out.decode() == HEAD + ITEMS + "results:\n- message: bad\n  severity: error\n"


def test_R01_results_have_the_types_of_the_specification() -> None:
    """A severity always, an integer index, tags as strings."""
    result = Result(
        message="m",
        severity=Severity.INFO,
        resource_ref=ResourceRef(api_version="v1", kind="K", name="n"),
        file=File(path="a.yaml", document=2),
        rule="on",
    )
    answer = call(HEAD + "items: []\n", lambda resources: resources.results.append(result))
    assert answer.value["results"] == [
        {
            "message": "m",
            "severity": "info",
            "resourceRef": {"apiVersion": "v1", "kind": "K", "name": "n"},
            "file": {"path": "a.yaml", "index": 2},
            "tags": {"rule": "on"},
        }
    ]


@pytest.mark.parametrize(
    ("severity", "argv", "code"),
    [
        ("error", (), 1),
        ("warning", (), 0),
        ("warning", ("--strict",), 1),
        ("info", ("--strict",), 0),
    ],
)
def test_R02_severity_decides_the_exit_code(
    severity: str, argv: tuple[str, ...], code: int
) -> None:
    """Errors fail, warnings under --strict."""
    found = Result(message="m", severity=Severity(severity))
    assert call(HEAD, lambda resources: resources.results.append(found), *argv).code == code


def test_R03_warnings_are_on_stderr_when_asked_for() -> None:
    """kustomize sets LOG_TO_STDERR; errors are there always."""
    assert call(HEAD, add).err == ""
    assert call(HEAD, add, log=True).err == "[warning] new\n"
    assert call(HEAD, add, "--strict").err == "[warning] new\n"


def test_a_silent_list_prints_nothing() -> None:
    """As a validator of kustomize must."""

    def validate(resources: krm.ResourceList) -> None:
        resources.silent = True

    assert call(HEAD + ITEMS, validate).out == b""


def test_the_exec_plugin_protocol(tmp_path: Path) -> None:
    """A configuration file as argument, documents on stdin and on stdout.

    Nothing is on stdin for a generator.
    """
    config = tmp_path / "config.yaml"
    config.write_text("apiVersion: g/v1\nkind: C\nmetadata:\n  name: c\n")
    seen = []

    def process(resources: krm.ResourceList) -> None:
        seen.append(resources.function_config.kind if resources.function_config else "")
        add(resources)

    stdin = "kind: A # one\n---\n# about b\nkind: B\n"
    added = 'apiVersion: v1\nkind: New\nmetadata:\n  name: "on"\n'
    assert call(stdin, process, str(config)).out.decode() == f"{stdin}---\n{added}"
    assert call("", process, str(config)).out.decode() == added
    assert call(stdin, lose, str(config)).out.decode() == stdin
    assert call(stdin, process, str(tmp_path / "none.yaml")).code == 1
    assert seen == ["C", "C"]
