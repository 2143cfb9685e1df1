"""The public surface of the crate `drystone`, as rustdoc sees it: what users can name. Watched by a list that is kept in the repository."""

from __future__ import annotations

import re
from pathlib import Path

CRATES = ["drystone", "drystone_solve", "drystone_scene", "drystone_record", "drystone_view", "drystone_cuda"]

Names = list[tuple[str, str]]


def names(rustdoc: Path, crate: str) -> Names:
    """(kind, path) of every type, trait, function, constant, and of every method that a type has by itself."""
    folder = rustdoc / crate
    found: Names = []
    for link in re.findall(r'<li><a href="([^"#]+)"', (folder / "all.html").read_text(encoding="utf-8")):
        match = re.fullmatch(r"((?:\w+/)*)(\w+)\.(\w+)\.html", link)
        if not match:
            continue
        kind, path = match[2], match[1].replace("/", "::") + match[3]
        found.append((kind, path))
        text = (folder / link).read_text(encoding="utf-8")
        if kind == "trait":
            own = text.split('id="implementors"')[0]
        else:
            begin = text.find('id="implementations-list"')
            own = "" if begin < 0 else re.split(r'id="(?:trait-implementations|deref-methods|synthetic-impl|blanket-impl)', text[begin:])[0]
        for what, pattern in [("method", r'id="(?:tymethod|method)\.(\w+)"'), ("constant", r'id="associatedconstant\.(\w+)"')]:
            found += [(what, f"{path}::{name}") for name in sorted(set(re.findall(pattern, own)))]
    return sorted(set(found), key=lambda item: (item[1], item[0]))


def count(all_names: Names) -> dict[str, int]:
    """How many there are: by themselves, and methods of types."""
    methods = sum(kind == "method" or "::" in path and path.split("::")[-2][0].isupper() for kind, path in all_names)
    return {"items": len(all_names) - methods, "methods": methods}


def compare(all_names: Names, file: Path, update: bool) -> list[str]:
    """What differs from the list."""
    lines = [f"{kind} {path}" for kind, path in all_names]
    if update or not file.exists():
        print(f"note: {file.name} is written anew: commit it")
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    known = file.read_text(encoding="utf-8").splitlines()
    new = sorted(set(lines) - set(known))
    gone = sorted(set(known) - set(lines))
    hint = "if that is meant, run docs/site/build.py --update and say so in CHANGELOG.md"
    return [f"public surface of drystone: {line} is new; {hint}" for line in new] + [
        f"public surface of drystone: {line} is gone; {hint}" for line in gone
    ]
