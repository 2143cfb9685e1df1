"""User data, debug drawing, recordings, the viewer, and errors that say what is wrong."""

from __future__ import annotations

import copy
import gc
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import drystone as ds


def stack(n: int = 3) -> tuple[ds.World, list[ds.Body]]:
    world = ds.World()
    world.add_body(ds.half_space(), motion="static", friction=0.5)
    cubes = [world.add_body(ds.box([0.1, 0.1, 0.1]), mass=1.0, position=[0, 0, 0.1 + 0.2 * k], friction=0.5) for k in range(n)]
    return world, cubes


# User data


def test_objects_stay_with_bodies_and_joints() -> None:
    world, (cube, other, _) = stack()
    joint = world.add_joint("distance", None, cube, position=[0, 0, 1], position_b=[0, 0, 0.1])
    assert cube.user_data is None and joint.user_data is None
    kept = {"row": 7}
    cube.user_data = kept
    joint.user_data = "a text"
    world.step(3)
    assert world[cube.index].user_data is kept and world.joints[0].user_data == "a text" and other.user_data is None
    cube.user_data = None
    assert cube.user_data is None
    cube.remove()
    with pytest.raises(ds.InputError, match="does not exist"):
        cube.user_data = 1
    again = world.add_body(ds.sphere(0.1), mass=1.0, position=[5, 0, 1])
    assert again.index == cube.index and again.user_data is None, "the slot has another body now"


