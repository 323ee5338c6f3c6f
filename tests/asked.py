"""A page of the service as a browser without scripts gets it, and what it sends."""

from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

Client = Any
FORM = "application/x-www-form-urlencoded"


@dataclass
class Page(HTMLParser):
    def __init__(self, answer: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.status = answer.status
        self.headers = answer.headers
        self.source = answer.body.decode()
        self.texts: list[str] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        # Where a line may break, no text ends.
        self.feed(self.source.replace("<wbr>", ""))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: text or "" for name, text in attrs}
        self.tags.append((tag, found))
        if tag == "a":
            self.links.append(found.get("href", ""))

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(" ".join(data.split()))

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    @property
    def fields(self) -> dict[str, str]:
        """What a browser sends: of boxes and choices those that are ticked."""
        sent: dict[str, str] = {}
        select = ""
        for tag, found in self.tags:
            is_choice = found.get("type") in ("checkbox", "radio")
            if tag == "input" and "name" in found and (not is_choice or "checked" in found):
                sent[found["name"]] = found.get("value", "")
            select = found["name"] if tag == "select" else select
            # The first one, where none is chosen.
            if tag == "option" and select and (select not in sent or "selected" in found):
                sent[select] = found.get("value", "")
        return sent


def get(client: Client, target: str) -> Page:
    return Page(client.ask("GET", target))


def send(client: Client, target: str, fields: dict[str, str]) -> Page:
    return Page(client.ask("POST", target, urlencode(fields).encode(), content_type=FORM))
