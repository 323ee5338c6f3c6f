"""What scripts come to, as a shell says; and what reading them costs."""

import os
import shutil
import subprocess

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from work import growth

from krm_windows.migrate import shell
from krm_windows.migrate.shell import ShellError

# Each command says its words instead of running.
SAID = """\
flux() { for word in "$@"; do printf '<%s>' "$word"; done; echo; }
"""
SCRIPTS = (
    "flux suspend ks a && flux suspend ks b; flux suspend ks 'c d'",
    "for x in a b; do flux $x; done",
    'for x in a b\ndo\n  # each\n  flux "$x" ${x}y\ndone\nflux end',
    'for x in $NAMES c; do flux "$NAMES" $NAMES $x; done',
    'flux $SPACED "$SPACED" z$PLAIN"y z"$PLAIN "$PLAIN y"',
    "flux -n ${PLAIN} \"\" ''",
    "flux a || exit 1\nflux b",
    "for x in a; do\n\n flux $x;\n\ndone; flux \\\n b",
    "for x in a; do flux suspend ks $x; done && flux suspend ks b",
    "flux a;flux b # c; flux d; exit 0",
    "set -e\nflux suspend ks a # the first\n\n# and the second\nflux suspend \\\n  ks b",
    "flux suspend ks a || true\nflux suspend ks b 2>&1",
    "flux suspend ks \"a\" && \\\n flux suspend ks 'b'; exit 0",
)
ENVIRONMENT = {"NAMES": "a b", "PLAIN": "c", "SPACED": " a  b "}


def said(script: str) -> list[str]:
    program = shutil.which("sh") or pytest.fail("there is no sh")
    command, env = [program, "-c", SAID + script], {**os.environ, **ENVIRONMENT}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    return done.stdout.splitlines()


def read(script: str) -> list[str]:
    commands = [each.words for each in shell.split(script, ENVIRONMENT)]
    return ["".join(f"<{word}>" for word in words[1:]) for words in commands if words[0] == "flux"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_comes_to_what_a_shell_runs(script: str) -> None:
    assert read(script) == said(script)
    assert not any(command.expands for command in shell.split(script, ENVIRONMENT))


PARTS = ("for x in ", "a ", "b ", "; ", "\n", "do ", "done", "$x ", '"$y" ', "flux ", "$NAMES ")


@settings(max_examples=examples(40))
@given(st.lists(st.sampled_from(PARTS), max_size=12), st.lists(st.sampled_from(PARTS), max_size=4))
def test_no_script_comes_to_something_else(before: list[str], inside: list[str]) -> None:
    """What is read is what a shell runs; all else is refused, or said to be known to it only."""
    script = "".join([*before, "\nfor x in a b; do ", *inside, "; done"])
    try:
        commands = shell.split(script, ENVIRONMENT)
    except ShellError:
        return
    if not any(command.expands for command in commands) and {
        each.words[0] for each in commands
    } == {"flux"}:
        assert read(script) == said(script)


@pytest.mark.parametrize(
    "script",
    [
        "flux suspend ks $(cat names)",
        "flux get ks | grep apps",
        "flux suspend ks a &",
        "(flux suspend ks a)",
        "cat <<EOF\nEOF",
        "x=`date`",
        "echo 'open",
        "while true; do flux suspend ks a; done",
        "case $x in a) flux suspend ks a;; esac",
        "f() { flux suspend ks a; }; f",
        "for x in $NAMES; do flux suspend ks $x; done",
        "for x in a; do flux suspend ks $x",
        "flux a; done",
        "export KUBECONFIG=/other; flux suspend ks a",
        "eval flux suspend ks a",
        "false || for x in a; do flux suspend ks $x; done",
        "for x in a; do for y in b; do flux suspend ks $x$y; done; done",
        "exit 0; flux suspend ks a",
        "NAMES=a; flux suspend ks $NAMES",
        "set -e; set +e; flux suspend ks a",
    ],
)
def test_a_shell_that_is_more_is_refused(script: str) -> None:
    with pytest.raises(ShellError, match="`"):
        shell.split(script)


def test_a_word_that_only_the_shell_knows_says_so() -> None:
    for word in ("$A", '"$A"', "a*", "${A:-b}", "'$B'", "\\$B", "x$B", "$C", "$1"):
        assert shell.split(f"flux {word}", {"B": "b c", "C": "*"})[-1].expands, word
    assert not shell.split("flux $A", {"A": "b"})[0].expands


HOSTILE = (
    "for x in a; do b\n",
    "for x in ",
    "'a'\"b\"\\c$d ",
    "\"a\\\"'b'",
    "for x in a;\n\n\n\n",
    "{a,b}{a,b}",
    "$(a ",
    "cat <<E\n",
    "kubectl patch ",
)


@pytest.mark.parametrize("part", HOSTILE)
def test_a_script_costs_its_length(part: str) -> None:
    def read(size: int) -> None:
        try:
            shell.split(part * (size // len(part)))
        except ShellError:
            return

    assert growth(read, 3000) < 2.5


def test_a_loop_is_written_out_within_bounds() -> None:
    with pytest.raises(ShellError, match="a loop"):
        shell.split(f"for x in {'a ' * 1000}; do {'echo $x;' * 1000} done")
    with pytest.raises(ShellError, match="characters"):
        shell.split("a " * 100_000)
