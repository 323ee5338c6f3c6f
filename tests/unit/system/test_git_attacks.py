"""Of a repository that means harm nothing runs, and nothing is fetched or written outside."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import hostile_checkout
import pytest
import runners
from past import Past

from krm_windows.system import git, git_program
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git import snapshot

FILE, LINK, TREE = "100644", "120000", "40000"


class Repository(Past):
    def blob(self, content: bytes = b"x\n") -> str:
        return self("hash-object", "-w", "--stdin", stdin=content)

    def tree(self, *listed: tuple[str, bytes, str]) -> str:
        raw = b"".join(
            mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in listed
        )
        return self("hash-object", "-t", "tree", "--literally", "-w", "--stdin", stdin=raw)

    def evil(self, tree: str, *parents: str) -> str:
        found = self("commit-tree", tree, "-m", "x", *(f"-p{parent}" for parent in parents))
        self("update-ref", "refs/heads/evil", found)
        return found

    def commit_all_of(self, name: str) -> None:
        (self.top / name).write_text(name)
        self.commit_all()

    def commit_all(self) -> None:
        self("add", "--all")
        self("commit", "--quiet", "--message", "x")


@pytest.fixture
def repository(tool: Callable[[str], Path], tmp_path: Path) -> Repository:
    return Repository(tool("git"), tmp_path / "repository")


def files(folder: Path) -> dict[str, str]:
    found = {}
    for path in folder.rglob("*"):
        if path.is_symlink():
            found[str(path.relative_to(folder))] = f"-> {path.readlink()}"
        elif path.is_file():
            found[str(path.relative_to(folder))] = path.read_text()
    return found


def was(repository: Repository, ref: str = "HEAD", below: str = ".", **most: int) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in most.items():
            patch.setattr(git, f"MOST_{name}".upper(), value)
        with snapshot(repository.top / below, ref) as folder:
            return files(folder)


def test_no_setting_of_the_repository_is_in_force(repository: Repository, tmp_path: Path) -> None:
    bare = repository.top / "clusters"
    for folder in (bare / "refs", bare / "objects", repository.top / "windows"):
        folder.mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "a.yaml").write_text("a\n")
    repository.commit_all()
    trace = tmp_path / "trace"
    with hostile_checkout.listening(tmp_path / "pipe") as pipe:
        hostile_checkout.trap(repository.top, pipe)
        for setting in (
            ("extensions.partialClone", "origin"),
            ("remote.origin.url", "ext::touch trace"),
            ("safe.directory", "*"),
            ("core.worktree", "/"),
            ("trace2.eventTarget", str(trace)),
        ):
            repository("config", *setting)
        (bare / "config").write_bytes((repository.top / ".git/config").read_bytes())
        # In a commit without the blob, Git would have asked the promisor for it.
        for below in (".", "clusters"):
            assert "a.yaml" in " ".join(was(repository, below=below))
        assert pipe.said() == set()
    assert not trace.exists()


@pytest.mark.parametrize("name", ["config", "shallow"])
def test_a_file_of_git_that_cannot_be_read(repository: Repository, name: str) -> None:
    (repository.top / "a.yaml").write_text("a\n")
    repository.commit_all()
    (repository.top / ".git/info/attributes").write_text("[this is none\n")
    assert was(repository) == {"a.yaml": "a\n"}
    (repository.top / ".git" / name).write_text("[this is none\n")
    with pytest.raises(WorkspaceError, match=r"repository: cannot be read: [^/]"):
        was(repository)


def test_nothing_of_the_callers_environment_reaches_git(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository.top / "a.yaml").write_text("a\n")
    repository.commit_all()
    for name in ("DIR", "WORK_TREE", "OBJECT_DIRECTORY", "COMMON_DIR", "INDEX_FILE"):
        monkeypatch.setenv(f"GIT_{name}", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_NAMESPACE", "other")
    monkeypatch.setenv("GIT_EXEC_PATH", str(tmp_path))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert was(repository) == {"a.yaml": "a\n"}
    assert not (tmp_path / "trace").exists()


def test_a_commit_is_fetched_by_no_program_of_the_repository(tmp_path: Path) -> None:
    remote, clone = tmp_path / "remote", tmp_path / "clone"
    remote.mkdir()
    runners.git(remote, "init", "--quiet")
    for message in ("old", "new"):
        runners.git(remote, "commit", "--quiet", "--allow-empty", f"--message={message}")
    new = runners.git(remote, "rev-parse", "HEAD").strip()
    runners.git(remote, "reset", "--quiet", "--hard", "HEAD~1")
    runners.git(remote, "config", "uploadpack.allowAnySHA1InWant", "true")
    runners.git(tmp_path, "clone", "--quiet", str(remote), str(clone))
    (clone / "windows").mkdir()
    with hostile_checkout.listening(tmp_path / "pipe") as pipe:
        hostile_checkout.trap(clone, pipe)
        git_program.fetch_commit(clone, "origin", new)
        with pytest.raises(WorkspaceError, match="cannot be fetched"):
            git_program.fetch_commit(clone, "promised", "1" * 40)
        assert pipe.said() == set()
    assert runners.git(clone, "cat-file", "-t", new) == "commit\n"


def test_nothing_is_fetched(repository: Repository) -> None:
    repository.evil(repository.tree((FILE, b"a.yaml", "12" * 20)))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)  # noqa: FBT003 - its only argument
        address = f"git://127.0.0.1:{server.getsockname()[1]}/x"
        repository("config", "remote.origin.url", address)
        repository("config", "remote.origin.promisor", "true")
        repository("config", "extensions.partialClone", "origin")
        with pytest.raises(
            WorkspaceError,
            match=r"'a\.yaml' of the commit has no content in this clone, and nothing is fetched",
        ):
            was(repository, "evil")
        with pytest.raises(BlockingIOError):
            server.accept()


def test_replacements_and_grafts_are_not_followed(repository: Repository) -> None:
    (repository.top / "a.yaml").write_text("a\n")
    repository.commit_all()
    repository("replace", repository("rev-parse", "HEAD:a.yaml"), repository.blob(b"other\n"))
    assert repository("show", "HEAD:a.yaml") == "other"
    assert was(repository) == {"a.yaml": "a\n"}
    (repository.top / "a.yaml").write_text("b\n")
    repository.commit_all()
    graft = f"{repository('rev-parse', 'HEAD')}\n"
    (repository.top / ".git/info/grafts").write_text(graft)
    with pytest.raises(WorkspaceError, match="has grafts"):
        was(repository, "HEAD~1")


@pytest.mark.parametrize(
    ("ref", "content"), [("main", "2\n"), ("v1", "2\n"), ("HEAD@{1}", "1\n"), ("main~1^0", "1\n")]
)
def test_commits_are_named_as_git_names_them(
    repository: Repository, ref: str, content: str
) -> None:
    repository("symbolic-ref", "HEAD", "refs/heads/main")
    for number in (1, 2):
        (repository.top / "a.yaml").write_text(f"{number}\n")
        repository.commit_all()
    repository("tag", "-a", "v1", "-m", "x")
    repository("pack-refs", "--all")
    assert was(repository, ref) == {"a.yaml": content}


@pytest.mark.parametrize(
    "ref", ["", "HEAD:a.yaml", "HEAD:", "--output=/tmp/x", "-h", "a\nb", "x" * 5000, "HEAD..HEAD"]
)
def test_what_names_no_commit(repository: Repository, ref: str) -> None:
    (repository.top / "a.yaml").write_text("a\n")
    repository.commit_all()
    with pytest.raises(WorkspaceError, match="is not a commit"):
        was(repository, ref)


NAMES = [
    b"..",
    b".",
    b"../x",
    b"/x",
    b"a//b",
    b".git",
    b".GIT",
    b"git~1",
    b".git ",
    b".git . .",
    b".git::$INDEX_ALLOCATION",
    b".git/config",
    b"a\\b",
    b"n" * 256,
    b"d/" * 101 + b"x",
]


@pytest.mark.parametrize("mode", [FILE, LINK, TREE])
@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:30]))
def test_no_entry_leads_outside(
    repository: Repository, tmp_path: Path, name: bytes, mode: str
) -> None:
    inner = (
        repository.blob(b"/tmp")
        if mode != TREE
        else repository.tree((FILE, b"x", repository.blob()))
    )
    repository.evil(repository.tree((mode, name, inner)))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(WorkspaceError, match=r"the entry '|the tree .* is damaged"):
        was(repository, "evil")
    assert sorted(tmp_path.rglob("*")) == before


def test_no_path_is_there_twice_or_below_another(repository: Repository, tmp_path: Path) -> None:
    """One would hide the other; also where the entries stand apart, in whichever order."""
    outside = tmp_path / "outside"
    outside.mkdir()
    link, blob = repository.blob(os.fsencode(outside)), repository.blob()
    below, beside = (TREE, b"a", repository.tree((FILE, b"x", blob))), (FILE, b"a/x", blob)
    pairs = [(below, below), (below, beside)]
    for first in ((LINK, b"a", link), (FILE, b"a", blob)):
        pairs += [(first, first), (first, below), (below, first), (first, beside), (beside, first)]
    for pair in pairs:
        repository.evil(repository.tree(*pair))
        with pytest.raises(WorkspaceError, match="is damaged"):
            was(repository, "evil")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("mode", ["060000", "020000", "010000", "140000"])
def test_devices_and_pipes_are_no_entries(repository: Repository, mode: str) -> None:
    repository.evil(repository.tree((mode, b"a", repository.blob())))
    with pytest.raises(WorkspaceError, match="neither a file nor a link"):
        was(repository, "evil")


@pytest.mark.slow
def test_a_tree_of_millions_is_refused(repository: Repository) -> None:
    tree = repository.tree(*((FILE, b"f%d" % number, repository.blob()) for number in range(10)))
    for _ in range(9):
        tree = repository.tree(*((TREE, b"d%d" % number, tree) for number in range(10)))
    other = repository.evil(repository.tree())
    repository.evil(tree, other)
    with pytest.raises(WorkspaceError, match="too many files"):
        was(repository, "evil", entries=1000)
    # Git itself would take all memory to compare it.
    with pytest.raises(WorkspaceError, match="too many files"):
        git.changed(repository.top, other, "evil")
    with (
        pytest.raises(WorkspaceError, match="too many files"),
        git.merged(repository.top, "evil", "evil"),
    ):
        pass
    repository.evil(
        repository.tree(*((FILE, b"f%d" % number, repository.blob()) for number in range(10)))
    )
    with pytest.raises(WorkspaceError, match="too many files"):
        was(repository, "evil", entries=9)
    with pytest.raises(WorkspaceError, match="'f0' of the commit has 2 bytes; at most 1"):
        was(repository, "evil", in_file=1)
    with pytest.raises(WorkspaceError, match="more than 19 bytes of files"):
        was(repository, "evil", in_all=19)
    assert len(was(repository, "evil", entries=10, in_file=2, in_all=20)) == 10


LINKS = {
    "inside": ("d/to", "../a", True),
    "up": ("to", "..", False),
    "up from deep": ("d/to", "../../x", False),
    "absolute": ("to", "/etc/passwd", False),
    "through nothing and up": ("to", "missing/../../x", False),
    "itself": ("to", "to", True),
    "empty": ("to", "", False),
    "a NUL": ("to", "a\0b", False),
}


@pytest.mark.parametrize(("path", "target", "kept"), LINKS.values(), ids=LINKS)
def test_a_link_that_leads_outside_is_not_there(
    repository: Repository, path: str, target: str, *, kept: bool
) -> None:
    repository("config", "core.symlinks", "true")
    *above, name = path.split("/")
    link = (LINK, name.encode(), repository.blob(target.encode()))
    tree = repository.tree(link, (FILE, b"z", repository.blob()))
    for folder in above:
        tree = repository.tree((TREE, folder.encode(), tree))
    repository.evil(tree)
    assert was(repository, "evil").get(path) == (f"-> {target}" if kept else None)


def test_a_link_through_links_that_leads_outside(repository: Repository) -> None:
    links = {"p/q/d": "../..", "p/q/e": "d/..", "p/q/f": "e/etc", "p/q/g": "d/p"}
    for path, target in links.items():
        place = repository.top / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
    repository.commit_all()
    assert sorted(was(repository)) == ["p/q/d", "p/q/g"]


@pytest.mark.parametrize("way", ["worktree", "submodule", "separate", "link"])
def test_repositories_of_every_layout(
    tool: Callable[[str], Path], tmp_path: Path, way: str
) -> None:
    options = [f"--separate-git-dir={tmp_path / 'gitdir'}"] if way == "separate" else []
    source = Repository(tool("git"), tmp_path / "source", *options)
    (source.top / "d").mkdir()
    (source.top / "d/a.yaml").write_text("a\n")
    source.commit_all()
    place = source.top / "d"
    if way == "worktree":
        source("worktree", "add", "--quiet", str(tmp_path / "tree"), "-b", "other")
        place = tmp_path / "tree/d"
    if way == "submodule":
        outer = Repository(tool("git"), tmp_path / "outer")
        add = ("submodule", "--quiet", "add", str(source.top), "sub")
        outer("-c", "protocol.file.allow=always", *add)
        place = outer.top / "sub/d"
    if way == "link":
        place = tmp_path / "link"
        place.symlink_to(source.top / "d")
    (place / "a.yaml").write_text("changed\n")
    with snapshot(place, "HEAD") as folder:
        assert files(folder) == {"a.yaml": "a\n"}


def test_a_directory_that_is_new_or_was_a_file(repository: Repository) -> None:
    (repository.top / "a tree").write_text("a\n")
    repository.commit_all()
    (repository.top / "a tree").unlink()
    for name in ("a tree", "new tree", "new"):
        (repository.top / name).mkdir()
        assert was(repository, below=name) == {}


ELSEWHERE = {
    "alternates": "uses objects of another repository",
    "objects": "is a symbolic link",
    "pack": "is a symbolic link",
    "object": "is a symbolic link",
    "git": "must be a directory or a file",
    "pipe": "is not a regular file",
    "gitfile": "must contain the path of a git directory",
    "nowhere": "which is not a directory",
}


@pytest.mark.parametrize(("what", "words"), ELSEWHERE.items(), ids=ELSEWHERE)
def test_objects_that_lie_elsewhere_are_not_read(
    repository: Repository, tool: Callable[[str], Path], what: str, words: str
) -> None:
    (repository.top / "a.yaml").write_text("secret\n")
    repository.commit_all()
    commit = repository("rev-parse", "HEAD")
    evil = Repository(tool("git"), repository.top.parent / "evil")
    theirs, ours = evil.top / ".git/objects", repository.top / ".git/objects"
    match what:
        case "alternates":
            (theirs / "info/alternates").write_text(f"{ours}\n")
        case "objects":
            theirs.rename(theirs.with_name("old"))
            theirs.symlink_to(ours)
        case "pack":
            (theirs / "pack").rmdir()
            (theirs / "pack").symlink_to(ours / "pack")
        case "object":
            (theirs / commit[:2]).mkdir()
            (theirs / commit[:2] / commit[2:]).symlink_to(ours / commit[:2] / commit[2:])
        case "pipe":
            os.mkfifo(theirs / "pack/pack-1.idx")
        case _:
            (evil.top / ".git").rename(evil.top / "old")
            if what == "git":
                (evil.top / ".git").symlink_to(repository.top / ".git")
            else:
                (evil.top / ".git").write_text(
                    "gitdir: /nowhere\n" if what == "nowhere" else "x" * 9
                )
    with pytest.raises(WorkspaceError, match=words):
        was(evil, commit)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file to another user")
def test_the_repository_of_another_user(repository: Repository, tmp_path: Path) -> None:
    """Refused as Git does, unless safe.directory of the user names it."""
    (repository.top / "a.yaml").write_text("a\n")
    repository.commit_all()
    repository("config", "safe.directory", "*")
    os.chown(repository.top / ".git", 1234, 1234)
    program = (
        "import sys; from pathlib import Path; from krm_windows.system import git\n"
        "with git.snapshot(Path(sys.argv[1]), 'HEAD') as was: print((was / 'a.yaml').read_text())"
    )
    for value, trusted in {str(repository.top): True, "/x": False}.items():
        (tmp_path / ".gitconfig").write_text(f"[safe]\n\tdirectory = {value}\n")
        done = subprocess.run(
            [sys.executable, "-c", program, repository.top],
            env={**os.environ, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stdout == "a\n\n") == trusted
        assert ("belongs to another user" in done.stderr) != trusted


def test_what_libgit2_does_not_read(repository: Repository) -> None:
    repository.commit_all_of("a.yaml")
    repository("config", "core.repositoryFormatVersion", "1")
    for extension, value, words in (
        ("refStorage", "reftable", "git refs migrate --ref-format=files"),
        ("objectFormat", "sha256", "convert it to SHA-1"),
        ("other", "x", "an extension that libgit2 does not read"),
    ):
        config = ["git", "config", "--file", repository.top / ".git/config"]
        subprocess.run([*config, f"extensions.{extension}", value], check=True)
        with pytest.raises(WorkspaceError, match=words):
            was(repository)
        subprocess.run([*config, "--unset", f"extensions.{extension}"], check=True)
    assert was(repository) == {"a.yaml": "a.yaml"}


def test_what_is_packed_to_be_large_is_not_unpacked(repository: Repository) -> None:
    name = repository.blob(b"0" * 5_000_000)
    repository.evil(repository.tree((FILE, b"a", name)))
    assert sum(file.stat().st_size for file in (repository.top / ".git").rglob("*/*")) < 1_000_000
    with pytest.raises(WorkspaceError, match="has 5000000 bytes; at most 4999999 are read"):
        was(repository, "evil", in_file=4_999_999)


def test_a_pipe_in_place_of_a_ref(repository: Repository) -> None:
    """Whoever opened it would wait for ever."""
    repository.commit_all_of("a.yaml")
    os.mkfifo(repository.top / ".git/refs/heads/pipe")
    with pytest.raises(WorkspaceError, match="is not a regular file"):
        was(repository)
