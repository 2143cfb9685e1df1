"""Rays, casts, overlaps, closest points; events."""

from __future__ import annotations

import numpy as np
import pytest

import drystone as ds


@pytest.fixture
def row(floating: ds.World) -> ds.World:
    """Balls of 0.2 m at x = 1, 2, 3, in layers 1, 2, 4; the last is static."""
    for x in (1, 2, 3):
        motion = "static" if x == 3 else "dynamic"
        floating.add_body(ds.sphere(0.2), mass=1.0, position=[x, 0, 0], layers=1 << (x - 1), motion=motion)  # type: ignore[arg-type]
    return floating


def test_ray_first_and_all(row: ds.World) -> None:
    hit = row.ray([0, 0, 0], [5, 0, 0])
    assert hit is not None and hit.body == row[0]
    assert hit.distance == pytest.approx(0.8) and hit.collider == row[0].colliders[0]
    assert hit.point == pytest.approx([0.8, 0, 0]) and hit.normal == pytest.approx([-1, 0, 0])
    assert [h.body.index for h in row.ray_all([0, 0, 0], [1, 0, 0])] == [0, 1, 2]
    assert [h.body.index for h in row.ray_all([0, 0, 0], [1, 0, 0], 2.0)] == [0, 1]
    assert row.ray([0, 0, 0], [0, 0, 1]) is None
    assert "hit at" in repr(hit)


def test_filters(row: ds.World) -> None:
    def first(**given: object) -> int:
        hit = row.ray([0, 0, 0], [1, 0, 0], **given)  # type: ignore[arg-type]
        return -1 if hit is None else hit.body.index

    assert first() == 0
    assert first(exclude=[row[0]]) == 1
    assert first(motion="static") == 2
    assert first(mask=2) == 1
    assert first(mask=8) == -1
    row[0].add_collider(ds.Collider(ds.sphere(0.5), sensor=True))
    assert row.ray([0, 0, 0], [1, 0, 0]).distance == pytest.approx(0.8)  # type: ignore[union-attr]
    assert row.ray([0, 0, 0], [1, 0, 0], sensors=True).distance == pytest.approx(0.5)  # type: ignore[union-attr]
    with pytest.raises(ds.InputError, match="motion must be"):
        first(motion="flying")


def test_cast_shape(row: ds.World) -> None:
    hit = row.cast_shape(ds.box([0.1] * 3), [1, 0, 0], position=[0, 0, 0])
    assert hit is not None and hit.body == row[0] and hit.distance == pytest.approx(0.7)
    assert row.cast_shape(ds.box([0.1] * 3), [1, 0, 0], 0.5) is None
    assert row.cast_shape(ds.box([0.1] * 3), [1, 0, 0], position=[0, 1, 0]) is None


def test_overlap(row: ds.World) -> None:
    found = row.overlap(ds.box([0.6, 0.1, 0.1]), position=[1.5, 0, 0])
    assert [b.index for b in found] == [0, 1]
    quarter = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    assert row.overlap(ds.box([0.6, 0.1, 0.1]), position=[1.5, 0, 0], rotation=quarter) == []


def test_closest_and_distance(row: ds.World) -> None:
    hit = row.closest(ds.sphere(0.1), position=[1.4, 0, 0])
    assert hit is not None and hit.body == row[0] and hit.distance == pytest.approx(0.1)
    assert hit.point == pytest.approx([1.2, 0, 0])
    assert row.closest(ds.sphere(0.1), 0.05, position=[1.4, 0, 0]) is None
    assert row.distance(row[0], row[1]) == pytest.approx(0.6)
    found = row.closest_points(row[0], row[1])
    assert found is not None
    distance, on_a, on_b = found
    assert distance == pytest.approx(0.6) and on_a[0] == pytest.approx(1.2) and on_b[0] == pytest.approx(1.8)


def test_project(row: ds.World) -> None:
    hit = row.project([1.05, 0, 0])
    assert hit is not None and hit.distance == pytest.approx(-0.15) and hit.point == pytest.approx([1.2, 0, 0])
    assert row.project([0, 5, 0], 1.0) is None


def test_queries_follow_the_bodies(row: ds.World) -> None:
    row[0].velocity = [0, 10, 0]
    assert row.ray([0, 0, 0], [1, 0, 0]).body == row[0]  # type: ignore[union-attr]
    row.step(10)
    assert row.ray([0, 0, 0], [1, 0, 0]).body == row[1]  # type: ignore[union-attr]
    row[1].position = [0, 0, 9]
    assert row.ray([0, 0, 0], [1, 0, 0]).body == row[2]  # type: ignore[union-attr]


