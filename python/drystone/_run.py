"""Scenes: the gallery, files, and runs with a report."""

from __future__ import annotations

import json
import math
import os
import time as clock
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Literal

import numpy as np

from . import _drystone
from ._drystone import Scene, World
from ._errors import ArgumentError, InputError, StepError
from ._progress import Progress

_SETTINGS = frozenset(_drystone.SETTINGS)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _path(scene: object) -> str:
    try:
        return os.fsdecode(os.fspath(scene))  # type: ignore[call-overload]
    except TypeError:
        raise ArgumentError(f"scene must be a name or a path, got {scene!r}") from None


def load(scene: str | os.PathLike[str], **parameters: object) -> Scene:
    """A scene of the gallery by name, a scene file (.toml, .json) or a flat state (.json, .json.gz), with parameters as `--set` takes them.

    >>> import drystone as ds
    >>> ds.load("packing", n=50)
    <Scene packing: 55 bodies, 5 s>
    """
    return _drystone.load(_path(scene), [(k, _text(v)) for k, v in parameters.items()])


def scenes() -> dict[str, dict[str, Any]]:
    """The gallery: title and parameters (default and what it is) of every scene, by name.

    >>> import drystone as ds
    >>> "packing" in ds.scenes() and "n" in ds.scenes()["packing"]["parameters"]
    True
    """
    return {
        name: {"title": title, "parameters": {p: {"default": default, "help": what} for p, default, what in parameters}}
        for name, title, parameters in _drystone.scenes()
    }


def solvers() -> dict[str, dict[str, str]]:
    """Every solver: what it is and what one of its iterations is, by name.

    >>> import drystone as ds
    >>> "apgd" in ds.solvers()
    True
    """
    return {name: {"title": title, "unit": unit} for name, title, unit in _drystone.solvers()}


def _check_outputs(report: object, record: object, record_every: object, record_replace: object) -> None:
    """Says what is wrong with what a run is to write, before it begins."""
    number = isinstance(record_every, (int, float, np.number)) and not isinstance(record_every, (bool, np.bool_))
    if record_every is not None and not number:
        raise ArgumentError(f"record_every must be above 0 s, got {record_every!r}")
    if record_every is not None and not 0 < float(record_every) < math.inf:  # type: ignore[arg-type]
        raise InputError(f"record_every must be above 0 s, got {record_every!r}")
    if not isinstance(record_replace, bool):
        raise ArgumentError(f"record_replace must be True or False, got {record_replace!r}")
    for name, value, given in (("record_every", record_every, record_every is not None), ("record_replace", True, record_replace)):
        if given and record is None:
            raise InputError(f"{name}={value!r} needs record, the folder of the recording")
    for name, value, folder in (("report", report, False), ("record", record, True)):
        if value is None:
            continue
        try:
            path = os.fsdecode(os.fspath(value))  # type: ignore[call-overload]
        except TypeError:
            raise ArgumentError(f"{name} must be a path, got {value!r}") from None
        if not path or os.path.exists(path) and os.path.isdir(path) != folder:
            raise InputError(f"{name} must be a {'folder' if folder else 'file'}, got {path!r}")
        there = os.path.abspath(path)
        while not os.path.exists(there):
            there = os.path.dirname(there)
        if os.path.abspath(path) != there and not os.path.isdir(there):
            raise InputError(f"{name}={path!r} cannot be written: {there!r} is no folder")
        if not os.access(there, os.W_OK):
            raise InputError(f"{name}={path!r} cannot be written: {there!r} may not be written to")
    if report is not None and record is not None and os.path.abspath(report) == os.path.abspath(record):  # type: ignore[call-overload]
        raise InputError(f"report and record must be two places, got {record!r} for both")


def run(
    scene: str | os.PathLike[str],
    *,
    time: float | None = None,
    steps: int | None = None,
    progress: bool | None = None,
    allow_overlap: bool = False,
    report: str | os.PathLike[str] | None = None,
    record: str | os.PathLike[str] | None = None,
    record_every: float | None = None,
    record_replace: bool = False,
    backend: Literal["cpu", "cuda", "auto"] = "cpu",
    callback: Callable[[World], object] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Runs a scene and returns the report of `drystone run` as a dictionary.

    `time` (s) or `steps` say how long, if the scene's `[stop]` does not end it before; settings of the step (see ``World``) and
    parameters of the scene go by name. `callback` is called with the world after every step;
    where it restores a state, the steps that are taken count, whatever the world's own number of them.
    `progress`: a bar on a terminal or in a notebook (None), always (True), never (False).
    `report` is a file that gets the report, too; `record` a folder that gets a recording, with a frame every `record_every` seconds of simulated time
    (1/60 s if nothing is said); `record_replace` takes the place of one that is there. What the command's report says under `recording` is left out.
    `backend` is where steps are taken, as with the command: "cuda" needs a GPU (without one it is an ``InputError`` that says what is missing), "auto"
    takes whoever is quicker, and the CPU without a GPU: ``report["device"]`` says which and why.
    Ctrl-C ends the run with ``KeyboardInterrupt``, which has the report so far as ``report``; so has the ``StepError`` of a step that fails.

    >>> import drystone as ds
    >>> result = ds.run("stack", n=3, steps=20)
    >>> result["status"], result["scene"], result["steps"]
    ('ok', 'stack', 20)
    """
    _check_outputs(report, record, record_every, record_replace)
    if progress not in (None, True, False):
        raise ArgumentError(f"progress must be True, False or None, got {progress!r}")
    if callback is not None and not callable(callback):
        raise ArgumentError(f"callback must be a function of the world, got {callback!r}")
    settings = {k: v for k, v in options.items() if k in _SETTINGS}
    parameters = [(k, _text(v)) for k, v in options.items() if k not in _SETTINGS]
    under_way = _drystone._Run(
        _path(scene),
        parameters,
        time=time,
        steps=steps,
        allow_overlap=allow_overlap,
        backend=backend,
        **settings,
    )
    if callback is not None:
        under_way.world.after_step(callback)
    bar = Progress(under_way.steps, progress)

    def told(status: str, reason: str | None) -> dict[str, Any]:
        text = under_way.report(status, reason)
        if report is not None:
            folder = os.path.dirname(os.fspath(report))
            if folder:
                os.makedirs(folder, exist_ok=True)
            with open(report, "w", encoding="utf-8") as file:
                file.write(text + "\n")
        result: dict[str, Any] = json.loads(text)
        for place, key in [*((w, "text") for w in result.get("warnings", ())), (result.get("device") or {}, "why_not")]:
            if key in place:
                place[key] = _drystone._spelled(place[key])
        return result

    around = ExitStack()
    try:
        if record is not None:
            under_way.world._record(record, record_every, None, True, True, False, record_replace, under_way.name)
            around.callback(under_way.world._end_record)
        done, chunk, stopped = 0, 1, False
        while done < under_way.steps and not stopped:
            begun = clock.monotonic()
            asked = min(chunk, under_way.steps - done)
            taken, contacts, residual, stopped = under_way.advance(asked)
            done += taken
            bar.show(done, contacts, residual)
            # About ten times a second.
            spent = max(clock.monotonic() - begun, 1e-6)
            chunk = max(1, min(2 * asked, int(asked * 0.1 / spent)))
    except StepError as e:
        e.report = told("failed", str(e))
        raise
    except KeyboardInterrupt as e:
        e.report = told("interrupted", None)  # type: ignore[attr-defined]
        raise
    finally:
        bar.close()
        around.close()
    return told("ok", None)
