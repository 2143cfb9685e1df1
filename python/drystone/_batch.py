"""Many worlds at once."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _drystone
from ._drystone import Joint, State, World
from ._errors import ArgumentError, InputError
from ._run import load


class Batch(_drystone.Batch):
    """Worlds with equally many bodies, stepped in parallel, each by one thread. Arrays have one more axis in front.

    >>> import drystone as ds
    >>> def world():
    ...     w = ds.World()
    ...     w.add_body(ds.sphere(0.1), mass=1.0)
    ...     return w
    >>> batch = ds.Batch([world() for _ in range(8)])
    >>> batch.step(10)
    >>> batch.positions.shape
    (8, 1, 3)
    """

    @classmethod
    def of(cls, scene: str, count: int, /, *, threads: int | None = None, **parameters: object) -> Batch:
        """`count` worlds of a scene of the gallery or a file."""
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
            raise ArgumentError(f"count must be a whole number, not negative, got {count!r}")
        loaded = load(scene, **parameters)
        return cls([loaded.world() for _ in range(count)], threads=threads)

    def __reduce__(self) -> tuple[Any, ...]:
        """The worlds as they are, the states that `reset` goes back to, and the number of threads."""
        return _made, (type(self), self.worlds, self.threads, self._first)

    def coordinates(self, joints: Sequence[Joint | int]) -> NDArray[np.float64]:
        """The first free coordinate of joints (of any one world, or their numbers), (worlds, joints), m or rad."""
        return self.joint_coordinates(_numbers(joints), False)

    def rates(self, joints: Sequence[Joint | int]) -> NDArray[np.float64]:
        """Its rate, (worlds, joints), m/s or rad/s."""
        return self.joint_coordinates(_numbers(joints), True)

    def command(
        self,
        joints: Sequence[Joint | int],
        values: ArrayLike,
        *,
        kind: Literal["speed", "position", "force"] = "speed",
        limit: float = float("inf"),
    ) -> None:
        """Puts motors on the first coordinate of joints: `values` (worlds, joints) in m/s, rad/s, m, rad, N or N m; `limit` in N or N m.

        They stay until the next command: also through `reset`.

        >>> import drystone as ds
        >>> def wheel():
        ...     w = ds.World(gravity=[0, 0, 0])
        ...     w.add_joint("revolute", None, w.add_body(ds.sphere(0.1), mass=1.0))
        ...     return w
        >>> batch = ds.Batch([wheel() for _ in range(3)])
        >>> batch.command([0], [[1.0], [2.0], [3.0]], kind="speed", limit=50.0)
        >>> batch.step(10)
        >>> batch.rates([0]).round(6).tolist()
        [[1.0], [2.0], [3.0]]
        """
        try:
            numbers = np.ascontiguousarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise ArgumentError(f"values must be an array of real numbers, got {str(values)[:80]!r}") from None
        slots = _numbers(joints)
        twice = [slot for k, slot in enumerate(slots) if slot in slots[:k]]
        if twice:
            raise InputError(f"joints must be each another, got joint {twice[0]} twice")
        if numbers.shape != (len(self), len(slots)):
            raise InputError(f"values must have the shape ({len(self)}, {len(slots)}), got {numbers.shape}")
        self.set_motors(slots, numbers, kind, limit)


def _numbers(joints: Sequence[Joint | int]) -> list[int]:
    try:
        if isinstance(joints, str) or not all(isinstance(j, Joint) or not isinstance(j, (bool, np.bool_)) and 0 <= operator.index(j) < 1 << 32 for j in joints):
            raise TypeError
    except TypeError:
        raise ArgumentError(f"joints must be joints of one of the worlds, or their numbers, got {joints!r}") from None
    return [j.index if isinstance(j, Joint) else int(j) for j in joints]


def _made(kind: type[Batch], worlds: list[World], threads: int, first: list[State]) -> Batch:
    """The batch of a pickle."""
    return kind(worlds, threads=threads, _first=first)


__all__ = ["Batch", "World"]