def test_copies_and_pickles_have_the_objects() -> None:
    world, (cube, *_) = stack()
    cube.user_data = [1, 2]
    for other in (copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        assert other[cube.index].user_data == [1, 2]
        assert other[cube.index].user_data is not cube.user_data


def test_a_world_that_knows_itself_is_collected() -> None:
    world, (cube, *_) = stack()
    cube.user_data = world
    world.after_step(lambda _: world)
    gone = weakref.ref(world)
    del world, cube, _
    gc.collect()
    assert gone() is None


# Debug drawing


def test_a_drawing_has_what_was_asked_for() -> None:
    world, cubes = stack()
    world.step(10)
    nothing: dict[str, Any] = {"shapes": False, "contacts": False, "joints": False}
    assert len(world.debug_draw(**nothing)) == 0
    contacts = world.debug_draw(shapes=False)
    assert contacts.points.shape == (12, 3) and contacts.point_colours.shape == (12, 4)
    assert contacts.lines.shape == (12, 2, 3) and contacts.colours.shape == (12, 4)
    shapes = world.debug_draw(**{**nothing, "shapes": True})
    assert len(shapes) > 36 and np.isfinite(shapes.lines).all()
    forces = world.debug_draw(**nothing, forces=0.01)
    ends = forces.lines[:, 1] - forces.lines[:, 0]
    # 3 on the floor, 2 on the first, 1 on the second; drawn from each contact point on one of its two bodies.
    assert abs(ends[:, 2]).sum() == pytest.approx(0.01 * 6 * 9.81, rel=1e-3)
    assert len(world.debug_draw(**nothing, axes=0.1)) == 3 * 4
    with pytest.raises(ds.InputError, match="forces must be finite"):
        world.debug_draw(forces=float("nan"))
    assert "lines" in repr(forces)


# States


def test_a_state_pickles() -> None:
    world, _ = stack()
    world.step(5)
    state = pickle.loads(pickle.dumps(world.save_state()))
    world.step(20)
    after = world.state_hash
    world.restore(state)
    assert state.step == 5 and "step 5" in repr(state)
    world.step(20)
    assert world.state_hash == after, "bit for bit"
    assert copy.deepcopy(state).hash == state.hash


# Recordings


def test_a_recording_is_what_happened(tmp_path: pathlib.Path) -> None:
    world, (cube, *_) = stack()
    heights = []
    with ds.recording(world, tmp_path / "run", steps=5, double=True, name="stack"):
        for _ in range(4):
            world.step(5)
            heights.append(cube.position[2])
    run = ds.Recording(tmp_path / "run")
    assert len(run) == 5 and run.scene == "stack" and run.finished and run.losses == []
    assert run.times == pytest.approx([0, 0.05, 0.1, 0.15, 0.2]) and run.steps.tolist() == [0, 5, 10, 15, 20]
    frames = [run[k] for k in range(1, 5)]
    assert [f["centres"][0, 2] for f in frames] == heights, "double precision is exact"
    assert run[-1]["step"] == 20 and run[-1]["contacts"]["impulses"].shape[1] == 3
    assert len(run.series["kinetic_j"]) == 20 and run.series["contacts"][-1] == 12
    assert [b["motion"] for b in run.bodies].count("dynamic") == 3
    assert sum(1 for _ in run) == 5 and "5 frames" in repr(run)
    with pytest.raises(IndexError):
        run[5]
    page = run.view()
    assert "<canvas" in page.page and "<iframe" in page._repr_html_()


def test_recordings_are_not_written_over_by_chance(tmp_path: pathlib.Path) -> None:
    world, _ = stack()
    with ds.recording(world, tmp_path):
        world.step(3)
        with pytest.raises(ds.InputError, match="already"), ds.recording(world, tmp_path / "other"):
            pass
    with pytest.raises(ds.InputError, match="already"), ds.recording(world, tmp_path):
        pass
    with ds.recording(world, tmp_path, replace=True, steps=1):
        world.step(2)
    assert len(ds.Recording(tmp_path)) == 3
    with pytest.raises(ds.InputError, match="one of the two"), ds.recording(world, tmp_path, every=0.1, steps=1):
        pass
    with pytest.raises(ds.InputError):
        ds.Recording(tmp_path / "nothing")


def test_a_run_can_be_recorded(tmp_path: pathlib.Path) -> None:
    report = ds.run("stack", n=3, steps=30, record=tmp_path / "stack", record_every=0.1)
    run = ds.Recording(tmp_path / "stack")
    assert report["steps"] == 30 and len(run.series["time_s"]) == 30 and run.scene == "stack" and len(run) == 4


# The viewer


def test_a_page_shows_the_world(tmp_path: pathlib.Path) -> None:
    world, _ = stack()
    now = world.view()
    assert world.time == 0.0 and "<canvas" in now.page
    film = world.view(0.3, frames=20, height=200, title="three cubes")
    assert world.time == pytest.approx(0.3) and len(film.page) > len(now.page)
    shown = film._repr_html_()
    assert shown.startswith("<iframe") and 'height="200"' in shown and shown.count('"') % 2 == 0
    film.save(tmp_path / "film.html")
    assert (tmp_path / "film.html").read_text(encoding="utf-8") == film.page
    for wrong in ({"duration": -1.0}, {"duration": float("nan")}, {"frames": 0.0}):
        with pytest.raises(ds.InputError):
            world.view(**wrong)  # type: ignore[arg-type]


# Devices


def test_devices_are_a_list() -> None:
    devices = ds.devices()
    assert isinstance(devices, list)
    if not devices:
        with pytest.raises(ds.InputError, match="needs a GPU"):
            ds.World(solver="cuda-apgd")


# Errors


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda w: w.step(-1), ds.InputError, "n must be a whole number, at least 1, got -1"),
        (lambda w: w.step(0), ds.InputError, "n must be a whole number, at least 1, got 0"),
        (lambda w: w.step(1.5), ds.InputError, "n must be a whole number, at least 1, got 1.5"),
        (lambda w: ds.box([1, 2]), ds.InputError, r"^half must be three numbers, got \[1, 2\]$"),
        (lambda w: ds.box("abc"), TypeError, "^half must be three numbers, got 'abc'$"),  # type: ignore[arg-type]
        (lambda w: w.add_body(ds.sphere(1), mass=1, rotation=[1, 0, 0]), TypeError, r"^rotation must be four numbers \(w, x, y, z\), got \[1, 0, 0\]$"),
        (lambda w: ds.height_field(np.zeros((3, 3)), "x"), ds.InputError, "spacing must be one number or two"),  # type: ignore[arg-type]
        (lambda w: ds.height_field(np.zeros(3), 0.1), ds.InputError, r"heights must have the shape \(n, m\), got \(3,\)"),
        (lambda w: ds.height_field([["a"]], 0.1), ds.InputError, "heights must be an array of numbers"),
        (lambda w: ds.hull([[1, 2]]), ds.InputError, r"points must have the shape \(n, 3\)"),
        (lambda w: ds.mesh(np.eye(3), [[0, 1, -1]]), ds.InputError, "triangles must be numbers of vertices"),
        (lambda w: ds.mesh(np.eye(3), [[0, 1, 2.5]]), ds.InputError, "triangles must be numbers of vertices"),
        (lambda w: ds.compound([ds.sphere(1)]), ds.InputError, "parts must be"),  # type: ignore[list-item]
        (lambda w: w.configure(tolerance="x"), ds.InputError, "tolerance: must be a number"),
        (lambda w: w.configure(step=-0.1), ds.InputError, "step: must be above 0 s, got -0.1"),
        (lambda w: w.configure(step=float("nan")), ds.InputError, "step: must be finite"),
        (lambda w: w.configure(solver="pgss"), ds.InputError, "solver: .*did you mean 'pgs'"),
        (lambda w: w.configure(iteratoins=3), ds.InputError, "did you mean 'iterations'"),
        (lambda w: w.configure(gravity=[1, 2]), ds.InputError, r"gravity: must be three numbers, got \[1, 2\]"),
        (lambda w: w.configure(gravity={}), ds.InputError, "gravity: must be three numbers, got {}"),
        (lambda w: w.ray([0, 0, 1], [0, 0, -1], layer=1), TypeError, "did you mean 'layers'"),
        (lambda w: w.ray([0, 0, 1], [0, 0, -1], layers=-1), ds.InputError, "layers must be 32 bits"),
        (lambda w: w.ray([0, 0, 1], [0, 0, -1], exclude=[1]), ds.InputError, "exclude must be a list of bodies"),
        (lambda w: w.ray([0, 0, 1], [0, 0, -1], motion="fast"), ds.InputError, "motion must be"),
    ],
)
def test_errors_say_what_is_wrong(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(ds.World())


def test_one_spacing_is_enough() -> None:
    assert ds.height_field(np.zeros((3, 3)), 0.1) == ds.height_field(np.zeros((3, 3)), [0.1, 0.1])


def test_bodies_of_another_world_cannot_be_excluded() -> None:
    world, _ = stack()
    other, cubes = stack()
    with pytest.raises(ds.InputError, match="another world"):
        world.ray([0, 0, 3], [0, 0, -1], exclude=cubes)


# Things that must not break it


@pytest.mark.parametrize(
    ("tell", "text"),
    [
        (lambda w, b: setattr(b, "position", [0, 1e200, 0]), "position must be within 1e12 m of the origin, got 1e200"),
        (lambda w, b: b.set_pose([0, 0, -2e12], [1, 0, 0, 0]), "position must be within 1e12 m"),
        (lambda w, b: setattr(b, "velocity", [1e308, 0, 0]), "velocity must be within 1e12 m/s, got 1e308"),
        (lambda w, b: setattr(b, "angular_velocity", [0, 0, 1e13]), "angular velocity must be within 1e12 rad/s"),
        (lambda w, b: b.apply_force([1e300, 0, 0]), "force must be within 1e60 N, got 1e300"),
        (lambda w, b: b.apply_torque([1e300, 0, 0]), "torque must be within 1e60 N m"),
        (lambda w, b: b.apply_impulse([0, -1e300, 0]), "impulse must be within 1e60 N s"),
        (lambda w, b: b.apply_impulse([0, -1e30, 0]), "would get too fast by it: velocity must be within 1e12 m/s"),
        (lambda w, b: setattr(w, "positions", np.full((2, 3), 1e13)), "row 0: position must be within 1e12 m"),
        (lambda w, b: setattr(w, "velocities", np.diag([0, 1e13, 0])[:2]), "row 1: velocity must be within 1e12 m/s"),
        (lambda w, b: w.apply_forces(np.full((2, 3), 1e61)), "row 0: force must be within 1e60 N"),
        (lambda w, b: w.configure(gravity=[0, 0, 1e300]), "gravity: must be within 1e12 m/s²"),
        (lambda w, b: w.configure(step=1e10), "step: must be from 1e-15 to 1e9 s, got 1e10"),
        (lambda w, b: ds.World(step=1e300), "step: must be from 1e-15 to 1e9 s"),
        (lambda w, b: w.add_body(ds.sphere(1), mass=1.0, velocity=[1e200, 0, 0]), "velocity must be within 1e12 m/s"),
        (lambda w, b: w.add_bodies(ds.sphere(1), [[0, 0, 1e13]]), "row 0: position must be within 1e12 m"),
        (lambda w, b: ds.run("packing", n=20, step=1e10), "step: must be from 1e-15 to 1e9 s"),
    ],
)
def test_numbers_beyond_the_limits_are_refused_by_name(tell: Any, text: str) -> None:
    world, (cube, *_) = stack(1)
    before = world.state_hash
    with pytest.raises(ds.InputError, match=text):
        tell(world, cube)
    assert world.state_hash == before


def test_a_step_that_comes_to_more_than_the_limits_is_an_error() -> None:
    world, (cube, *_) = stack(1)
    world.configure(step=1e5)
    cube.velocity = [3e7, 0, 0]
    before = world.state_hash
    with pytest.raises(ds.StepError, match=r"step 1: the new position must be within 1e12 m of the origin, got .* .body 1.$"):
        world.step(5)
    assert world.state_hash == before and world.steps == 0


def test_static_bodies_have_no_velocity_and_refuse_pushes() -> None:
    world = ds.World()
    with pytest.raises(ds.InputError, match="velocity: a static body has none .surface_velocity makes it a belt"):
        world.add_body(ds.box([1, 1, 0.1]), motion="static", velocity=[1, 0, 0])
    slab = world.add_body(ds.box([1, 1, 0.1]), motion="static", friction=0.5, name="slab", mass=7.0)
    led = world.add_body(ds.box([1, 1, 0.1]), motion="kinematic", position=[0, 0, 9])
    with pytest.raises(ds.InputError, match="body 0 .slab.: velocity: a static body has none"):
        slab.velocity = [1, 0, 0]
    slab.velocity = [0, 0, 0]
    for push in (slab.apply_force, slab.apply_torque, slab.apply_impulse, slab.apply_angular_impulse):
        with pytest.raises(ds.InputError, match="slab. is static, which nothing pushes"):
            push([1, 0, 0])
    with pytest.raises(ds.InputError, match="is kinematic, which nothing pushes: give it a velocity"):
        led.apply_force([1, 0, 0])
    with pytest.raises(ds.InputError, match="mass must be positive and finite, got -1"):
        world.add_body(ds.box([1, 1, 0.1]), motion="static", mass=-1.0)
    # The belt that has a name; and the mass that counts once the body is dynamic.
    slab.set_surface_velocity([1, 0, 0])
    box = world.add_body(ds.box([0.1, 0.1, 0.1]), mass=1.0, position=[-0.5, 0, 0.2], friction=0.5)
    world.step(50)
    assert box.velocity[0] == pytest.approx(1.0, abs=1e-3)
    slab.motion = "dynamic"
    assert slab.mass == 7.0 and world.masses[0] == 7.0


def test_bodies_in_one_place_do_not_break_a_step() -> None:
    world = ds.World()
    world.add_body(ds.half_space(), motion="static")
    balls = [world.add_body(ds.sphere(0.1), mass=1.0, position=[0, 0, 0.5]) for _ in range(4)]
    world.step(100)
    assert np.isfinite(world.positions).all()
    x = np.array([b.position for b in balls])
    apart = np.linalg.norm(x[:, None] - x[None], axis=2) + np.eye(4)
    assert apart.min() > 0.19, "they are pushed apart"


# Batches and others at once


def test_a_batch_is_stepped_while_others_step_its_worlds() -> None:
    worlds = [stack(2)[0] for _ in range(24)]
    one, other = ds.Batch(worlds, threads=2), ds.Batch(worlds[::-1], threads=2)
    jobs = [lambda: one.step(10), lambda: other.step(10), lambda: [w.step(10) for w in worlds], lambda: other.positions]
    threads = [threading.Thread(target=job, daemon=True) for job in jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=60)
    assert not any(t.is_alive() for t in threads), "nobody waits for ever"
    assert [w.steps for w in worlds] == [30] * 24


def test_a_world_is_in_a_batch_once() -> None:
    worlds = [stack(1)[0] for _ in range(20)]
    with pytest.raises(ds.InputError, match="world 20 is in the batch twice"):
        ds.Batch([*worlds, worlds[0]])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w: w.ray([0, 0, 1], [0, 0, -1], -1.0), "max_distance must not be negative, got -1"),
        (lambda w: w.ray([0, 0, 1], [0, 0, -1], float("nan")), "max_distance must not be negative, got NaN"),
        (lambda w: w.project([float("nan"), 0, 0]), "point must be three finite numbers"),
        (lambda w: w.closest(ds.sphere(1), rotation=[0, 0, 0, 0]), "rotation must be a unit quaternion, its length is 0"),
        (lambda w: w.overlap(ds.sphere(1), position=[0, 0, float("inf")]), "position must be three finite numbers"),
        (lambda w: ds.sphere(1).inertia(-1.0), "mass must be positive and finite, got -1"),
        (lambda w: w.add_body(ds.sphere(1), density=0.0), "density must be positive and finite, got 0"),
        (lambda w: w.add_body(ds.sphere(1), mass=1.0, layers=-1), "^layers must be 32 bits, from 0 to 0xffffffff, got -1$"),
        (lambda w: w.add_body(ds.sphere(1), mass=1.0, group=-1), "^group must be 32 bits"),
        (lambda w: ds.World(seed=-1), "^seed must be a whole number, not negative, got -1$"),
        (lambda w: ds.run("stack", steps=-1), "^steps must be a whole number, not negative, got -1$"),
        (lambda w: ds.Batch([w], threads=-1), "^threads must be a whole number, not negative, got -1$"),
        (lambda w: ds.Batch.of("stack", -2), "count must be a whole number, not negative, got -2"),
        (lambda w: w.after_step(3), "hook must be a function of the world, got 3"),
        (lambda w: w.add_bodies(ds.sphere(1), np.zeros((1, 3), complex)), "^positions must be an array of real numbers with 2 dimensions"),
        (lambda w: w.add_bodies(ds.sphere(1), np.zeros(3)), r"^positions must be .* got the shape \(3,\)$"),
        (lambda w: ds.solve({"W": np.eye(3) * 1j, "q": [0, 0, 0], "mu": [0.5]}), "W must be an array of real numbers"),
        (lambda w: ds.solve({"W": "abc", "q": [0, 0, 0], "mu": [0.5]}), "W must be an array of real numbers, got 'abc'"),
        (lambda w: ds.solve({"W": np.eye(3), "q": [0, 0, 0], "mu": [0.5]}, iterations=-1), "^iterations must be a whole number"),
    ],
)
def test_nonsense_is_refused_as_input(call: Any, text: str) -> None:
    with pytest.raises(ds.InputError, match=text):
        call(ds.World())


