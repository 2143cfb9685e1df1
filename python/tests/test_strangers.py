"""What people who do not know the package hand it: states of other worlds, numbers beyond all bounds, outputs that cannot be written."""

from __future__ import annotations

import pathlib
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import drystone as ds

loose: Any = ds  # For calls that type checkers refuse.


def two(shape: ds.Shape = ds.sphere(0.1)) -> ds.World:
    world = ds.World(gravity=[0, 0, 0])
    world.add_body(shape, mass=1.0, velocity=[1, 0, 0])
    world.add_body(shape, mass=1.0, position=[3, 0, 0])
    return world


# States


def test_a_state_is_of_its_own_bodies() -> None:
    world = two()
    state = world.save_state()
    # Of a copy, of a world made in the same way, through a pickle.
    for other in (two(), pickle.loads(pickle.dumps(world)), ds.World.load(world.save())):
        other.step(3)
        other.restore(pickle.loads(pickle.dumps(state)))
        assert other.state_hash == world.state_hash
    strange = [two(ds.box([0.1] * 3)), two(), two()]
    strange[1][1].remove()
    strange[1].add_body(ds.sphere(0.1), mass=1.0, position=[7, 0, 0])
    strange[2][1].add_collider(ds.Collider(ds.sphere(0.2)))
    for other in strange:
        before = other.state_hash
        with pytest.raises(ds.InputError, match="the state is of other bodies"):
            other.restore(state)
        assert other.state_hash == before and other.step().step == 1


def test_somebody_may_come_and_go() -> None:
    world = two()
    state = world.save_state()
    guest = world.add_body(ds.sphere(0.1), mass=1.0, position=[9, 0, 0])
    with pytest.raises(ds.InputError, match="the state has 2 bodies, the world 3"):
        world.restore(state)
    guest.remove()
    world.step(5)
    world.restore(state)
    assert world.time == 0 and world[0].position.tolist() == [0, 0, 0]
    assert world.positions.shape == (3, 3) and world.step(5).step == 5


def test_a_joint_makes_others_of_them() -> None:
    world = two()
    state = world.save_state()
    joint = world.add_joint("ball", world[0], world[1])
    with pytest.raises(ds.InputError, match="the state has 0 joints, the world 1"):
        world.restore(state)
    joint.remove()
    world.restore(state)


def test_ground_gets_no_velocity_back() -> None:
    world = two()
    state = world.save_state()
    world[0].motion = "static"
    world.restore(state)
    assert world[0].velocity.tolist() == [0, 0, 0]
    world.step(10)
    assert world[0].position.tolist() == [0, 0, 0]


def test_a_reset_keeps_motors_and_refuses_others() -> None:
    def wheel() -> ds.World:
        world = ds.World(gravity=[0, 0, 0])
        world.add_joint("revolute", None, world.add_body(ds.sphere(0.1), mass=1.0))
        return world

    batch = ds.Batch([wheel(), wheel()])
    batch.command([0], [[1.0], [2.0]])
    batch.step(5)
    batch.reset()
    assert batch.rates([0]).tolist() == [[0.0], [0.0]]
    batch.step(5)
    assert batch.rates([0]) == pytest.approx(np.array([[1.0], [2.0]]))
    batch[1].joints[0].remove()
    with pytest.raises(ds.InputError, match="the state is of other bodies"):
        batch.reset()


# Bounds


