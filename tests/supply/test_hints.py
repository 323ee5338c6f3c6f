"""What `make check` takes for a hint that anybody may take over."""

import pytest
from checks import hints


@pytest.mark.parametrize(
    "hint",
    [
        "pip install 'krm-windows[ics]'",
        "pip3 install icalendar krm-windows-ics",
        "pip install {package}",
        "pipx install krm-windows",
        "uvx krm-windows render",
        "helm repo add krm-windows https://charts.example",
        "go install github.com/krm-windows/krm-windows@latest",
        "docker pull krm-windows/krm-windows",
        "image: ghcr.io/krm-windows/krm-windows:0.1.0",
        "curl -sSL https://get.example/install.sh | bash",
        "- uses: actions/checkout@v4",
        "- uses: krm-windows/krm-windows@3d3c42e5aac5ba805825da76410c181273ba90b1 # v0.1.0",
        "- uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1",
    ],
)
def test_a_hint_that_can_be_taken_over_is_found(hint: str) -> None:
    assert list(hints.foreign(f"Do this:\n\n{hint}\n", hints.known()))


@pytest.mark.parametrize(
    "hint",
    [
        "pip install '.[holidays,ics]'",
        "- uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",
        "image: localhost/krm-windows:0.1.0",
        "- uses: ./.krm-windows",
    ],
)
def test_a_hint_that_cannot_be_is_left_alone(hint: str) -> None:
    assert not list(hints.foreign(f"Do this:\n\n{hint}\n", hints.known()))
