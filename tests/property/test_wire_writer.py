"""Laws of the writer: every reader takes what it writes for the same value."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from yaml_strategies import LOOKALIKES, values

from krm_windows import krm
from krm_windows.krm import layout, writer


def own(text: str) -> krm.Value:
    return krm.value(layout.read(text))


def old(text: str) -> Any:  # noqa: ANN401 - PyYAML's answer may be anything
    return yaml.load(text, Loader=yaml.CSafeLoader)


@given(values)
def test_block_style_is_read_back(value: krm.Value) -> None:
    text = krm.render(value)
    assert (repr(own(text)), repr(old(text))) == (repr(value), repr(value))


@given(values)
def test_flow_style_is_read_back(value: krm.Value) -> None:
    text = writer.flow(value)
    assert (repr(own(text)), repr(old(text))) == (repr(value), repr(value))
    if "inf" not in text and "nan" not in text:
        assert repr(json.loads(text)) == repr(value)


@pytest.mark.parametrize("text", LOOKALIKES)
def test_T02_what_readers_disagree_about_stays_a_string(text: str) -> None:
    value = {text: [text, {text: text}], "other": text}
    assert own(krm.render(value)) == old(krm.render(value)) == value


@given(values)
def test_P13_there_are_no_anchors_aliases_or_tags(value: krm.Value) -> None:
    for event in layout.events(krm.render({"one": value, "two": value})):
        assert not isinstance(event, yaml.AliasEvent)
        assert getattr(event, "anchor", None) is None
        assert getattr(event, "tag", None) is None
