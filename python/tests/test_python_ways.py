"""What Python users expect of any library: containers, pickles, copies, errors by name, events of all steps, backends."""

from __future__ import annotations

import copy
import os
import pathlib
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import drystone as ds


loose: Any = ds  # For calls that type checkers refuse.


def again(thing: Any) -> list[Any]:
    """Through a pickle, and copied."""
    return [pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing)]


# Containers


def test_a_world_is_a_container_of_its_bodies(ground: ds.World) -> None:
    ball = ground.add_body(ds.sphere(0.5), mass=1.0, name="ball")
    floor = ground["floor"]
    assert len(ground) == 2 == ground.body_count and list(ground) == [floor, ball] == ground.bodies
    assert ball in ground and floor in ground and "ball" in ground and 1 in ground
    for absent in ("box", 2, -1, 7.5, None, [1], ds.sphere(1), ds.World().add_body(ds.sphere(1))):
        assert absent not in ground
    ball.remove()
    assert ball not in ground and "ball" not in ground and 1 not in ground and list(ground) == [floor]
    with pytest.raises(KeyError, match="there is no body ball"):
        ground["ball"]
    with pytest.raises(ds.InputError, match=r"a body goes by its row or its name, got \[1\]"):
        ground[[1]]  # type: ignore[index]


def test_an_empty_world_is_true_and_has_no_bodies() -> None:
    world = ds.World()
    assert world and len(world) == 0 and list(world) == []


def test_bodies_can_be_removed_while_one_goes_through_them() -> None:
    world = ds.World()
    world.add_bodies(ds.sphere(0.1), [(k, 0, 0) for k in range(5)])
    for body in world:
        if body.index % 2:
            body.remove()
    assert [b.index for b in world] == [0, 2, 4]


# Pickles and copies


@pytest.mark.parametrize(
    "shape",
    [
        ds.sphere(0.1),
        ds.box([0.1, 0.2, 1 / 3]),
        ds.capsule(0.1, 0.3),
        ds.cylinder(0.1, 0.3),
        ds.cone(0.1, 0.3),
        ds.ellipsoid((0.1, 0.2, 0.3)),
        ds.half_space(),
        ds.rounded(ds.box([0.1, 0.2, 0.3]), 0.05),
        ds.hull(np.random.default_rng(1).normal(size=(40, 3))),
        ds.mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]),
        ds.height_field([[0, 0.1], [0.3, 0.5]], 0.7),
        ds.compound([(ds.sphere(0.1), [0, 0, 0]), (ds.box([0.1, 0.1, 0.1]), [1, 0, 0], [0.6, 0.8, 0, 0])]),
    ],
    ids=lambda shape: shape.kind,
)
def test_shapes_pickle_to_the_last_bit(shape: ds.Shape) -> None:
    for other in again(shape):
        assert other == shape and hash(other) == hash(shape) and repr(other) == repr(shape)
    assert shape != ds.sphere(0.125)


def test_colliders_pickle() -> None:
    given = ds.Collider(ds.sphere(0.2), position=[0, 0, 1], rotation=[0.6, 0.8, 0, 0], friction=0.3, material="felt", layers=2, mask=6, sensor=True)
    for other in again(given):
        world = ds.World()
        (own,) = world.add_body(colliders=[other], motion="static").colliders
        assert (own.shape, own.friction, own.material, own.layers, own.mask, own.sensor) == (ds.sphere(0.2), 0.3, "felt", 2, 6, True)
        assert own.position == pytest.approx([0, 0, 1]) and own.rotation == pytest.approx([0.6, 0.8, 0, 0])


def test_reports_pickle(ground: ds.World) -> None:
    ground.add_body(ds.sphere(0.5), mass=1.0, position=[0, 0, 0.5], friction=0.5)
    report = ground.step(3)
    for other in again(report):
        assert other == report and repr(other) == repr(report)
        assert (other.step, other.contacts, other.status) == (3, 1, "converged")
        assert other.certificate == report.certificate and other.ms == report.ms and sum(other.ms.values()) > 0
    assert ground.step() != report


def test_solutions_pickle() -> None:
    found = ds.solve({"W": np.eye(3), "q": [-1.0, 0.2, 0.1], "mu": [0.5]}, tolerance=1e-12)
    for other in again(found):
        assert (other.r == found.r).all() and (other.u == found.u).all() and other.report == found.report
        assert (other.solved, other.status, other.iterations, other.residual) == (True, "solved", found.iterations, found.residual)
        assert repr(other) == repr(found)