def test_contact_events(ground: ds.World) -> None:
    ground.record_events()
    ball = ground.add_body(ds.sphere(0.5), mass=2.0, position=[0, 0, 0.6], friction=0.5)
    phases = []
    for step in range(60):
        if step == 40:
            ball.apply_impulse([0, 0, 10])
        ground.step()
        for e in ground.contact_events:
            assert e.bodies == (ball, ground[0]) and [c.body for c in e.colliders] == [ball, ground[0]]
            phases.append(e.phase)
            last = e
    assert phases[0] == "begin" and phases[-1] == "end" and set(phases[1:-1]) == {"persist"}
    assert last.force == pytest.approx([0, 0, 0]) and "contact end" in repr(last)


def test_contacts_of_a_body(ground: ds.World) -> None:
    below = ground.add_body(ds.sphere(0.5), mass=1.0, position=[0, 0, 0.5], friction=0.5)
    above = ground.add_body(ds.sphere(0.5), mass=3.0, position=[0, 0, 1.5], friction=0.5)
    ground.step(20)
    seen = {c.other: c for c in below.contacts}
    assert set(seen) == {above, ground[0]}
    assert seen[above].colliders == (below.colliders[0], above.colliders[0])
    assert seen[above].normal == pytest.approx([0, 0, -1], abs=1e-6)
    assert seen[above].force[2] == pytest.approx(-3 * 9.81, rel=1e-4)
    assert seen[ground[0]].impulse == pytest.approx(seen[ground[0]].force * 0.01)
    assert above.force_from(below)[2] == pytest.approx(3 * 9.81, rel=1e-4)
    assert below.contact_force[2] == pytest.approx(9.81, rel=1e-3)


def test_sensor_events(ground: ds.World) -> None:
    ground.record_events()
    gate = ground.add_body(
        colliders=[ds.Collider(ds.box([1, 1, 0.1]), position=[0, 0, 2], sensor=True)], motion="static"
    )
    ball = ground.add_body(ds.sphere(0.1), mass=1.0, position=[0, 0, 2.5])
    phases = []
    for _ in range(60):
        ground.step()
        for e in ground.sensor_events:
            assert e.sensor == gate and e.other == ball
            assert e.colliders == (gate.colliders[0], ball.colliders[0])
            phases.append(e.phase)
    assert phases[0] == "begin" and phases[-1] == "end" and phases.count("begin") == 1


def test_joint_events() -> None:
    world = ds.World()
    world.record_events()
    body = world.add_body(ds.sphere(0.1), mass=1.0, position=[1, 0, 0])
    hinge = world.add_joint("revolute", None, body, axis=[0, 1, 0])
    hinge.set_limits(-0.2, 0.2)
    world.step(100)
    *before, event = world.joint_events
    assert event.joint == hinge and event.phase == "persist" and event.coordinate == 0 and event.step == 100
    assert before[0].phase == "begin" and 1 < before[0].step < 100
    assert abs(event.force) == pytest.approx(9.81 * np.cos(0.2), rel=0.01)


def test_accelerations(ground: ds.World) -> None:
    ball = ground.add_body(ds.sphere(0.5), mass=1.0, position=[0, 0, 9])
    ground.step()
    assert ball.acceleration is None
    ground.record_accelerations()
    ground.step()
    assert ball.acceleration == pytest.approx([0, 0, -9.81])
    assert ball.angular_acceleration == pytest.approx([0, 0, 0])


def test_events_of_what_is_removed(ground: ds.World) -> None:
    """A body that is gone is named, but cannot be asked."""
    ground.record_events()
    ball = ground.add_body(ds.sphere(0.5), mass=2.0, position=[0, 0, 0.5], friction=0.5)
    ground.step(5)
    event = ground.contact_events[-1]
    ball.remove()
    ground.step()
    told = ground.contact_events
    assert [e.phase for e in told] in ([], ["end"])
    for e in [event, *told]:
        assert e.bodies[0] == ball and not e.bodies[0].alive and "removed" in repr(e)
        with pytest.raises(ds.InputError, match="does not exist"):
            e.bodies[0].position
        with pytest.raises(ds.InputError, match="does not exist"):
            e.colliders[0].shape
