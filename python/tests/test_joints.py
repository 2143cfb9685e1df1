"""Joints, motors, limits."""

from __future__ import annotations

import re

import numpy as np
import pytest

import drystone as ds

ONE = {"mass": 1.0, "inertia": [0.1, 0.1, 0.1]}


def pendulum(world: ds.World) -> tuple[ds.Body, ds.Joint]:
    body = world.add_body(position=[1, 0, 0], **ONE)  # type: ignore[arg-type]
    return body, world.add_joint("revolute", None, body, axis=[0, 1, 0], name="hinge")


def test_a_pendulum_keeps_its_length_and_energy() -> None:
    world = ds.World(step=0.001)
    body, hinge = pendulum(world)
    before = sum(world.energy)
    world.step(1000)
    assert np.linalg.norm(body.position) == pytest.approx(1.0, abs=1e-9)
    assert sum(world.energy) == pytest.approx(before, abs=1e-6)
    assert abs(hinge.coordinates[0]) > 1.0
    assert max(world.joint_error) < 1e-9


@pytest.mark.parametrize(
    ("kind", "given", "free"),
    [
        ("fixed", {}, 0),
        ("revolute", {}, 1),
        ("prismatic", {}, 1),
        ("cylindrical", {}, 2),
        ("ball", {}, 0),
        ("universal", {"axis": [1, 0, 0], "axis_b": [0, 1, 0]}, 2),
        ("planar", {}, 3),
        ("point_on_line", {}, 1),
        ("point_on_plane", {}, 2),
        ("distance", {"position_b": [1, 0, 0]}, 0),
        ("rope", {"position_b": [1, 0, 0]}, 1),
        ("spring", {"position_b": [1, 0, 0], "stiffness": 10.0}, 1),
        ("screw", {"pitch": 0.1}, 1),
        ("gear", {"ratio": 2.0}, 0),
        ("rack_and_pinion", {"radius": 0.1, "axis_b": [1, 0, 0]}, 0),
        ("pulley", {"position_b": [1, 0, 0], "points": [[0, 0, 1], [1, 0, 1]]}, 0),
        ("bushing", {"stiffness": 100.0, "damping": [1, 2, 3], "angular_stiffness": [5, 5, 5]}, 0),
        ("knife_edge", {"axis": [1, 0, 0], "axis_b": [0, 0, 1]}, 0),
        ("rolling_disc", {"position": [0, 0, -0.5], "position_b": [1, 0, 0], "axis_b": [0, 1, 0], "radius": 0.5}, 0),
    ],
)
def test_every_joint_steps_and_comes_off(kind: str, given: dict[str, object], free: int) -> None:
    world = ds.World()
    a = world.add_body(**ONE)  # type: ignore[arg-type]
    b = world.add_body(position=[1, 0, 0], **ONE)  # type: ignore[arg-type]
    joint = world.add_joint(kind, a, b, **given)  # type: ignore[arg-type]
    assert joint.kind == kind and joint.bodies == (a, b) and world.joints == [joint]
    assert joint.coordinates.shape == joint.rates.shape == (free,)
    assert joint.jacobian.shape == (free, 12)
    world.step(5)
    assert max(world.joint_error) < 1e-6
    joint.remove()
    assert world.joints == [] and "removed" in repr(joint)


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        ("hinge", {}, "there is no joint 'hinge'"),
        ("revolut", {}, "did you mean 'revolute'"),
        ("screw", {}, "screw: pitch is missing"),
        ("universal", {}, "universal: axis_b is missing"),
        ("rope", {}, "rope: position_b is missing"),
        ("gear", {}, "gear: needs two bodies"),
        ("revolute", {"axis": [0, 0, 0]}, "axis must not be zero"),
        ("distance", {"position_b": [1, 0, 0], "length": -1.0}, "length must be positive"),
    ],
)
def test_bad_joints_are_refused(kind: str, given: dict[str, object], text: str) -> None:
    world = ds.World()
    body = world.add_body(**ONE)  # type: ignore[arg-type]
    with pytest.raises(ds.InputError) as e:
        world.add_joint(kind, None, body, **given)  # type: ignore[arg-type]
    assert text in str(e.value)
    assert world.joints == []


def test_joints_have_names() -> None:
    world = ds.World()
    _, hinge = pendulum(world)
    assert world.joint("hinge") == hinge and hinge.name == "hinge" and "hinge" in repr(hinge)
    with pytest.raises(KeyError):
        world.joint("knee")