def field(spacing: float = 1.0, height: float = 0.0) -> ds.Shape:
    return ds.height_field([[0.0, 0.0], [0.0, height]], spacing)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w, j: j.set_motor(force=1e200), "motor: force must be within 1e60 N or N m, got 1e200"),
        (lambda w, j: j.set_motor(speed=-1e200), "motor: speed must be within 1e12 m/s or rad/s, got -1e200"),
        (lambda w, j: j.set_motor(position=1e200), "motor: position must be within 1e12 m or rad"),
        (lambda w, j: j.set_motor(speed={"sine": {"amplitude": 1e200, "frequency": 1}}), "motor: speed must be within"),
        (lambda w, j: j.set_motor(speed={"sine": {"amplitude": 1, "frequency": 1e200}}), "speed: frequency must be within 1e12 Hz"),
        (lambda w, j: j.set_motor(speed=1, limit=1e200), "motor: limit must be at most 1e60 N or N m"),
        (lambda w, j: j.set_motor(speed=True), "speed: a function of time is a number"),
        (lambda w, j: j.set_spring(1e200), "spring: stiffness must be at most 1e60"),
        (lambda w, j: j.set_spring(1, 1e200), "spring: damping must be at most 1e60"),
        (lambda w, j: j.set_spring(1, rest=1e200), "spring: rest must be within 1e12 m or rad"),
        (lambda w, j: j.set_limits(-1e200, 1), "limits: lower must be within 1e12 m or rad, got -1e200"),
        (lambda w, j: j.set_limits(-1, 1e200), "limits: upper must be within 1e12"),
        (lambda w, j: j.set_friction(1e200), "friction must be at most 1e60 N or N m"),
        (lambda w, j: ds.Batch([w]).command([0], [[1e200]]), r"values\[0, 0\] must be within 1e12 m/s or rad/s, got 1e200"),
        (lambda w, j: ds.Batch([w]).command([0], [[np.nan]], kind="force"), r"values\[0, 0\] must be within 1e60 N"),
        (lambda w, j: ds.Batch([w]).command([0], [[1.0]], limit=-1), "limit must be from 0 to 1e60"),
        (lambda w, j: w.add_body(ds.sphere(1), friction=1e200), "friction must be at most 1e12, got 1e200"),
        (lambda w, j: setattr(w[0], "friction", 1e200), "friction must be at most 1e12"),
        (lambda w, j: w.set_pair("a", "b", friction=1, cohesion=1e200), "cohesion must be at most 1e60 N"),
        (lambda w, j: w.set_pair("a", "b", friction=1e200), "friction must be at most 1e12"),
        (lambda w, j: w.add_body(ds.sphere(1), charge=1e200), "charge must be within 1e40 C, got 1e200"),
        (lambda w, j: field(spacing=1e200), "spacing: 2 columns must span at most 1e12 m, got 1e200"),
        (lambda w, j: field(height=1e200), r"heights\[3\] must be within 1e12 m, got 1e200"),
        (lambda w, j: ds.compound([(ds.sphere(1), [1e200, 0, 0])]), "part 0: position must be within 1e12 m"),
        (lambda w, j: ds.mesh([[0.0, 0.0, 0.0], [1e30, 0.0, 0.0], [0.0, 1e30, 0.0]], [[0, 1, 2]]), "vertices must be within 1e12 m"),
        (lambda w, j: ds.sphere(1e-200), "radius must be at least 1e-20 m"),
        (lambda w, j: w.ray([1e200, 0, 0], [1, 0, 0]), "origin must be within 1e12 m of the origin, got 1e200"),
        (lambda w, j: w.overlap(ds.sphere(1), position=[0, 1e200, 0]), "position must be within 1e12 m"),
        (lambda w, j: w.project([0, 1e200, 0]), "point must be within 1e12 m"),
        (lambda w, j: w.step(10**18), "n must be a whole number, at least 1 and at most 1000000000000, got 1000000000000000000"),
        (lambda w, j: w.add_joint("distance", None, w[0], position_b=[1, 0, 0], length=1e200), "length must be at most 1e12 m"),
        (lambda w, j: w.add_joint("ball", None, w[0], compliance=[1e200, 0]), "compliance must be at most 1e60"),
    ],
)
def test_numbers_beyond_all_bounds_are_refused(call: Callable[[ds.World, ds.Joint], object], text: str) -> None:
    world = ds.World()
    body = world.add_body(ds.sphere(0.5), mass=1.0)
    hinge = world.add_joint("revolute", None, body, axis=[0, 1, 0])
    with pytest.raises(ds.InputError, match=text):
        call(world, hinge)
    world.step(3)
    assert np.isfinite(world.positions).all()


# Rows of static bodies


def test_static_rows_have_no_velocity() -> None:
    world = two()
    world[1].motion = "static"
    rows = np.array([[2.0, 0, 0], [0, 0, 1]])
    for name, text in (("velocities", "row 1: velocity: body 1 is static"), ("angular_velocities", "row 1: angular velocity: body 1")):
        with pytest.raises(ds.InputError, match=text):
            setattr(world, name, rows)
        with pytest.raises(ds.InputError, match=text):
            ds.Batch([world]).set_bodies(**{name: rows[None]})
    assert world.velocities.tolist() == [[1, 0, 0], [0, 0, 0]]
    rows[1] = 0
    world.velocities = rows
    assert world[0].velocity.tolist() == [2, 0, 0]