def test_scenes_pickle_with_their_parameters(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in again(ds.load("stack", n=4)):
        assert other.body_count == ds.load("stack", n=4).body_count and other.name == "stack"
    # A file is found from another folder, and read again there.
    (tmp_path / "one.toml").write_text(
        'name = "one"\n[settings]\nT = 1\n[[body]]\nshape = {type = "sphere", r = 0.5}\nmass = 1\n'
    )
    monkeypatch.chdir(tmp_path)
    saved = pickle.dumps(ds.load("one.toml"))
    monkeypatch.chdir("/")
    assert pickle.loads(saved).world().body_count == 1
    (tmp_path / "one.toml").unlink()
    with pytest.raises(ds.InputError, match="one.toml"):
        pickle.loads(saved)


def test_contacts_pickle_as_their_arrays(ground: ds.World) -> None:
    ground.add_body(ds.box([0.5, 0.5, 0.5]), mass=2.0, position=[0, 0, 0.5], friction=0.5)
    ground.step(5)
    contacts = ground.contacts
    for other in again(contacts):
        assert len(other) == 4
        for column in ("bodies", "points", "normals", "gaps", "friction", "impulses", "forces"):
            assert (getattr(other, column) == getattr(contacts, column)).all()
        assert not other.points.flags.writeable
    ground.step(5)
    assert contacts.forces[:, 2].sum() == pytest.approx(2 * 9.81, rel=1e-3)


def test_batches_pickle_with_what_they_go_back_to() -> None:
    batch = ds.Batch.of("stack", 3, threads=1, n=2)
    batch.step(2)
    batch[1].step(3)
    times = batch.times
    for other in again(batch):
        assert type(other) is ds.Batch and len(other) == 3 and other.threads == 1
        assert (other.times == times).all() and (other.positions == batch.positions).all()
        other.step(4)
        other.reset([1])
        assert other.times == pytest.approx([times[0] + 0.04, 0, times[2] + 0.04])
    batch.step(4)
    assert (batch.times == times + 0.04).all() or batch.times == pytest.approx(times + 0.04)


# Arguments that are not what they must be


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w: loose.sphere("1"), "^radius must be a number, got '1'$"),
        (lambda w: loose.box("abc"), "^half must be three numbers, got 'abc'$"),
        (lambda w: loose.capsule(0.1, None), "^half_length must be a number, got None$"),
        (lambda w: loose.rounded("box", 0.1), r"^core must be a shape \(ds.sphere\(0.5\), ...\), got 'box'$"),
        (lambda w: loose.set_threads(-1), "^n must be a whole number, not negative, got -1$"),
        (lambda w: loose.set_threads(2.5), "^n must be a whole number"),
        (lambda w: loose.set_threads(0), "threads must be between 1 and 512, got 0"),
        (lambda w: w.add_body(ds.sphere(1), mass="1"), "^mass must be a number or None, got '1'$"),
        (lambda w: w.add_body("sphere", mass=1), r"^shape must be a shape \(ds.sphere\(0.5\), ...\), got 'sphere'$"),
        (lambda w: w.add_body(ds.sphere(1), friction="high"), "^friction must be a number, got 'high'$"),
        (lambda w: w.add_body(ds.sphere(1), motion=3), "^motion must be a text, got 3$"),
        (lambda w: w.add_body(ds.sphere(1), name=3), "^name must be a text or None, got 3$"),
        (lambda w: w.add_body(colliders=3), r"^colliders must be a list of colliders \(ds.Collider\), got 3$"),
        (lambda w: w.add_body(ds.sphere(1), position=[1, 2]), r"^position must be three numbers, got \[1, 2\]$"),
        (lambda w: w.add_body(ds.sphere(10**400)), "^radius must be a number, got 1000"),
        (lambda w: w[0].apply_force("up"), "^force must be three numbers, got 'up'$"),
        (lambda w: w[0].add_collider(ds.sphere(1)), r"^collider must be a collider \(ds.Collider\), got sphere\(1\)$"),
        (lambda w: w[0].force_from(3), "^other must be a body, got 3$"),
        (lambda w: setattr(w[0], "mass", "1"), "must be a number, got '1'$"),
        (lambda w: setattr(w[0], "motion", 1), "must be a text, got 1$"),
        (lambda w: setattr(w[0], "friction", None), "must be a number, got None$"),
        (lambda w: setattr(w[0], "position", 1), "must be three numbers, got 1$"),
        (lambda w: w.add_joint(3, None, w[0]), "^kind must be a text, got 3$"),
        (lambda w: w.add_joint("revolute", "floor", w[0]), "^a must be a body, or None for the world, got 'floor'$"),
        (lambda w: w.add_joint("screw", None, w[0], pitch="x"), "^pitch must be a number or None, got 'x'$"),
        (lambda w: w.distance(w[0], 1), "^b must be a body, got 1$"),
        (lambda w: w.ray([0, 0, 1], [0, 0, -1], "far"), "^max_distance must be a number, got 'far'$"),
        (lambda w: w.set_pair("a", "b", friction="x"), "^friction must be a number, got 'x'$"),
        (lambda w: w.record_events("yes"), "^on must be True or False, got 'yes'$"),
        (lambda w: w.step("3"), "n must be a whole number, at least 1, got '3'"),
        (lambda w: w.view("long"), "^duration must be a number, got 'long'$"),
        (lambda w: w.restore(3), r"^state must be one of save_state\(\), got 3$"),
        (lambda w: loose.World.load("xx"), r"^bytes must be those of save\(\), got 'xx'$"),
        (lambda w: loose.World.load(b"xx"), "this is no saved world"),
        (lambda w: w.set_guide(w[0], along=3), "^along must be three numbers and a function of time, got 3$"),
        (lambda w: w.set_guide(w[0], about=([0, 0, 1], 1.0)), "only a kinematic body can be guided"),
        (lambda w: loose.World(step="1e-2x"), "step: must be a number"),
        (lambda w: loose.World(backend=3), "^backend must be a text, got 3$"),
        (lambda w: loose.Batch(3), "^worlds must be a list of worlds, got 3$"),
        (lambda w: loose.Batch([w, 3]), "^worlds must be a list of worlds"),
        (lambda w: loose.Batch.of("stack", 2.5), "count must be a whole number, not negative, got 2.5"),
        (lambda w: loose.Batch([w]).command([0], "fast"), "values must be an array of real numbers, got 'fast'"),
        (lambda w: loose.Batch([w]).command([0], [1.0]), r"values must have the shape \(1, 1\), got \(1,\)"),
        (lambda w: loose.Batch([w]).command(0, [[1.0]]), "joints must be joints of one of the worlds, or their numbers, got 0"),
        (lambda w: loose.Batch([w]).command([-1], [[1.0]]), "joints must be joints"),
        (lambda w: loose.Batch([w]).command([0], [[1.0]], limit="x"), "^limit must be a number, got 'x'$"),
        (lambda w: loose.Batch([w]).reset("all"), "^which must be numbers of worlds, got 'all'$"),
        (lambda w: loose.Batch([w]).reset(0), "^which must be numbers of worlds, got 0$"),
        (lambda w: loose.Batch([w]).reset([-1]), r"^which must be numbers of worlds, got \[-1\]$"),
        (lambda w: loose.run(3), "^scene must be a name or a path, got 3$"),
        (lambda w: loose.load(None), "^scene must be a name or a path, got None$"),
        (lambda w: loose.run("stack", record="/tmp/never", record_every=-1), "record_every must be above 0 s, got -1"),
        (lambda w: loose.Batch([w]).coordinates(["hinge"]), "joints must be joints of one of the worlds"),
        (lambda w: loose.Batch([w]).coordinates([3]), "world 0: there is no joint 3"),
        (lambda w: loose.Batch([w]).rates(None), "joints must be joints of one of the worlds"),
    ],
)
def test_arguments_are_refused_by_name(call: Callable[[ds.World], object], text: str) -> None:
    world = ds.World()
    world.add_body(ds.sphere(0.5), mass=1.0)
    with pytest.raises(ds.InputError, match=text) as caught:
        call(world)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, ds.Error)


