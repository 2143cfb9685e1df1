"""Shapes: sizes, volumes, refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import drystone as ds

PI = np.pi
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


@pytest.mark.parametrize(
    ("shape", "kind", "volume"),
    [
        (ds.sphere(2.0), "sphere", 4 / 3 * PI * 8),
        (ds.box([1, 2, 3]), "box", 48),
        (ds.capsule(1.0, 2.0), "capsule", 4 / 3 * PI + 4 * PI),
        (ds.cylinder(1.0, 2.0), "cylinder", 4 * PI),
        (ds.cone(1.0, 3.0), "cone", PI),
        (ds.ellipsoid([1, 2, 3]), "ellipsoid", 4 / 3 * PI * 6),
        (ds.hull(CORNERS), "convex", 8),
        (ds.half_space(), "plane", np.inf),
        (ds.height_field(np.zeros((3, 4)), [1, 1]), "height_field", np.inf),
        (ds.compound([(ds.box([1] * 3), [0, 0, 0]), (ds.box([1] * 3), [9, 0, 0])]), "compound", 16),
    ],
)
def test_kind_and_volume(shape: ds.Shape, kind: str, volume: float) -> None:
    assert shape.kind == kind
    assert shape.volume == pytest.approx(volume)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ds.sphere(0), "radius must be positive"),
        (lambda: ds.sphere(float("nan")), "radius must be positive"),
        (lambda: ds.box([1, -1, 1]), "half[1] must be positive"),
        (lambda: ds.capsule(1, -1), "half_length"),
        (lambda: ds.cylinder(1, 0), "half_length must be positive"),
        (lambda: ds.cone(1, 0), "height must be positive"),
        (lambda: ds.ellipsoid([1, 1, 0]), "half[2] must be positive"),
        (lambda: ds.hull([[0, 0, 0], [1, 0, 0]]), "point"),
        (lambda: ds.hull([[0, 0], [1, 0]]), "points must have the shape (n, 3)"),
        (lambda: ds.mesh([[0, 0, 0]], [[0, 1, 2]]), "triangle"),
        (lambda: ds.rounded(ds.sphere(1), 0.1), "core must be a box"),
        (lambda: ds.compound([]), "part"),
    ],
)
def test_impossible_shapes_are_refused(make: Callable[[], ds.Shape], text: str) -> None:
    with pytest.raises(ds.InputError) as e:
        make()
    assert text in str(e.value)


def test_rounded_boxes_have_a_radius() -> None:
    shape = ds.rounded(ds.box([1, 1, 1]), 0.5)
    low, high = shape.bounds()
    assert high == pytest.approx([1.5] * 3) and low == pytest.approx([-1.5] * 3)


def test_bounds_follow_the_pose() -> None:
    quarter = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    low, high = ds.box([1, 2, 3]).bounds(position=[10, 0, 0], rotation=quarter)
    assert high == pytest.approx([12, 1, 3]) and low == pytest.approx([8, -1, -3])


def test_inertia_and_radii() -> None:
    ball = ds.sphere(2.0)
    assert np.diag(ball.inertia(5.0)) == pytest.approx([0.4 * 5 * 4] * 3)
    assert ball.inner_radius == ball.bounding_radius == 2.0
    assert ds.hull(CORNERS + 1).centroid == pytest.approx([1, 1, 1])


def test_shapes_compare_and_print() -> None:
    assert ds.sphere(1.0) == ds.sphere(1.0) != ds.sphere(2.0)
    for shape in (ds.sphere(0.5), ds.box([1, 2, 3]), ds.capsule(0.1, 0.2), ds.cone(1, 2), ds.half_space()):
        assert eval(repr(shape), vars(ds)) == shape


def test_a_ball_lies_on_a_mesh_and_on_a_field() -> None:
    square = ds.mesh([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    field = ds.height_field(np.zeros((3, 3)), [1, 1])
    for ground in (square, field):
        world = ds.World()
        world.add_body(ground, motion="static", friction=0.5)
        ball = world.add_body(ds.sphere(0.2), mass=1.0, position=[0.1, 0.2, 0.3], friction=0.5)
        world.step(60)
        assert ball.position[2] == pytest.approx(0.2, abs=1e-4)
