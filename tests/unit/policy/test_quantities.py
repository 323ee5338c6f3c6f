"""Quantities: the one form in which Kubernetes gives each back."""

import pytest

from krm_windows.policy import quantities
from krm_windows.policy.findings import RefusedError


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [
        ("0", 0),
        ("100m", 100),
        ("1", 1000),
        ("1500m", 1500),
        ("2k", 2 * 1000**2),
        ("1024", 1024 * 1000),
        ("64Mi", 64 * 1024**2 * 1000),
        ("1536Mi", 1536 * 1024**2 * 1000),
        ("64M", 64 * 1000**3),
        ("3Ti", 3 * 1024**4 * 1000),
    ],
)
def test_the_form_of_the_api_server(text: str, thousandths: int) -> None:
    """What an API server leaves as it is (k8s.io/apimachinery, pkg/api/resource, quantity.go)."""
    assert quantities.read(text) == (text, thousandths)
    assert str(quantities.read(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "m", "Mi", "-1", "+1", "1 Mi", "1mi", "1MB", "64mb", "1e", "1e3", "1,5", "0x10"),
        *("\N{ARABIC-INDIC DIGIT ONE}", "1Mi\n", "9" * 16, "5x", "012"),
        # The API server would write each of these in another way.
        *("1000m", "1000", "1024Mi", "0Ki", "0m", "0.5", "1.5Gi", ".5", "1."),
    ],
)
def test_what_is_no_quantity(text: str) -> None:
    """It is refused, and never costs time."""
    with pytest.raises(RefusedError, match="must be a Kubernetes quantity"):
        quantities.read(text)


def test_a_size_is_whole_bytes() -> None:
    """`400m` is four tenths of a byte, which Kubernetes takes, and nobody means."""
    with pytest.raises(RefusedError, match=r'number of bytes.*did you mean "400Mi"'):
        quantities.size("400m")
    assert str(quantities.size("64Mi")) == "64Mi"