# Runs


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"time": 1e200}, r"time must be at most .* s, which is 1000000000000 steps"),
        ({"steps": 10**18}, "steps must be at most 1000000000000, got 1000000000000000000"),
        ({"steps": 10**30}, "steps must be a whole number, not negative and at most 18446744073709551615"),
        ({"steps": 3, "time": 1.0}, "time and steps: give one of the two"),
        ({"time": True}, "time must be a number or None, got True"),
        ({"record_every": -1}, "record_every must be above 0 s, got -1"),
        ({"record_every": "often"}, "record_every must be above 0 s, got 'often'"),
        ({"record_every": 0.1}, "record_every=0.1 needs record, the folder of the recording"),
        ({"record_replace": True}, "record_replace=True needs record"),
        ({"report": 3}, "report must be a path, got 3"),
        ({"record": 3}, "record must be a path, got 3"),
        ({"report": "{}"}, "report must be a file, got"),
        ({"record": "{}/file"}, "record must be a folder, got"),
        ({"report": "{}/file/report.json"}, "report=.* cannot be written: .*file' is no folder"),
        ({"record": "{}/a/b", "report": "{}/a/../a/b"}, "report and record must be two places"),
    ],
)
def test_outputs_and_lengths_of_runs_are_looked_at_before(tmp_path: pathlib.Path, given: dict[str, Any], text: str) -> None:
    (tmp_path / "file").write_text("")
    given = {k: v.format(tmp_path) if isinstance(v, str) else v for k, v in given.items()}
    called: list[float] = []
    with pytest.raises(ds.InputError, match=text):
        ds.run("stack", n=2, callback=lambda w: called.append(w.time), **given)
    assert not called and sorted(p.name for p in tmp_path.iterdir()) == ["file"]


def test_reports_are_written_where_no_folder_is_yet(tmp_path: pathlib.Path) -> None:
    told = ds.run("stack", n=2, steps=3, report=tmp_path / "new" / "report.json", record=tmp_path / "run")
    assert (tmp_path / "new" / "report.json").is_file() and len(ds.Recording(tmp_path / "run")) >= 1
    assert "recording" not in told or told["recording"] is None


# Arguments


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w: setattr(w[0], "motion", 3), "^motion must be a text, got 3$"),
        (lambda w: setattr(w[0], "mass", True), "must be a number, got True"),
        (lambda w: w.add_body(ds.sphere(1), mass=True), "^mass must be a number or None, got True$"),
        (lambda w: w.add_body(ds.sphere(1), mass=np.True_), "^mass must be a number or None, got "),
        (lambda w: w.add_body(ds.sphere(1), position=[True, 0, 0]), r"^position must be three numbers, got \[True, 0, 0\]$"),
        (lambda w: w.add_body(ds.sphere(1), friction=True), "^friction must be a number, got True$"),
        (lambda w: w.step(True), "n must be a whole number, at least 1"),
        (lambda w: w.add_joint("ball", None, w[0], compliance=[-1]), r"^compliance must be two numbers, got \[-1\]$"),
        (lambda w: w.add_joint("ball", None, w[0], compliance=[-1, 0]), "compliance must be finite and not negative"),
        (lambda w: w.add_joint("pulley", w[0], w[1], points=[[0, 0]]), r"^points must be two points of three numbers, got \[\[0, 0\]\]$"),
        (lambda w: w.add_joint("trajectory", None, w[0], follow=[0, 0]), r"^follow must be three functions of time, got \[0, 0\]$"),
        (lambda w: w.add_joint("revolute", None, w[0], axis=[0, 0, 0]), "axis must not be zero"),
        (lambda w: w.add_joint("gear", w[0], w[1], axis_b=[0, 0, 0]), "axis_b must not be zero"),
        (lambda w: w.add_joint("universal", None, w[0], axis=[1, 0, 0], axis_b=[2, 0, 0]), "axis_b must not be along axis"),
        (lambda w: w.add_joint("fixed", None, w[0], rotation=[1, 1, 0, 0]), "rotation must be a unit quaternion"),
        (lambda w: loose.Batch([w]).reset([True]), r"^which must be numbers of worlds \(of a mask: np.flatnonzero\), got \[True\]$"),
        (lambda w: loose.Batch([w]).reset(np.array([True])), "np.flatnonzero"),
        (lambda w: loose.Batch([w]).command([0, 0], [[1.0, 2.0]]), "joints must be each another, got joint 0 twice"),
        (lambda w: loose.Batch([w]).command([True], [[1.0]]), "joints must be joints of one of the worlds"),
        (lambda w: loose.World(seed=2**70), "^seed must be a whole number, not negative and at most 18446744073709551615, got "),
        (lambda w: w.distance(w[0], w["gate"]), r"body 0 and body 2 \(gate\) have no distance: one has no shape but sensors"),
        (lambda w: w.distance(w["floor"], w["ramp"]), "have no distance"),
        (lambda w: loose.compound(3), r"^parts must be \(shape, position\)"),
        (lambda w: loose.compound([(ds.sphere(1), 3)]), r"^parts must be \(shape, position\)"),
        (lambda w: loose.height_field([[0, 0], [0, 0]], True), "^spacing must be one number or two, m, got True"),
        (lambda w: loose.Recording(3), "^path must be a path, got 3$"),
        (lambda w: loose.recording(w, 3).__enter__(), "^folder must be a path, got 3$"),
        (lambda w: loose.solve(3), "^problem must be a path or a mapping, got 3$"),
    ],
)
def test_what_is_meant_is_named(call: Callable[[ds.World], object], text: str) -> None:
    world = two()
    world.add_body(colliders=[ds.Collider(ds.sphere(1), sensor=True)], motion="static", name="gate")
    world.add_body(ds.half_space(), motion="static", position=[0, 0, -5], name="floor")
    world.add_body(ds.half_space(), motion="static", rotation=[0.6, 0.8, 0, 0], position=[0, 0, -5], name="ramp")
    with pytest.raises(ds.InputError, match=text):
        call(world)