def test_the_hinge_carries_the_weight() -> None:
    world = ds.World()
    body = world.add_body(position=[0, 0, -1], **ONE)  # type: ignore[arg-type]
    joint = world.add_joint("ball", None, body)
    world.step(3)
    assert joint.force == pytest.approx([0, 0, 9.81], abs=1e-6)
    assert joint.position == pytest.approx([0, 0, 0], abs=1e-9)


def test_speed_motors_hold_their_speed(floating: ds.World) -> None:
    _, hinge = pendulum(floating)
    hinge.set_motor(speed=2.0)
    floating.step(10)
    assert hinge.rates[0] == pytest.approx(2.0)
    hinge.remove_motor()
    hinge.set_friction(5.0)
    floating.step(200)
    assert hinge.rates[0] == pytest.approx(0.0, abs=1e-6)


def test_position_motors_arrive(floating: ds.World) -> None:
    _, hinge = pendulum(floating)
    hinge.set_motor(position=0.5, limit=50.0)
    floating.step(300)
    assert hinge.coordinates[0] == pytest.approx(0.5, abs=1e-4)


def test_force_motors_push(floating: ds.World) -> None:
    _, hinge = pendulum(floating)
    hinge.set_motor(force=1.1)
    floating.step(10)
    # 1.1 N m about the hinge: m r² + I = 1.1 kg m².
    assert hinge.rates[0] == pytest.approx(0.1, rel=1e-6)
    assert hinge.motor_forces[0] == pytest.approx(1.1)


def test_motors_follow_functions(floating: ds.World) -> None:
    _, hinge = pendulum(floating)
    hinge.set_motor(speed={"sine": {"amplitude": 3.0, "frequency": 2.0}})
    floating.step(13)
    assert hinge.rates[0] == pytest.approx(3 * np.sin(2 * np.pi * 2 * 0.13), rel=1e-3)


def test_motors_have_limits(floating: ds.World) -> None:
    _, hinge = pendulum(floating)
    hinge.set_motor(speed=100.0, limit=1.1)
    floating.step(10)
    assert hinge.rates[0] == pytest.approx(0.1, rel=1e-6)


def test_bad_motors_are_refused(floating: ds.World) -> None:
    body, hinge = pendulum(floating)
    with pytest.raises(ds.InputError, match="give one of"):
        hinge.set_motor()
    with pytest.raises(ds.InputError, match="give one of"):
        hinge.set_motor(speed=1.0, force=1.0)
    with pytest.raises(ds.InputError, match="there is no free coordinate 1"):
        hinge.set_motor(speed=1.0, coordinate=1)
    with pytest.raises(ds.InputError, match="limit must not be negative"):
        hinge.set_motor(speed=1.0, limit=-1.0)
    with pytest.raises(ds.InputError, match="lower must be at most upper"):
        hinge.set_limits(1.0, 0.0)


def test_limits_stop() -> None:
    world = ds.World()
    _, hinge = pendulum(world)
    hinge.set_limits(-0.3, 0.3)
    world.step(100)
    assert abs(hinge.coordinates[0]) == pytest.approx(0.3, abs=1e-3)
    hinge.set_limits()
    world.step(50)
    assert abs(hinge.coordinates[0]) > 0.5


def test_springs_pull_back(floating: ds.World) -> None:
    _, hinge = pendulum(floating)
    hinge.set_spring(11.0, rest=0.1)
    floating.step(400)
    assert hinge.coordinates[0] != 0.0
    hinge.set_spring(11.0, 20.0, rest=0.1)
    floating.step(1000)
    assert hinge.coordinates[0] == pytest.approx(0.1, abs=1e-3)


def test_mechanisms_settle() -> None:
    world = ds.World()
    body, hinge = pendulum(world)
    hinge.set_spring(50.0)
    world.settle()
    world.step(50)
    assert hinge.rates[0] == pytest.approx(0.0, abs=1e-6) and body.position[2] < 0


def test_joined_bodies_do_not_collide_unless_asked() -> None:
    for collide in (False, True):
        world = ds.World(gravity=[0, 0, 0])
        a, b = (world.add_body(ds.sphere(0.6), mass=1.0, position=[x, 0, 0]) for x in (0.0, 1.0))
        world.add_joint("revolute", a, b, position=[0.5, 0, 0], collide=collide)
        assert (world.step().contacts > 0) is collide


