"""A progress bar on a terminal or in a notebook, nothing in a pipe."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"


class Progress:
    """Tells of steps: how many are done, how many a second, how long it will take, contacts and residual."""

    def __init__(self, steps: int, on: bool | None = None) -> None:
        self.steps = steps
        self.begun = time.monotonic()
        self.notebook = on is not False and _in_notebook()
        self.terminal = on is not False and not self.notebook and (on is True or sys.stderr.isatty())
        self._display: Any = None
        self._shown = False

    def line(self, done: int, contacts: int, residual: float) -> str:
        """What is told after `done` steps."""
        share = done / self.steps if self.steps else 1.0
        spent = max(time.monotonic() - self.begun, 1e-9)
        rate = done / spent
        left = (self.steps - done) / rate if rate > 0 else float("inf")
        bar = "#" * int(24 * share) + "-" * (24 - int(24 * share))
        return (
            f"{bar} {done}/{self.steps} steps  {rate:.1f}/s  eta {left:.0f} s"
            f"  {contacts} contacts  residual {residual:.1e} m/s"
        )

    def show(self, done: int, contacts: int, residual: float) -> None:
        """Tells of it."""
        if self.notebook:
            display: Any = importlib.import_module("IPython.display").display
            text = {"text/plain": self.line(done, contacts, residual)}
            if self._display is None:
                self._display = display(text, raw=True, display_id=True)
            else:
                self._display.update(text, raw=True)
        elif self.terminal:
            sys.stderr.write("\r" + self.line(done, contacts, residual))
            sys.stderr.flush()
            self._shown = True

    def close(self) -> None:
        """Leaves the line clean."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
