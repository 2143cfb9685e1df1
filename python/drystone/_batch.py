"""Many worlds at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _drystone
from ._drystone import Joint, World
from ._errors import InputError
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
        if count < 0:
            raise InputError(f"count must not be negative, got {count}")
        loaded = load(scene, **parameters)
        return cls([loaded.world() for _ in range(count)], threads=threads)

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
        """Puts motors on the first coordinate of joints: `values` (worlds, joints) in m/s, rad/s, m, rad, N or N m; `limit` in N or N m."""
        self.set_motors(_numbers(joints), np.ascontiguousarray(values, dtype=np.float64), kind, limit)


def _numbers(joints: Sequence[Joint | int]) -> list[int]:
    if isinstance(joints, str) or not all(isinstance(j, (Joint, int, np.integer)) for j in joints):
        raise InputError(f"joints must be joints of one of the worlds, or their numbers, got {joints!r}")
    return [j.index if isinstance(j, Joint) else int(j) for j in joints]


__all__ = ["Batch", "World"]
