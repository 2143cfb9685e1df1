"""Shapes that are made of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _drystone
from ._drystone import Shape
from ._errors import ArgumentError, InputError


def hull(points: ArrayLike) -> Shape:
    """The convex hull of points (n, 3), m.

    >>> import drystone as ds
    >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> round(ds.hull(corners).volume, 6)
    0.166667
    """
    return _drystone.hull(_rows("points", points, np.float64, 3))


def mesh(vertices: ArrayLike, triangles: ArrayLike) -> Shape:
    """A surface of triangles for static and kinematic bodies: vertices (n, 3) in m, corners (m, 3), counter-clockwise from outside.

    >>> import drystone as ds
    >>> ds.mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).kind
    'mesh'
    """
    return _drystone.mesh(_rows("vertices", vertices, np.float64, 3), _rows("triangles", triangles, np.uint32, 3))


def _shown(value: object) -> str:
    """A value as messages show it: not all of a long one."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]} ..."


def _rows(name: str, values: ArrayLike, kind: type[Any], columns: int | None = None) -> NDArray[Any]:
    """An array of two dimensions, or an error that names it."""
    try:
        rows = np.ascontiguousarray(values)
        if kind is np.uint32 and (rows.dtype.kind not in "iu" or (rows.size and (rows.min() < 0 or rows.max() > 0xFFFFFFFF))):
            raise ArgumentError(f"{name} must be numbers of vertices, whole and from 0, got {_shown(values)}")
        rows = rows.astype(kind)
    except (TypeError, ValueError) as e:
        if isinstance(e, InputError):
            raise
        raise ArgumentError(f"{name} must be an array of numbers, got {_shown(values)}: {e}") from None
    if rows.size == 1 and np.ndim(values) == 0:
        raise ArgumentError(f"{name} must be an array of numbers, got {_shown(values)}")
    if rows.ndim != 2 or columns not in (None, rows.shape[1]):
        raise InputError(f"{name} must have the shape (n, {columns or 'm'}), got {rows.shape}")
    return rows


def height_field(heights: ArrayLike, spacing: float | Sequence[float]) -> Shape:
    """Heights (rows along y, columns along x) over a grid about the origin, m, solid below; `spacing` along x and y, m: one number for both, or two.

    >>> import drystone as ds
    >>> ds.height_field([[0, 0], [0, 0.5]], [1, 1]).kind
    'height_field'
    """
    given = np.asarray(spacing, dtype=object)
    both = np.ravel(given)
    if given.shape not in ((), (2,)) or not all(isinstance(x, (int, float, np.number)) and not isinstance(x, bool) for x in both):
        raise ArgumentError(f"spacing must be one number or two, m, got {_shown(spacing)}")
    return _drystone.height_field(_rows("heights", heights, np.float64), (float(both[0]), float(both[-1])))


def compound(parts: Sequence[tuple[Shape, Sequence[float]] | tuple[Shape, Sequence[float], Sequence[float]]]) -> Shape:
    """Convex parts, each with its place (m) and perhaps its rotation (w, x, y, z).

    >>> import drystone as ds
    >>> ds.compound([(ds.sphere(0.1), [0, 0, 0]), (ds.sphere(0.1), [1, 0, 0])]).bounding_radius
    1.1
    """
    fits = isinstance(parts, Iterable) and not isinstance(parts, str)
    parts = list(parts) if fits else []
    if not fits or not all(
        isinstance(p, Sequence) and 2 <= len(p) <= 3 and isinstance(p[0], Shape) and all(isinstance(x, Iterable) for x in p[1:]) for p in parts
    ):
        raise ArgumentError("parts must be (shape, position) or (shape, position, rotation), m and (w, x, y, z)")
    placed = [(p[0], list(p[1]), list(p[2]) if len(p) > 2 else [1.0, 0.0, 0.0, 0.0]) for p in parts]
    return _drystone.compound(placed)
