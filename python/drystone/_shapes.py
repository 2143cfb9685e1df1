"""Shapes that are made of arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from . import _drystone
from ._drystone import Shape


def hull(points: ArrayLike) -> Shape:
    """The convex hull of points (n, 3), m.

    >>> import drystone as ds
    >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> round(ds.hull(corners).volume, 6)
    0.166667
    """
    return _drystone.hull(np.ascontiguousarray(points, dtype=np.float64))


def mesh(vertices: ArrayLike, triangles: ArrayLike) -> Shape:
    """A surface of triangles for static and kinematic bodies: vertices (n, 3) in m, corners (m, 3), counter-clockwise from outside.

    >>> import drystone as ds
    >>> ds.mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).kind
    'mesh'
    """
    return _drystone.mesh(
        np.ascontiguousarray(vertices, dtype=np.float64), np.ascontiguousarray(triangles, dtype=np.uint32)
    )


def height_field(heights: ArrayLike, spacing: Sequence[float]) -> Shape:
    """Heights (rows along y, columns along x) over a grid about the origin, m, solid below; `spacing` along x and y, m.

    >>> import drystone as ds
    >>> ds.height_field([[0, 0], [0, 0.5]], [1, 1]).kind
    'height_field'
    """
    return _drystone.height_field(np.ascontiguousarray(heights, dtype=np.float64), (spacing[0], spacing[1]))


def compound(parts: Sequence[tuple[Shape, Sequence[float]] | tuple[Shape, Sequence[float], Sequence[float]]]) -> Shape:
    """Convex parts, each with its place (m) and perhaps its rotation (w, x, y, z).

    >>> import drystone as ds
    >>> ds.compound([(ds.sphere(0.1), [0, 0, 0]), (ds.sphere(0.1), [1, 0, 0])]).bounding_radius
    1.1
    """
    placed = [(p[0], list(p[1]), list(p[2]) if len(p) > 2 else [1.0, 0.0, 0.0, 0.0]) for p in parts]
    return _drystone.compound(placed)
