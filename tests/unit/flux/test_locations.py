"""Where an object was written: the file, the document in it, and its number there."""

from dataclasses import replace

import pytest
from flux_texts import Write, config_map

from krm_windows.flux.locations import Locator
from krm_windows.flux.model import Object
from krm_windows.flux.objects import written
from krm_windows.inventory import ORIGIN
from krm_windows.krm import KubeObject

FILE = "apps/a.yaml"
BUILT = """\
apiVersion: v1
kind: {kind}
metadata:
  name: {name}
  annotations: {{{note}: 'path: a.yaml'}}
"""


def built(name: str, kind: str = "ConfigMap") -> Object:
    text = BUILT.format(kind=kind, name=name, note=ORIGIN)
    return Object.of(KubeObject.parse(text.encode()), directory="apps")


def test_documents_are_counted(write: Write) -> None:
    text = f"# Ours.\n---\n{config_map('a')}{config_map('b')}# Nothing.\n---\n{config_map('c')}"
    locator = Locator(write({FILE: text}))
    for number, each in enumerate(written(text.encode(), FILE)):
        found = locator.locate(each)
        assert found.document is not None
        assert (found.file, found.document.name) == (FILE, each.name)
        assert found.number == number


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (built("web"), "web"),
        # With a prefix and a suffix.
        (built("north-web-1"), "web"),
        # Renamed by a patch: the first of its kind.
        (built("other"), "api"),
        (built("web", "Secret"), None),
    ],
)
def test_the_nearest_is_found(write: Write, item: Object, name: str | None) -> None:
    text = config_map("api") + config_map("web") + config_map("web-2")
    document = Locator(write({FILE: text})).locate(item).document
    assert (document.name if document else None) == name


def test_the_line_decides_between_equal_names(write: Write) -> None:
    text = config_map("web", "north") + config_map("web", "south")
    locator = Locator(write({FILE: text}))
    north, south = written(text.encode(), FILE)
    found = [locator.locate(each).document for each in (north, south, replace(south, file=""))]
    assert [each.namespace for each in found if each] == ["north", "south"]
