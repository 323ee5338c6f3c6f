"""Quantities: the grammar of Kubernetes, and the form in which it gives each back."""

import pytest

from krm_windows.policy import quantities
from krm_windows.policy.findings import RefusedError

# Left what is written, right what an API server leaves as it is (k8s.io/apimachinery,
# pkg/api/resource, quantity.go).
FORMS = {
    "0": "0",
    "0Ki": "0",
    "100m": "100m",
    "0.1": "100m",
    ".5": "500m",
    "1.": "1",
    "+1": "1",
    "1000m": "1",
    "1500m": "1500m",
    "2": "2",
    "1000": "1k",
    "1024": "1024",
    "64Mi": "64Mi",
    "1024Mi": "1Gi",
    "0.5Gi": "512Mi",
    "1.5Gi": "1536Mi",
    "512Ki": "512Ki",
    "64M": "64M",
    "1e3": "1k",
    "12E6": "12M",
    "128974848": "128974848",
    "129e6": "129M",
    "123Mi": "123Mi",
    "1Ei": "1Ei",
}


@pytest.mark.parametrize("text", FORMS)
def test_the_form_of_the_api_server(text: str) -> None:
    """What is emitted is in the form that the cluster gives back.

    Else admission policies would refuse what is ours.
    """
    assert str(quantities.read(text)) == FORMS[text]
    assert str(quantities.read(FORMS[text])) == FORMS[text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "m",
        "Mi",
        "-1",
        "1 Mi",
        "1mi",
        "1MB",
        "64mb",
        "1e",
        "1e999",
        "1,5",
        "0x10",
        "\N{ARABIC-INDIC DIGIT ONE}",
        "1Mi\n",
        "9" * 31,
        "10Ei",
    ],
)
def test_what_is_no_quantity(text: str) -> None:
    """It is refused, and never costs time."""
    with pytest.raises(RefusedError):
        quantities.read(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("5x", None),
    ],
)
def test_what_was_meant(text: str, meant: str | None) -> None:
    """Other programs write sizes in other ways."""
    with pytest.raises(RefusedError) as caught:
        quantities.size(text)
    assert [finding.proposed for finding in caught.value.findings] == [meant]


def test_a_size_is_whole_bytes() -> None:
    """`400m` is four tenths of a byte, which Kubernetes takes, and nobody means."""
    with pytest.raises(RefusedError, match=r'whole number of bytes.*did you mean "400Mi"'):
        quantities.size("400m")
    with pytest.raises(RefusedError, match="whole number of bytes") as refused:
        quantities.size("0.5")
    assert [finding.proposed for finding in refused.value.findings] == [None]
    assert str(quantities.size("0.5Ki")) == "512"


def test_a_processor_has_a_thousand_parts() -> None:
    """Kubernetes takes no finer ones (concepts, Resource units in Kubernetes)."""
    assert str(quantities.processors("0.001")) == "1m"
    with pytest.raises(RefusedError, match="thousandth"):
        quantities.processors("500u")


def test_what_no_suffix_divides_has_none() -> None:
    """1025 bytes, however they were written."""
    assert str(quantities.read("1.0009765625Ki")) == "1025"
