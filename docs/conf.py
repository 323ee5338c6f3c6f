"""The site: these pages as HTML, by Sphinx with MyST and the PyData theme (`make site`).

The pages are Markdown as GitHub shows it. What a site needs beside them is made here: the
navigation from the links of README.md, and links to files beside docs/ as links to the repository.
Nothing is fetched, neither here nor by the pages.
"""

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
SOURCE = "https://github.com/krm-windows/krm-windows"

project = "krm-windows"
project_copyright = "The krm-windows authors"
extensions = ["myst_parser"]
root_doc = "README"
# Headings have the anchors that GitHub gives them, and `[]{#id}` is one beside them.
myst_heading_anchors = 4
suppress_warnings = [
    # A block may show a part of a file, or have `…` in it.
    "misc.highlighting_failure",
]

html_theme = "pydata_sphinx_theme"
html_title = "krm-windows"
html_copy_source = False
html_show_sourcelink = False
templates_path = ["templates"]
html_favicon = "static/favicon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_sidebars = {"**": ["pages.html"]}
html_theme_options = {
    "navbar_center": [],
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "article_header_start": [],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "surface_warnings": False,
}

# `](../path#fragment)`, and `[name]: ../path` of a reference.
_LINK = re.compile(
    r"(?P<before>\]\(|^\[[^]]+\]: )(?P<path>\.\.?/[^)#\s]*)(?P<fragment>#[^)\s]*)?", re.MULTILINE
)
_HEADING = re.compile(r"^##+ (.+)$")
_PAGE = re.compile(r"\[([^]]+)\]\(([\w/-]+)\.md\)")


def _to_repository(page: Path, link: re.Match[str]) -> str:
    """Return a link of a page; one that leads out of docs/ leads to the repository."""
    target = (page.parent / link["path"]).resolve()
    if target.is_relative_to(DOCS):
        return link[0]
    kind = "tree" if target.is_dir() else "blob"
    path = target.relative_to(ROOT).as_posix()
    return f"{link['before']}{SOURCE}/{kind}/main/{path}{link['fragment'] or ''}"


def _navigation(text: str) -> str:
    """Return the index as trees of contents, one below each heading that has links to pages."""
    trees = []
    caption = ""
    entries: list[str] = []
    for line in [*text.splitlines(), "## End"]:
        heading = _HEADING.match(line)
        if heading:
            if entries:
                body = "\n".join(entries)
                trees.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{body}\n```\n")
            caption = heading[1]
            entries = []
        elif line.startswith("- "):
            entries += [f"{title} <{page}>" for title, page in _PAGE.findall(line)]
    return "\n".join(trees)


def _prepare(_app: Sphinx, docname: str, content: list[str]) -> None:
    """Turn a page for readers of the repository into one for the site."""
    page = DOCS / f"{docname}.md"
    text = _LINK.sub(lambda link: _to_repository(page, link), content[0])
    if docname == "README":
        text += f"\n{_navigation(content[0])}"
    if docname == "decisions/README":
        text += "\n```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n"
    content[0] = text


def _index(app: Sphinx, error: Exception | None) -> None:
    """Put the first page where servers look for it, too."""
    if error is None:
        shutil.copy(app.outdir / "README.html", app.outdir / "index.html")


def setup(app: Sphinx) -> None:
    """Connect what is above to Sphinx."""
    app.connect("source-read", _prepare)
    app.connect("build-finished", _index)
