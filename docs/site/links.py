"""Links of a built site: every one that is not to the network must lead somewhere."""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r'(?:href|src)="([^"]*)"')
PLACE = re.compile(r'(?:id|name)="([^"]*)"')


@cache
def places(file: Path) -> frozenset[str]:
    """Anchors of a page."""
    return frozenset(html.unescape(x) for x in PLACE.findall(file.read_text(encoding="utf-8")))


def check(site: Path, leave: list[Path]) -> tuple[int, list[str]]:
    """How many links there are in all pages but those in `leave` (rustdoc checks its own), and which are dead."""
    count, dead = 0, []
    for page in sorted(site.rglob("*.html")):
        if any(page.is_relative_to(folder) for folder in leave):
            continue
        text = page.read_text(encoding="utf-8")
        # A page's own script or a picture within it is no link.
        for target in LINK.findall(text):
            target = html.unescape(target)
            if re.match(r"(https?|mailto|data):", target):
                continue
            count += 1
            path, _, anchor = target.partition("#")
            file = (page.parent / unquote(path)).resolve() if path else page.resolve()
            name = page.relative_to(site)
            if file.is_dir():
                file = file / "index.html"
            if not file.exists():
                dead.append(f"{name}: '{target}' leads nowhere")
            elif anchor and file.suffix == ".html" and unquote(anchor) not in places(file):
                dead.append(f"{name}: '{target}': there is no such place on that page")
    return count, dead
