"""Builds the documentation site: pages of docs/SUMMARY.md, rustdoc and a reference of the Python package, and checks every link in them.

    target/python/bin/python docs/site/build.py [--to FOLDER] [--update]

Everything that is wrong is an error: a page that the summary does not have, a link or anchor that leads nowhere, a public name of the crate `drystone` that is
not in docs/site/public-api.txt (--update writes that file anew).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import links  # noqa: E402
import pages  # noqa: E402
import reference  # noqa: E402
import surface  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=ROOT / "target/site")
    parser.add_argument("--update", action="store_true", help="write docs/site/public-api.txt anew")
    args = parser.parse_args()
    to: Path = args.to
    rustdoc = ROOT / "target/doc"
    if not (rustdoc / "drystone/all.html").exists():
        print("there is no target/doc: run scripts/site, or cargo doc --workspace --no-deps", file=sys.stderr)
        return 1

    wrong: list[str] = []
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    book = pages.Book(ROOT, to)
    wrong += book.build()
    wrong += reference.build(book)
    for crate in [*surface.CRATES, "static.files", "src", "trait.impl", "type.impl", "search.desc"]:
        if (rustdoc / crate).is_dir():
            shutil.copytree(rustdoc / crate, to / "rust" / crate, copy_function=_link)
    for file in rustdoc.glob("*.*"):
        if file.is_file() and not file.name.startswith("."):
            _link(file, to / "rust" / file.name)
    book.finish()

    names = surface.names(rustdoc, "drystone")
    wrong += surface.compare(names, ROOT / "docs/site/public-api.txt", args.update)
    checked, dead = links.check(to, [to / "rust"])
    wrong += dead
    counts = {"pages": len(book.pages), "links": checked, "public_items": surface.count(names)}
    print(json.dumps(counts))
    for text in wrong:
        print(f"error: {text}", file=sys.stderr)
    return 1 if wrong else 0


def _link(src: str | Path, dst: str | Path) -> None:
    """Rustdoc has thousands of files: they are linked where the disk allows it."""
    Path(dst).parent.mkdir(parents=True, exist_ok=True)
    try:
        Path(dst).hardlink_to(src)
    except OSError:
        shutil.copy2(src, dst)


if __name__ == "__main__":
    sys.exit(main())
