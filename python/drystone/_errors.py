"""What goes wrong. The texts are those of the command line."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Anything that drystone says no to."""


class InputError(Error, ValueError):
    """A body, a setting, a scene or a file that makes no sense: the text names the field and what would be right."""


class ArgumentError(InputError, TypeError):
    """An argument that is not what it must be."""

    def add_note(self, note: str) -> None:
        """PyO3 tells the name of the argument in a note: it belongs into the text. (Python 3.10 has no notes.)"""
        name = note.removeprefix("while processing '").removesuffix("'")
        self.args = (f"{name} {self}",)


class StepError(Error, RuntimeError):
    """A step that failed. The world is as it was before it. In a run, ``report`` is the report so far."""

    report: dict[str, Any]
