"""The pages for readers: the index has every one, and no link leads nowhere."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
MARKDOWN = MarkdownIt("commonmark").enable("table")


def committed() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = [ROOT / path for path in listed.stdout.splitlines()]
    other = {"fixtures", "templates"}
    return [path for path in found if path.is_file() and not other & set(path.parts)]


PAGES = committed()


def tokens(page: Path) -> Iterator[Token]:
    for token in MARKDOWN.parse(page.read_text()):
        yield token
        yield from token.children or ()


def links(page: Path) -> Iterator[str]:
    for token in tokens(page):
        target = token.attrGet("href") or token.attrGet("src")
        if target is not None:
            yield str(target)
        # A picture for a phone beside that for a desk, which Markdown has no form for.
        if token.type in ("html_block", "html_inline"):
            yield from re.findall(r'(?:src|srcset|href)="([^"]+)"', token.content)


@cache
def anchors(page: Path) -> set[str]:
    found: Counter[str] = Counter()
    names = set()
    parsed = MARKDOWN.parse(page.read_text())
    for token, inline in pairwise(parsed):
        if token.type == "heading_open":
            text = "".join(each.content for each in inline.children or ())
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            names.add(f"{slug}-{found[slug]}" if found[slug] else slug)
            found[slug] += 1
    return names


def test_no_link_is_dead() -> None:
    for page, link in ((each, link) for each in PAGES for link in links(each)):
        parts = urlsplit(link)
        if parts.scheme in ("http", "https", "mailto"):
            is_local = parts.hostname in ("localhost", "127.0.0.1")
            assert parts.scheme != "http" or is_local, (page, link)
            continue
        path = unquote(parts.path)
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), (page, link)
        assert found.is_relative_to(ROOT), (page, link)
        if parts.fragment and found.suffix == ".md":
            assert parts.fragment in anchors(found), (page, link)


def test_every_block_of_yaml_and_json_can_be_read() -> None:
    for page, token in ((each, token) for each in PAGES for token in tokens(each)):
        if token.type == "fence" and token.info == "yaml":
            assert list(yaml.safe_load_all(token.content)) != [None], page
        if token.type == "fence" and token.info == "json":
            json.loads(token.content)