def test_a_point_follows_functions_of_time() -> None:
    world = ds.World(gravity=[0, 0, 0], step=0.001)
    body = world.add_body(**ONE)  # type: ignore[arg-type]
    way = {"sine": {"amplitude": 0.5, "frequency": 1.0}}
    joint = world.add_joint("trajectory", None, body, follow=[way, 0.0, {"ramp": {"from": 0.0, "to": 2.0, "start": 0.0, "end": 1.0}}], turn=[0, 0, 0])
    world.step(250)
    assert joint.kind == "trajectory"
    assert body.position == pytest.approx([0.5, 0.0, 0.5], abs=1e-6)


def test_a_pulley_lifts_by_its_ratio() -> None:
    world = ds.World(step=0.001)
    a = world.add_body(mass=1.0, inertia=[1, 1, 1], position=[0, 0, 0])
    b = world.add_body(mass=1.0, inertia=[1, 1, 1], position=[1, 0, 0])
    world.add_joint("pulley", a, b, position=[0, 0, 0], position_b=[1, 0, 0], points=[[0, 0, 1], [1, 0, 1]], ratio=2.0)
    world.step(100)
    # |A side| + 2 |B side| stays: A falls twice as fast as B rises, or the other way round.
    assert a.position[2] == pytest.approx(-2 * b.position[2], rel=1e-6) and abs(a.position[2]) > 1e-3


def test_a_disc_rolls_without_slip() -> None:
    world = ds.World(step=0.001)
    disc = world.add_body(mass=1.0, inertia=[0.1, 0.2, 0.1], position=[0, 0, 0.5], velocity=[1, 0, 0], angular_velocity=[0, 2, 0])
    world.add_joint("rolling_disc", None, disc, position_b=[0, 0, 0.5], axis_b=[0, 1, 0], radius=0.5)
    world.step(500)
    assert disc.position == pytest.approx([0.5, 0, 0.5], abs=1e-3)
    assert disc.velocity[0] == pytest.approx(0.5 * disc.angular_velocity[1], abs=1e-6)


@pytest.mark.parametrize(
    ("kind", "given", "word"),
    [
        ("pulley", {"position_b": [1, 0, 0]}, "points"),
        ("trajectory", {}, "follow"),
        ("knife_edge", {}, "axis_b"),
        ("rolling_disc", {"axis_b": [0, 1, 0], "radius": 0.1}, "position_b"),
        ("bushing", {"stiffness": [1, 2]}, "stiffness must be a number or three"),
        ("bushing", {"stiffness": -1.0}, "stiffness"),
    ],
)
def test_what_a_joint_lacks_is_named(kind: str, given: dict[str, object], word: str) -> None:
    world = ds.World()
    a = world.add_body(**ONE)  # type: ignore[arg-type]
    b = world.add_body(position=[1, 0, 0], **ONE)  # type: ignore[arg-type]
    with pytest.raises(ds.InputError, match=word):
        world.add_joint(kind, a, b, **given)  # type: ignore[arg-type]


def test_a_joint_joins_somebody(floating: ds.World) -> None:
    with pytest.raises(ds.InputError, match="ball joint: a and b are both None"):
        floating.add_joint("ball", None, None)


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        ("revolute", {"stiffness": 1e5}, "revolute joint: has no stiffness; a spring along its coordinate"),
        ("revolute", {"position_b": [9, 9, 9]}, "revolute joint: has no position_b"),
        ("ball", {"length": 1.0}, "ball joint: has no length"),
        ("fixed", {"axis_b": [1, 0, 0]}, "fixed joint: has no axis_b"),
        ("distance", {"position_b": [0, 0, 1], "damping": 3.0}, "distance joint: has no damping"),
        ("gear", {"pitch": 0.1}, "gear joint: has no pitch"),
    ],
)
def test_what_a_joint_has_no_use_for_is_refused(kind: str, given: dict[str, object], text: str) -> None:
    world = ds.World()
    a, b = (world.add_body(ds.sphere(0.1), position=[x, 0, 0]) for x in (0.0, 1.0))
    with pytest.raises(ds.InputError, match=re.escape(text)):
        world.add_joint(kind, a, b, **given)  # type: ignore[arg-type]
