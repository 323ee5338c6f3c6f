"""The checks of `make check` that guard what is pinned: each finds what it is there to find."""

import shutil
from collections.abc import Callable
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from checks import pins, requirements
from packaging.requirements import InvalidRequirement
from releases import ROOT
from supply import licences, packages

HASH = "a" * 64


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files that pin, which the checks are pointed at."""
    for name in ("constraints.txt", "pyproject.toml", "versions.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    monkeypatch.setattr(requirements, "ROOT", tmp_path)
    monkeypatch.setattr(requirements.requirements, "ROOT", tmp_path)
    return tmp_path


def test_the_files_are_in_order(copied: Path) -> None:
    """Nothing is found in what is committed."""
    assert copied
    assert list(requirements.problems()) == []


def edited(path: Path, edit: Callable[[str], str]) -> None:
    """Change a file, and see to it that it is changed."""
    text = path.read_text()
    path.write_text(edit(text))
    assert path.read_text() != text


@pytest.mark.parametrize(
    ("name", "edit", "said"),
    [
        ("image", lambda text: text.replace("rich==15", "rich==14", 1), "in constraints.txt"),
        (
            "image",
            lambda text: text.replace("rich==", "rich>=", 1),
            "is not pinned to one version",
        ),
        ("image", lambda text: text.replace("tzdata==2026", "tzdata==2024", 1), "wants tzdata"),
        (
            "image",
            lambda text: text + f"krm-windows==0.1.0 --hash=sha256:{HASH}\n",
            "which nothing needs",
        ),
        ("image", lambda text: text[: text.rindex("tzdata==")], "lacks tzdata"),
        ("image", lambda text: text + "six==1.17.0\n", "has no hashes"),
        ("image", lambda text: text + f"six==1.17.0 --hash=md5:{HASH[:32]}\n", "has no hashes"),
        (
            "image",
            lambda text: "--index-url https://index.example/simple\n" + text,
            "requirements/image.txt: ",
        ),
        (
            "image",
            lambda text: "--extra-index-url https://index.example/simple\n" + text,
            "requirements/image.txt: ",
        ),
        ("image", lambda text: "--trusted-host index.example\n" + text, "requirements/image.txt: "),
        (
            "build",
            lambda text: text.replace("hatchling==", "hatchling==9.", 1),
            "in constraints.txt",
        ),
        (
            "build",
            lambda text: text[: text.rindex("trove-classifiers==")],
            "lacks trove-classifiers",
        ),
        ("tools", lambda text: text.replace("pip-audit==", "pip-audit==9.", 1), "wants pip-audit"),
    ],
)
def test_what_is_not_pinned_is_found(
    name: str, edit: Callable[[str], str], said: str, copied: Path
) -> None:
    """A version, a range, an option, a package too many or too few, no hash or a weak one."""
    edited(copied / f"requirements/{name}.txt", edit)
    assert any(said in problem for problem in requirements.problems())


def test_an_option_is_no_requirement() -> None:
    """A file cannot bring an index of its own."""
    with pytest.raises(InvalidRequirement):
        list(requirements.entries("--index-url https://index.example/simple\n"))


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR BSD-2-Clause", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND PSF-2.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only", False),
        ("AGPL-3.0-or-later", False),
        ("LGPL-3.0-or-later", False),
        ("(MIT OR GPL-3.0-only) AND GPL-2.0-only", False),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("LicenseRef-Proprietary", False),
        ("", False),
    ],
)
def test_a_licence_is_on_the_list_or_refused(
    expression: str,
    is_allowed: bool,  # noqa: FBT001 - a table
) -> None:
    """One of the choices must be allowed, with all its parts.

    What is not understood is not allowed.
    """
    assert packages.is_allowed(expression, packages.PERMISSIVE) is is_allowed


@pytest.mark.parametrize(
    "text", ["", "License: see file\n", "Classifier: License :: Other/Proprietary License\n"]
)
def test_an_unknown_licence_is_not_guessed(text: str, tmp_path: Path) -> None:
    """What a package does not say has to be looked up by somebody."""
    folder = tmp_path / "some-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: some\nVersion: 1.0\n{text}")
    with pytest.raises(packages.UnknownLicenceError):
        packages.licence(Distribution.at(folder))


def test_the_page_of_licences_is_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Out of date is a problem."""
    assert list(licences.problems()) == []
    monkeypatch.setattr(licences, "ROOT", tmp_path)
    monkeypatch.setattr(licences, "PAGE", tmp_path / "licences.md")
    licences.PAGE.write_text(licences.page().replace("MIT", "ISC"))
    assert list(licences.problems()) == ["licences.md is out of date: make generate"]


def test_pins_agree() -> None:
    """Images, modules and versions that are repeated say what versions.toml says."""
    assert list(pins.problems()) == []