def test_a_wrong_type_is_a_type_error_too() -> None:
    with pytest.raises(TypeError, match="radius must be a number"):
        loose.sphere("1")


# Events of several steps


def hops() -> tuple[ds.World, ds.Body]:
    """A ball that bounces on a floor."""
    world = ds.World(step=0.005)
    world.set_pair("rubber", "rubber", friction=0.0, restitution=0.9)
    world.add_body(ds.half_space(), motion="static", material="rubber")
    ball = world.add_body(ds.sphere(0.1), mass=1.0, position=[0, 0, 0.3], material="rubber")
    world.record_events()
    return world, ball


def test_step_n_tells_what_n_steps_began_and_ended() -> None:
    one, _ = hops()
    each = []
    for _ in range(400):
        one.step()
        each += [(e.step, e.phase) for e in one.contact_events if e.phase != "persist"]
    many, ball = hops()
    many.step(400)
    told = many.contact_events
    changed = [(e.step, e.phase) for e in told if e.phase != "persist"]
    assert changed == each and len(changed) > 10 and many.events_lost == 0
    assert [e.step for e in told] == sorted(e.step for e in told)
    # What goes on is told of the last step alone.
    assert all(e.step == 400 for e in told if e.phase == "persist")
    first = told[0]
    assert first.phase == "begin" and first.bodies[0] == ball and first.impulse[2] > 1.0
    # The next call tells of its own.
    many.step(1)
    assert all(e.step == 401 for e in many.contact_events)


