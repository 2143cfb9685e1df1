"""Docstrings: everything has one, and its examples are true. Stubs name what there is."""

from __future__ import annotations

import ast
import doctest
import inspect
import pathlib
from collections.abc import Iterator

import pytest

import drystone as ds
from drystone import _drystone


def members() -> Iterator[tuple[str, object]]:
    yield "drystone", ds
    for name in ds.__all__:
        thing = getattr(ds, name)
        if name != "__version__":
            yield name, thing
        if inspect.isclass(thing):
            for own, value in vars(thing).items():
                if not own.startswith("_"):
                    yield f"{name}.{own}", value


@pytest.mark.parametrize(("name", "thing"), list(members()), ids=lambda x: x if isinstance(x, str) else "")
def test_docstring(name: str, thing: object) -> None:
    if name == "StepError.report":
        return
    text = inspect.getdoc(thing)
    assert text, f"{name} has no docstring"
    examples = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(examples)
    assert runner.failures == 0, name


def test_some_examples_were_run() -> None:
    count = sum(">>>" in (inspect.getdoc(thing) or "") for _, thing in members())
    assert count >= 15


def test_stubs_name_what_there_is() -> None:
    stub = ast.parse((pathlib.Path(_drystone.__file__).parent / "_drystone.pyi").read_text())
    for item in stub.body:
        if isinstance(item, ast.ClassDef):
            there = getattr(_drystone, item.name)
            told = {n.name for n in item.body if isinstance(n, ast.FunctionDef)}
            told |= {n.target.id for n in item.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
            own = {n for n in vars(there) if not n.startswith("_")}
            assert own == {n for n in told if not n.startswith("_")}, item.name
        elif isinstance(item, ast.FunctionDef):
            assert callable(getattr(_drystone, item.name)), item.name


@pytest.mark.parametrize("page", sorted((pathlib.Path(__file__).parents[2] / "docs/guide").glob("python.md")))
def test_guide(page: pathlib.Path) -> None:
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 10 and result.failed == 0
