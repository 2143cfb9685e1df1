"""The Python reference: a page for each class and one for functions, from the docstrings."""

from __future__ import annotations

import ast
import html
import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING

import drystone

if TYPE_CHECKING:
    from pages import Book


def signatures() -> dict[str, str]:
    """Signatures with types, from the stubs: `World.step` is `(self, n: int = 1) -> StepReport`."""
    found: dict[str, str] = {}
    folder = Path(drystone.__file__).parent
    for file in ["_drystone.pyi", "_batch.py", "_run.py", "_shapes.py", "_solve.py", "_view.py"]:
        tree = ast.parse((folder / file).read_text(encoding="utf-8"))
        for item in tree.body:
            inside = item.body if isinstance(item, ast.ClassDef) else [item]
            prefix = f"{item.name}." if isinstance(item, ast.ClassDef) else ""
            for f in inside:
                if isinstance(f, ast.FunctionDef):
                    property_ = any(isinstance(d, ast.Name) and d.id == "property" for d in f.decorator_list)
                    returns = f" -> {ast.unparse(f.returns)}" if f.returns else ""
                    arguments = ast.unparse(f.args).removeprefix("self, ").removeprefix("self")
                    if any(isinstance(d, ast.Attribute) and d.attr == "setter" for d in f.decorator_list):
                        continue
                    text = returns.replace(" -> ", ": ") if property_ else f"({arguments}){returns}"
                    found[prefix + f.name] = text
                elif isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name) and prefix:
                    found[prefix + f.target.id] = f": {ast.unparse(f.annotation)}"
    return found


def told(book: Book, thing: object) -> str:
    """A docstring as HTML; examples are code."""
    text = inspect.getdoc(thing) or ""
    lines, inside = [], False
    for line in text.splitlines():
        example = line.lstrip().startswith((">>>", "...")) or (inside and line.strip() != "")
        if example != inside:
            lines.append("```" if inside else "\n```pycon")
            inside = example
        lines.append(line)
    lines += ["```"] if inside else []
    return book.md.render("\n".join(lines))


def entry(book: Book, name: str, signature: str, thing: object) -> str:
    """A name with its signature and what it does."""
    return (
        f'<dt id="{html.escape(name)}"><b>{html.escape(name)}</b>{html.escape(signature)}</dt>'
        f"<dd>{told(book, thing)}</dd>"
    )


def build(book: Book) -> list[str]:
    """Writes the pages; names without a docstring are wrong."""
    wrong, known = [], signatures()
    classes = {n: getattr(drystone, n) for n in drystone.__all__ if inspect.isclass(getattr(drystone, n))}
    functions = {n: getattr(drystone, n) for n in drystone.__all__ if n not in classes and n != "__version__"}
    for name, cls in classes.items():
        if not inspect.getdoc(cls):
            wrong.append(f"reference: {name} has no docstring")
        members: dict[str, object] = {}
        for base in reversed([c for c in cls.__mro__ if c.__module__.startswith("drystone")]):
            members.update({n: v for n, v in vars(base).items() if not n.startswith("_")})
        rows = []
        for own, value in sorted(members.items()):
            bases = [c.__name__ for c in cls.__mro__]
            signature = next((known[f"{b}.{own}"] for b in bases if f"{b}.{own}" in known), "")
            rows.append(entry(book, own, signature, value))
        first = next((known[f"{c.__name__}.__init__"] for c in cls.__mro__ if f"{c.__name__}.__init__" in known), "")
        head = f"<h1>drystone.{name}</h1><pre>{html.escape(name + first.removesuffix(' -> None'))}</pre>" if first else f"<h1>drystone.{name}</h1>"
        book.write(f"reference/{name}.html", name, head + told(book, cls) + "<dl>" + "".join(rows) + "</dl>")
    body = "<h1>Python reference</h1>" + told(book, drystone) + "<h2>Classes</h2><ul>"
    for name, cls in classes.items():
        first_line = (inspect.getdoc(cls) or "").split("\n")[0]
        body += f'<li><a href="{name}.html">{name}</a>: {html.escape(first_line)}</li>'
    body += "</ul><h2>Functions</h2><dl>"
    body += "".join(entry(book, n, known.get(n, ""), f) for n, f in sorted(functions.items())) + "</dl>"
    guide = os.path.relpath("guide/python.html", "reference")
    body += f'<p>How they go together: <a href="{guide}">Python</a>.</p>'
    book.write("reference/index.html", "Python reference", body)
    return wrong