def test_hooks_hear_of_their_step_alone() -> None:
    world, _ = hops()
    heard: list[list[int]] = []
    world.after_step(lambda w: heard.append([e.step for e in w.contact_events]))
    world.step(300)
    assert len(heard) == 300 and any(heard)
    assert all(set(steps) <= {k + 1} for k, steps in enumerate(heard))
    # Afterwards the call's own are there.
    assert len(world.contact_events) > 2


def test_sensors_and_limits_tell_of_all_steps() -> None:
    world = ds.World()
    gate = world.add_body(colliders=[ds.Collider(ds.box([1, 1, 0.1]), sensor=True)], motion="static")
    ball = world.add_body(ds.sphere(0.1), mass=1.0, position=[0, 0, 1])
    world.record_events()
    world.step(100)
    assert [(e.phase, e.sensor, e.other) for e in world.sensor_events] == [("begin", gate, ball), ("end", gate, ball)]
    begun, ended = world.sensor_events
    assert 30 < begun.step < ended.step < 70


def test_events_are_forgotten_when_others_step_the_world() -> None:
    world, _ = hops()
    world.step(300)
    assert len(world.contact_events) > 2
    ds.Batch([world], threads=1).step(1)
    assert all(e.step == 301 for e in world.contact_events)


# Backends and recordings of runs

has_gpu = pytest.mark.skipif(not ds.devices(), reason="there is no GPU")
no_gpu = pytest.mark.skipif(bool(ds.devices()), reason="there is a GPU")


@no_gpu
@pytest.mark.parametrize("call", [lambda: ds.run("packing", n=30, backend="cuda"), lambda: ds.World(backend="cuda")])
def test_a_gpu_that_is_missing_is_told(call: Callable[[], object]) -> None:
    with pytest.raises(ds.InputError) as caught:
        call()
    text = str(caught.value)
    assert "CUDA" in text and "driver" in text and text.endswith('or use backend="cpu"') and "--" not in text


@no_gpu
def test_auto_is_the_processor_without_a_gpu_and_says_why() -> None:
    told = ds.run("packing", n=30, steps=5, backend="auto")
    assert told["status"] == "ok" and told["backend"] == "cpu"
    assert told["device"]["auto"] == "cpu" and told["device"]["why_not"].endswith('or use backend="cpu"')
    plain = ds.run("packing", n=30, steps=5)
    assert plain["state_hash"] == told["state_hash"] and "device" not in plain


