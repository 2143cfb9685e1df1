"""Pages of the guide: Markdown and notebooks in, HTML with a table of contents out."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin
from pygments import highlight as colour
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

# Files that pages may show or link to as they are.
ASSETS = {".png", ".svg", ".toml", ".csv", ".stl", ".json", ".sh", ".bib", ".py", ".rs", ".ipynb", ".obj"}


def slug(title: str) -> str:
    """An anchor, as GitHub makes it."""
    text = re.sub(r"[^\w\- ]", "", title.strip().lower())
    return text.replace(" ", "-")


def lit(code: str, language: str, _attributes: str) -> str:
    """A block of code in colours, where its language is known."""
    try:
        lexer = get_lexer_by_name(language.split(",")[0]) if language else None
    except ClassNotFound:
        lexer = None
    return colour(code, lexer, HtmlFormatter(nowrap=True)) if lexer else html.escape(code)


@dataclass
class Page:
    """A page: where it comes from, where it goes, and what the contents call it."""

    source: Path
    to: str
    title: str


@dataclass
class Book:
    """All pages, and what goes around them."""

    root: Path
    to: Path
    pages: list[Page] = field(default_factory=list)
    parts: list[tuple[str, list[Page]]] = field(default_factory=list)
    assets: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.md = MarkdownIt("commonmark", {"highlight": lit, "html": True}).enable(["table", "strikethrough"])
        self.md.use(anchors_plugin, max_level=6, slug_func=slug, permalink=False)
        self._read_summary()

    def _read_summary(self) -> None:
        summary = (self.root / "docs/SUMMARY.md").read_text(encoding="utf-8")
        self.parts.append(("", []))
        for line in summary.splitlines():
            if line.startswith("# ") and line != "# Summary":
                self.parts.append((line[2:], []))
            found = re.match(r"(?:- )?\[(.+)\]\((.+)\)$", line)
            if found:
                source = (self.root / "docs" / found[2]).resolve()
                page = Page(source, self._place(source), found[1])
                self.pages.append(page)
                self.parts[-1][1].append(page)
        for source in sorted((self.root / "docs/decisions").glob("*.md")):
            title = source.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
            self.pages.append(Page(source, self._place(source), title))
        self.parts.append(("Decisions", [Page(self.root / "docs/decisions", "decisions/index.html", "All decisions")]))

    def _place(self, source: Path) -> str:
        """Where a source goes: docs/ is the root of the site, everything else keeps its path."""
        try:
            path = source.relative_to(self.root / "docs")
        except ValueError:
            path = source.relative_to(self.root)
        name = str(path.with_suffix(".html"))
        return re.sub(r"README\.html$", "index.html", name)

    def build(self) -> list[str]:
        """Writes all pages; what is wrong with them."""
        wrong = []
        known = {page.source for page in self.pages}
        for source in sorted((self.root / "docs").rglob("*.md")):
            if source not in known and source.name != "SUMMARY.md":
                wrong.append(f"{source.relative_to(self.root)} is not in docs/SUMMARY.md")
        for page in self.pages:
            if not page.source.exists():
                wrong.append(f"docs/SUMMARY.md names {page.source.relative_to(self.root)}, which is not there")
                continue
            text = notebook(page, self.root) if page.source.suffix == ".ipynb" else page.source.read_text(encoding="utf-8")
            if not re.search(r"^# ", text, re.M):
                wrong.append(f"{page.source.relative_to(self.root)} has no title")
            self.write(page.to, page.title, self.render(text, page))
        decisions = [p for p in self.pages if p.source.parent.name == "decisions"]
        body = "<h1>Decisions</h1><p>Why it is so, and what was tried.</p><ul>"
        body += "".join(f'<li><a href="{Path(p.to).name}">{html.escape(p.title)}</a></li>' for p in decisions) + "</ul>"
        self.write("decisions/index.html", "Decisions", body)
        return wrong

    def render(self, text: str, page: Page) -> str:
        """HTML of a page, with links to where things are on the site."""
        body = self.md.render(text)

        def moved(match: re.Match[str]) -> str:
            attribute, target = match[1], html.unescape(match[2])
            return f'{attribute}="{html.escape(self.link(page, target))}"'

        return re.sub(r'(href|src)="([^"]*)"', moved, body)

    def link(self, page: Page, target: str) -> str:
        """Where a link of a page leads on the site."""
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return target
        path, _, anchor = target.partition("#")
        source = (page.source.parent / path).resolve()
        here = Path(page.to).parent
        anchor = "#" + anchor if anchor else ""
        for other in self.pages:
            if other.source == source:
                return os.path.relpath(other.to, here) + anchor
        if source == self.root / "docs/decisions":
            return os.path.relpath("decisions/index.html", here)
        if source.is_dir() and (source / "README.md").exists():
            return self.link(page, os.path.relpath(source / "README.md", page.source.parent) + anchor)
        if source.is_dir():
            return self.listing(source, here)
        if source.is_file() and (source.suffix in ASSETS or not source.suffix or source.name.startswith("LICENSE")):
            self.assets.add(source)
            return os.path.relpath(self._asset(source), here)
        return target  # The check of links will name it.

    def _asset(self, source: Path) -> str:
        try:
            return str(source.relative_to(self.root / "docs"))
        except ValueError:
            return "files/" + str(source.relative_to(self.root))

    def listing(self, folder: Path, here: Path) -> str:
        """A page that lists a folder of the repository."""
        name = f"files/{folder.relative_to(self.root)}/index.html"
        files = sorted(p for p in folder.iterdir() if p.is_file() and p.suffix in ASSETS)
        self.assets.update(files)
        rows = (f'<li><a href="{os.path.relpath(self._asset(p), Path(name).parent)}">{html.escape(p.name)}</a></li>' for p in files)
        self.write(name, folder.name, f"<h1>{html.escape(folder.name)}</h1><ul>{''.join(rows)}</ul>")
        return os.path.relpath(name, here)

    def write(self, to: str, title: str, body: str) -> None:
        """Writes a page with the contents beside it."""
        up = os.path.relpath(".", Path(to).parent)
        rows = []
        for part, members in self.parts:
            rows.append(f"<h2>{html.escape(part)}</h2>" if part else "")
            for page in members:
                here = ' class="here"' if page.to == to else ""
                rows.append(f'<a{here} href="{os.path.relpath(page.to, Path(to).parent)}">{html.escape(page.title)}</a>')
        rows.append("<h2>Reference</h2>")
        rows.append(f'<a href="{up}/rust/drystone/index.html">Rust</a><a href="{up}/reference/index.html">Python</a>')
        text = TEMPLATE.replace("{title}", html.escape(title)).replace("{up}", up)
        path = self.to / to
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{contents}", "".join(rows)).replace("{body}", body), encoding="utf-8")

    def finish(self) -> None:
        """Copies what pages show, and the style."""
        for source in sorted(self.assets):
            path = self.to / self._asset(source)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)
        style = (Path(__file__).parent / "style.css").read_text() + HtmlFormatter(style="default").get_style_defs("pre")
        (self.to / "style.css").write_text(style)


def notebook(page: Page, root: Path) -> str:
    """A notebook as Markdown: with its results, if the tests have run it."""
    run = root / "target/notebooks" / page.source.name
    cells = json.loads((run if run.exists() else page.source).read_text(encoding="utf-8"))["cells"]
    text = []
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            text.append(source)
            continue
        text.append(f"```python\n{source}\n```")
        for out in cell.get("outputs", []):
            data = out.get("data", {})
            if "image/png" in data:
                png = "".join(data["image/png"]).replace("\n", "")
                base64.b64decode(png, validate=True)
                text.append(f'<p><img alt="{html.escape(page.title)}" src="data:image/png;base64,{png}"></p>')
            elif "text/plain" in data and "text/html" not in data:
                text.append(f"```text\n{''.join(data['text/plain'])}\n```")
            elif out.get("output_type") == "stream" and out.get("name") == "stdout":
                text.append(f"```text\n{''.join(out['text'])}\n```")
    return "\n\n".join(text)


TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · drystone</title><link rel="stylesheet" href="{up}/style.css"></head>
<body><nav><a class="name" href="{up}/index.html">drystone</a>{contents}</nav><main>{body}</main></body></html>
"""