def test_bodies_without_a_distance_have_no_closest_points() -> None:
    world = two()
    gate = world.add_body(colliders=[ds.Collider(ds.sphere(1), sensor=True)], motion="static")
    floor = world.add_body(ds.half_space(), motion="static", position=[0, 0, -1])
    assert world.closest_points(world[0], gate) is None
    assert world.distance(world[0], floor) == pytest.approx(0.9)
    hit = world.closest(ds.half_space(), position=[0, 0, -2], motion="static")
    assert hit is None
    below = world.project([50, 0, -1.5])
    assert below is not None and below.distance == pytest.approx(-0.5) and below.body == floor


def test_a_name_of_several_is_no_name() -> None:
    world = two()
    world[0].name = world[1].name = "ball"
    assert "ball" in world
    with pytest.raises(KeyError, match="there are 2 bodies 'ball': go through world.bodies and choose one"):
        world["ball"]
    with pytest.raises(KeyError, match="there is no body -1: rows are counted from 0, and there are 2"):
        world[-1]
    for _ in range(2):
        world.add_joint("ball", None, world[0], name="pin")
    with pytest.raises(KeyError, match="there are 2 joints 'pin'"):
        world.joint("pin")


def test_a_material_that_is_spelt_wrong_is_told() -> None:
    world = ds.World()
    world.set_pair("rubber", "steel", friction=0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world.add_body(ds.half_space(), motion="static", material="steel")
        world.add_body(ds.sphere(0.1), position=[0, 0, 1], material="glass")
    with pytest.warns(UserWarning, match="material 'ruber' is in no pair of set_pair; did you mean 'rubber'"):
        ball = world.add_body(ds.sphere(0.1), position=[0, 0, 1], material="ruber")
    with pytest.warns(UserWarning, match="did you mean 'steel'"):
        ball.colliders[0].material = "stel"
    with pytest.warns(UserWarning, match="did you mean 'steel'"):
        ball.add_collider(ds.Collider(ds.sphere(0.1), material="steeel"))


def test_forces_that_no_step_can_take_wait_to_be_forgotten() -> None:
    world = ds.World()
    ball = world.add_body(ds.sphere(0.1), mass=1.0)
    ball.apply_force([1e50, 0, 0])
    for _ in range(2):
        with pytest.raises(ds.StepError):
            world.step()
    world.clear_forces()
    assert world.step().step == 1


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w: w[True], "a body goes by its row or its name, got True"),
        (lambda w: w[0].remove_collider("hull"), "a collider goes by itself or its number, got 'hull'"),
        (lambda w: w.add_body(ds.box([1, 1, 1]), mask=True), "mask"),
        (lambda w: motor(w, {"sin": {"amplitude": 1, "frequency": 2}}), "there is no 'sin', did you mean 'sine'"),
        (lambda w: motor(w, {"ramp": {}, "sine": {}}), "it has one key"),
        (lambda w: motor(w, "fast"), "a function of time is a number or one of"),
    ],
)
def test_what_is_not_meant_is_refused(call: Callable[[ds.World], object], text: str) -> None:
    with pytest.raises((ds.InputError, KeyError), match=text):
        call(two())


def motor(world: ds.World, speed: object) -> None:
    hinge = world.add_joint("revolute", None, world[0])
    hinge.set_motor(speed=speed)  # type: ignore[arg-type]