@has_gpu
def test_runs_and_worlds_take_whole_steps_on_a_gpu() -> None:
    told = ds.run("packing", n=100, steps=20, backend="cuda")
    assert told["backend"] == "cuda" and told["device"]["whole_step"] and told["status"] == "ok"
    scene = ds.load("packing", n=100)
    world = ds.World(backend="cuda", step=scene.settings["step"])
    assert world.backend == "cuda" and world.settings["solver"] == "cuda-auto"
    floor = world.add_body(ds.half_space(), motion="static", friction=0.4)
    world.add_bodies(ds.sphere(0.1), [(0.19 * (k % 4), 0.19 * (k // 4 % 4), 0.1 + 0.2 * (k // 16)) for k in range(64)], friction=0.4)
    report = world.step(50)
    assert report.step == 50 == world.steps and np.isfinite(world.positions[1:]).all()
    assert (world.positions[1:, 2] > 0.05).all() and floor in world
    world[5].velocity = [0, 0, 1.0]
    world.step(2)
    assert world.steps == 52 and world[5].velocity[2] > 0.5


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: loose.run("packing", n=30, backend="gpu"), "unknown backend 'gpu'.*valid: cpu, cuda, auto"),
        (lambda: loose.World(backend="gpu"), "unknown backend 'gpu'"),
        (lambda: loose.World(backend="auto"), "'auto' compares both over a run, which ds.run does; a world takes 'cpu' or 'cuda'"),
    ],
)
def test_backends_are_refused_by_name(call: Callable[[], object], text: str) -> None:
    with pytest.raises(ds.InputError, match=text):
        call()


def test_a_run_takes_the_place_of_a_recording(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "run"
    ds.run("stack", n=2, steps=5, record=folder, record_every=0.01)
    with pytest.raises(ds.InputError, match="take its place with record_replace=True, or"):
        ds.run("stack", n=2, steps=5, record=folder)
    ds.run("stack", n=2, steps=9, record=folder, record_every=0.01, record_replace=True)
    assert len(ds.Recording(folder).series["time_s"]) == 9
    world = ds.load("stack").world()
    with pytest.raises(ds.InputError, match="take its place with replace=True, or"):
        with ds.recording(world, folder):
            pass
    with ds.recording(world, folder, replace=True):
        world.step(4)
    assert len(ds.Recording(folder).series["time_s"]) == 4


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("or use --backend cpu", 'or use backend="cpu"'),
        ("with --record-replace, or", "with record_replace=True, or"),
        ("a larger --budget-ms", "a larger budget_ms"),
        ("--solver auto", 'solver="auto"'),
        ("take a shorter --step, or more --max-substeps", "take a shorter step, or more max_substeps"),
        ("a dash -- and a-b --- c", "a dash -- and a-b --- c"),
        ("--iterations", "iterations"),
        ("", ""),
    ],
)
def test_options_of_the_command_are_arguments_here(text: str, spelled: str) -> None:
    from drystone import _drystone

    assert _drystone._spelled(text) == spelled


# Threads

THREADS = """
import threading
import drystone as ds
{setting}

def hashes():
    told = []
    for how in (lambda w: [w.step() for _ in range(20)], lambda w: w.step(20)):
        w = ds.load("packing", n=120).world()
        how(w)
        told.append(w.state_hash)
    return told

{first}
aside = []
thread = threading.Thread(target=lambda: aside.extend(hashes()))
thread.start()
thread.join(60)
assert not thread.is_alive(), "it waits for the main thread"
assert aside == hashes() and len(set(aside)) == 1
assert ds.threads() == {n}
try:
    ds.set_threads(3)
except ds.InputError as e:
    assert "once, before the first step" in str(e)
else:
    raise AssertionError("they cannot change any more")
"""


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("first", ["hashes()", ""], ids=["main-first", "thread-first"])
def test_main_and_other_threads_step_alike_and_never_wait_for_each_other(n: int, first: str) -> None:
    program = THREADS.format(n=n, first=first, setting=f"ds.set_threads({n})")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_environment_may_say_how_many_threads_there_are() -> None:
    program = THREADS.format(n=2, first="", setting="")
    environment = {**os.environ, "RAYON_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr


SHARED = """
import faulthandler, pickle, threading
import drystone as ds

world = ds.World()
world.add_body(ds.half_space(), motion="static", friction=0.5)
world.add_body(ds.sphere(0.1), mass=1.0, position=[0, 0, 0.1], friction=0.5)

def repeat(call, n):
    for _ in range(n):
        call()

jobs = [(world.step, 200), (world.step, 200), {jobs}]
faulthandler.dump_traceback_later(60, exit=True)
threads = [threading.Thread(target=repeat, args=job) for job in jobs]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert world.steps == 400
"""


GROWING = """
import threading
import drystone as ds

world = ds.World(gravity=[0, 0, 0])
wrong = []

def add():
    for k in range(500):
        world.add_body(ds.sphere(0.1), mass=1.0, position=[k, 0, 0], mask=0)

def read():
    rows = 0
    try:
        for _ in range(500):
            world.step()
            x = world.positions
            assert len(x) >= rows and (x[:, 1:] == 0).all()
            rows = len(x)
    except Exception as e:
        wrong.append(e)

threads = [threading.Thread(target=job) for job in (read, read, add, add)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong
assert len(world.positions) == 1000
"""


def test_arrays_are_read_while_another_thread_adds_bodies() -> None:
    done = subprocess.run([sys.executable, "-c", GROWING], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "jobs",
    [
        "(lambda: pickle.dumps(world), 200), (world.save, 200)",
        "(world.penetration, 200), (world.assemble, 200)",
    ],
    ids=["save", "assemble"],
)
def test_who_saves_and_who_steps_never_wait_for_each_other(jobs: str) -> None:
    done = subprocess.run([sys.executable, "-c", SHARED.format(jobs=jobs)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