def test_a_motor_needs_a_function_of_time() -> None:
    world, (cube, *_) = stack()
    hinge = world.add_joint("revolute", None, cube, axis=[0, 1, 0])
    with pytest.raises(ds.InputError, match="a function of time is a number or one of .* got <function"):
        hinge.set_motor(speed=lambda t: t)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="there is no body -1"):
        world[-1]


@pytest.mark.parametrize("wrong", ["positions", "rotations", "velocities"])
def test_one_bad_row_changes_none(wrong: str) -> None:
    world, cubes = stack()
    given = {name: world.read(name) + 0.0 for name in ("positions", "rotations", "velocities")}
    given["positions"][1:, 0] += 1.0
    given[wrong][2] = np.nan
    before = world.state_hash
    with pytest.raises(ds.InputError, match="row 2: "):
        world.set_bodies(**given)
    assert world.state_hash == before


# Forked processes


FORKED = """
import multiprocessing, os
import drystone as ds

def pile():
    world = ds.World()
    world.add_body(ds.half_space(), motion="static", friction=0.5)
    for k in range(30):
        world.add_body(ds.box([0.1, 0.1, 0.1]), mass=1.0, position=[0, 0, 0.1 + 0.2 * k], friction=0.5)
    return world

def job(world):
    world.step(10)
    return world.state_hash, ds.Batch([pile()]).step(2), ds.run("stack", n=3, steps=2)["status"]

batch = ds.Batch([pile(), pile()], threads=2)
batch.step(2)
alone = pile()
alone.step(10)
with multiprocessing.get_context("fork").Pool(2) as pool:
    found = pool.map_async(job, [pile() for _ in range(4)]).get(60)
assert {f[0] for f in found} == {alone.state_hash}, found
child = os.fork()
if child == 0:
    batch.step(2)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_processes_have_threads_of_their_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=120)
    assert done.stdout == "same\n", done.stderr
