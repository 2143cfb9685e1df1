"""The viewer in a notebook, and recordings."""

from __future__ import annotations

import html
import operator
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _drystone
from ._drystone import World
from ._errors import ArgumentError, InputError


def _path(name: str, value: str | os.PathLike[str]) -> str:
    """A path, or an error that names the argument."""
    try:
        return os.fsdecode(os.fspath(value))
    except TypeError:
        raise ArgumentError(f"{name} must be a path, got {value!r}") from None


def _check_height(height: object) -> None:
    if isinstance(height, bool) or not isinstance(height, (int, np.integer)):
        raise ArgumentError(f"height must be a whole number, at least 1, got {height!r}")
    if height < 1:
        raise InputError(f"height must be a whole number, at least 1, got {height!r}")


def _check_world(world: object) -> None:
    if not isinstance(world, World):
        raise ArgumentError(f"world must be a world, got {world!r}")


class View:
    """A page that shows a world or a run: notebooks display it, `save` writes it for a browser. It needs no server and no network."""

    def __init__(self, page: str, height: int = 480) -> None:
        _check_height(height)
        self.page = page
        self.height = height

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as one HTML file."""
        with open(_path("path", path), "w", encoding="utf-8") as file:
            file.write(self.page)

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.page, quote=True)}" width="100%" height="{int(self.height)}" '
            'style="border: 0" title="drystone"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<View: {len(self.page) // 1024} KiB; notebooks show it, save(path) writes it>"


def view(world: World, duration: float = 0.0, *, frames: float = 30.0, height: int = 480, title: str = "world") -> View:
    """The world as it is, in the viewer; with a `duration` (s) it takes that many seconds' steps and shows them, with `frames` a second.

    >>> import drystone as ds
    >>> world = ds.World()
    >>> ball = world.add_body(ds.sphere(0.5), mass=1.0)
    >>> page = ds.view(world, 0.5)
    >>> round(world.time, 6), "<canvas" in page.page
    (0.5, True)
    """
    _check_world(world)
    _check_height(height)
    return View(world._page(duration, frames, title), height)


class Recording(_drystone._Recording):
    """A recording of `drystone run --record`, `ds.run(..., record=folder)` or `ds.recording`: a folder, or a file in it.

    >>> import drystone as ds, tempfile
    >>> world = ds.World()
    >>> ball = world.add_body(ds.sphere(0.5), mass=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ds.recording(world, folder, steps=10):
    ...         _ = world.step(100)
    ...     run = ds.Recording(folder)
    ...     len(run), run[-1]["centres"].shape, len(run.series["time_s"])
    (11, (1, 3), 100)
    """

    def __new__(cls, path: str | os.PathLike[str]) -> Recording:
        return super().__new__(cls, _path("path", path))  # type: ignore[call-arg]

    def __getitem__(self, k: int) -> dict[str, Any]:
        try:
            k = operator.index(k)
        except TypeError:
            raise ArgumentError(f"a frame goes by its number, got {k!r} (several: [run[k] for k in ...])") from None
        at = k + len(self) if k < 0 else k
        if not 0 <= at < len(self):
            raise IndexError(f"there is no frame {k}, the recording has {len(self)}")
        return self._frame(at)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self._frame(k) for k in range(len(self)))

    def view(self, *, height: int = 480) -> View:
        """The recording in the viewer."""
        return View(_drystone.recording_page(os.fspath(self.folder)), height)

    def __repr__(self) -> str:
        end = "" if self.finished else ", not finished"
        return f"<Recording of {self.scene}: {len(self)} frames{end}>"


@contextmanager
def recording(
    world: World,
    folder: str | os.PathLike[str],
    *,
    every: float | None = None,
    steps: int | None = None,
    contacts: bool = True,
    joints: bool = True,
    double: bool = False,
    replace: bool = False,
    name: str = "world",
) -> Iterator[World]:
    """Records what `World.step` does within the block, with a frame every `every` seconds of simulated time (1/60 s if nothing is said) or `steps` steps.

    ParaView, h5py and ``drystone view`` open what is written; ``ds.Recording`` reads it. `replace` takes the place of a recording that is there.
    """
    _check_world(world)
    _path("folder", folder)
    try:
        world._record(folder, every, steps, contacts, joints, double, replace, name)
    except InputError as e:
        raise InputError(str(e).replace("record_replace=True", "replace=True")) from None
    try:
        yield world
    finally:
        world._end_record()
