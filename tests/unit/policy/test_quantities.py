"""Quantities: the grammar of Kubernetes, and the form in which it gives each back."""

import pytest

from krm_windows.policy import quantities
from krm_windows.policy.findings import RefusedError

# Left what is written, right what an API server leaves as it is (k8s.io/apimachinery,
# pkg/api/resource, quantity.go).
FORMS = {
    "0Ki": "0",
    "100m": "100m",
    ".5": "500m",
    "1.": "1",
    "+1": "1",
    "1500m": "1500m",
    "1000": "1k",
    "1024": "1024",
    "1024Mi": "1Gi",
    "0.5Gi": "512Mi",
    "1.5Gi": "1536Mi",
    "1Ki": "1Ki",
    "64M": "64M",
    "1e3": "1k",
    "12E6": "12M",
    "128974848": "128974848",
    "1Ei": "1Ei",
    # What no suffix divides has none.
    "1.0009765625Ki": "1025",
}


@pytest.mark.parametrize("text", FORMS)
def test_the_form_of_the_api_server(text: str) -> None:
    """In any other form admission policies would refuse what is ours."""
    assert str(quantities.read(text)) == FORMS[text]
    assert str(quantities.read(FORMS[text])) == FORMS[text]


UNITS = ["", "m", "Mi", "-1", "1 Mi", "1mi", "1MB", "1e", "1e999", "1,5", "0x10", "1Mi\n"]


@pytest.mark.parametrize("text", [*UNITS, "\N{ARABIC-INDIC DIGIT ONE}", "0" * 31, "10Ei"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(RefusedError):
        quantities.read(text)


@pytest.mark.parametrize(
    ("text", "words", "meant"),
    [
        # Four tenths of a byte, which Kubernetes takes, and nobody means.
        ("400m", r'whole number of bytes.*did you mean "400Mi"', "400Mi"),
        ("0.5", "whole number of bytes", None),
        ("5x", "must be a Kubernetes quantity", None),
    ],
)
def test_a_size_is_whole_bytes(text: str, words: str, meant: str | None) -> None:
    with pytest.raises(RefusedError, match=words) as refused:
        quantities.size(text)
    assert [finding.proposed for finding in refused.value.findings] == [meant]
    assert str(quantities.size("0.5Ki")) == "512"


def test_a_processor_has_a_thousand_parts() -> None:
    """Kubernetes takes no finer ones (concepts, Resource units in Kubernetes)."""
    assert str(quantities.processors("0.001")) == "1m"
    with pytest.raises(RefusedError, match="thousandth"):
        quantities.processors("500u")
