"""What is of the wrong kind is a `TypeError` that names it, what would do nothing is refused, and what contradicts itself is told."""

from __future__ import annotations

import math
import pathlib
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import drystone as ds

loose: Any = ds  # For calls that type checkers refuse.


def ball() -> ds.World:
    world = ds.World(gravity=[0, 0, 0])
    world.add_body(ds.sphere(0.1), mass=1.0)
    return world


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w: loose.World(foo=1), "^there is no setting 'foo'"),
        (lambda w: w.configure(foo=1), "^there is no setting 'foo'"),
        (lambda w: loose.World(step="a"), "^step: must be a number, got 'a'$"),
        (lambda w: loose.World(step=True), "^step: must be a number, got True$"),
        (lambda w: loose.World(gravity=9.81), "^gravity: must be three numbers, got 9.81$"),
        (lambda w: loose.World(solver=3), "^solver: must be a text, got 3$"),
        (lambda w: loose.World(solver=None), "^solver: must be a text, got None$"),
        (lambda w: loose.World(broadphase=3), "^broadphase: must be a text or None, got 3$"),
        (lambda w: loose.World(budget_ms="a"), "^budget_ms: must be a number or None, got 'a'$"),
        (lambda w: loose.World(iterations="a"), "^iterations: must be a whole number, got 'a'$"),
        (lambda w: loose.World(sleep=3), "^sleep: must be True, False or a text, got 3$"),
        (lambda w: loose.World(warm_start=1), "^warm_start: must be True or False, got 1$"),
        (lambda w: w.ray([0, 0, 1], [0, 0, 1], exclude=[1]), r"^exclude must be a list of bodies, got \[1\]$"),
        (lambda w: w.ray([0, 0, 1], [0, 0, 1], exclude=w[0]), "^exclude must be a list of bodies, got <body 0"),
        (lambda w: w.ray([0, 0, 1], [0, 0, 1], mask="a"), "^mask must be 32 bits, from 0 to 0xffffffff, got 'a'$"),
        (lambda w: w.ray([0, 0, 1], [0, 0, 1], mask=-1), "^mask must be 32 bits, from 0 to 0xffffffff, got -1$"),
        (lambda w: w.ray([0, 0, 1], [0, 0, 1], layer=1), "^there is no keyword 'layer'; did you mean 'layers'"),
        (lambda w: w.before_step(5), "^hook must be a function of the world, got 5$"),
        (lambda w: w.step("1"), "^n must be a whole number, at least 1, got '1'$"),
        (lambda w: w.step(1.5), "^n must be a whole number, at least 1, got 1.5$"),
        (lambda w: w.add_body(inertia="round"), "^inertia must be three principal moments or a "),
        (lambda w: w.add_joint("bushing", None, w[0], stiffness="soft"), "^stiffness must be a number or three, got 'soft'$"),
        (lambda w: loose.run("stack", callback=5), "^callback must be a function of the world, got 5$"),
        (lambda w: loose.run("stack", progress="x"), "^progress must be True, False or None, got 'x'$"),
        (lambda w: loose.run("stack", record="/tmp/never", record_every="x"), "^record_every must be above 0 s, got 'x'$"),
        (lambda w: loose.hull("x"), "^points must be an array of numbers, got 'x'"),
        (lambda w: loose.mesh(1, 2), "^vertices must be an array of numbers, got 1$"),
        (lambda w: loose.compound([ds.sphere(1)]), r"^parts must be \(shape, position\)"),
        (lambda w: loose.height_field(np.zeros((2, 2)), (1,)), r"^spacing must be one number or two, m, got \(1,\)$"),
        (lambda w: loose.Batch.of("pendulum", 1.5), "^count must be a whole number, not negative, got 1.5$"),
        (lambda w: loose.Batch([w]).command("a", [[1.0]]), "^joints must be joints of one of the worlds"),
        (lambda w: loose.Batch([w])[1.5], "^a world of a batch goes by its number, got 1.5$"),
        (lambda w: loose.Batch([w])[True], "^a world of a batch goes by its number, got True$"),
        (lambda w: loose.solve({"W": "x", "q": [1], "mu": [1]}), "^W must be an array of real numbers, got 'x'$"),
        (lambda w: loose.view(5), "^world must be a world, got 5$"),
        (lambda w: loose.recording(5, "folder").__enter__(), "^world must be a world, got 5$"),
        (lambda w: w.view(height="tall"), "^height must be a whole number, at least 1, got 'tall'$"),
    ],
)
def test_wrong_kinds_are_type_errors(call: Callable[[ds.World], object], text: str) -> None:
    with pytest.raises(TypeError, match=text) as caught:
        call(ball())
    assert isinstance(caught.value, ds.InputError)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w: w.view(height=-5), "^height must be a whole number, at least 1, got -5$"),
        (lambda w: w.debug_draw(size=-1), "^size must be finite and not negative, got -1$"),
        (lambda w: w.debug_draw(forces=-1), "^forces must be finite and not negative, got -1$"),
        (lambda w: w.step(0), "^n must be a whole number, at least 1, got 0"),
        (lambda w: w.set_guide(w[0], along=([0, 0, 0], 1.0)), "^along must not be zero$"),
        (lambda w: w.set_guide(w[0], about=([0, 0, 0], 1.0)), "^about must not be zero$"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(call: Callable[[ds.World], object], text: str) -> None:
    with pytest.raises(ds.InputError, match=text) as caught:
        call(ball())
    assert not isinstance(caught.value, TypeError)


def test_a_view_is_saved_to_a_path_and_nothing_else(tmp_path: pathlib.Path) -> None:
    page = ball().view()
    for where in (1, None, open):
        with pytest.raises(TypeError, match="^path must be a path, got "):
            loose.View.save(page, where)
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.page


@pytest.mark.parametrize("length", [0.5, 1.0, 2.0, 1e-200, 1e200])
def test_guides_have_directions_of_any_length(length: float) -> None:
    world = ds.World()
    table = world.add_body(ds.box([1, 1, 0.1]), motion="kinematic")
    way, angle = ({"ramp": {"from": 0.0, "to": to, "start": 0.0, "end": 1.0}} for to in (0.3, 0.2))
    world.set_guide(table, along=([length, 0, 0], way), about=([0, 0, length], angle))
    world.step(100)
    assert table.position.tolist() == pytest.approx([0.3, 0, 0], abs=1e-9)
    assert table.rotation.tolist() == pytest.approx([math.cos(0.1), 0, 0, math.sin(0.1)], abs=1e-9)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ({"sine": {"amplitude": 1}}, r"missing 'frequency', got {'sine': {'amplitude': 1}}$"),
        ({"sine": {"amplitude": "x", "frequency": 1}}, r"expected f64, got {'sine'"),
        (True, "got True$"),
        ("fast", "got 'fast'$"),
        ([1, 2], r"got \[1, 2\]$"),
        (None, "motor: give one of speed, position and force"),
    ],
)
def test_functions_of_time_are_refused_in_words(command: object, text: str) -> None:
    world = ball()
    hinge: Any = world.add_joint("revolute", None, world[0])
    with pytest.raises(ds.InputError, match=text) as caught:
        hinge.set_motor(speed=command)
    assert "line" not in str(caught.value) and "column" not in str(caught.value)


def test_rays_without_end_see_a_height_field_as_long_ones_do() -> None:
    world = ds.World()
    world.add_body(ds.height_field(np.zeros((2, 2)), 1.0), motion="static")
    assert world.ray([0.2, 0.2, 1], [0, 0, 1]) is None and world.ray_all([0.2, 0.2, 1], [0, 0, 1]) == []
    down = world.ray([0.2, 0.2, 1], [0, 0, -1])
    assert down is not None and down.distance == pytest.approx(1.0)
    rng = np.random.default_rng(1)
    world.add_body(ds.height_field(rng.uniform(0, 0.3, (21, 21)), 0.5), motion="static", position=[20, 0, 0])
    hits = 0
    for _ in range(300):
        origin = [20 + rng.uniform(-4, 4), rng.uniform(-4, 4), rng.uniform(0.3, 1)]
        direction = rng.normal(size=3) * [1, 1, 0.1]
        endless, long = world.ray(origin, direction), world.ray(origin, direction, 1e4)
        assert (endless is None) == (long is None)
        if endless is not None and long is not None:
            assert endless.distance == long.distance
            hits += 1
    assert 50 < hits < 250


# Contradictions


def pressed(**motor: Any) -> tuple[ds.World, ds.Joint]:
    """An arm whose motor wants beyond a limit."""
    world = ds.World(step=0.001)
    arm = world.add_body(ds.box([0.3, 0.1, 0.1]), mass=1, position=[0.3, 0, 0], name="arm")
    hinge = world.add_joint("revolute", None, arm, axis=[0, 1, 0], name="hinge")
    hinge.set_limits(-0.1, 0.1)
    hinge.set_motor(**motor)
    return world, hinge


@pytest.mark.parametrize("kind", ["position", "speed"])
def test_motors_that_contradict_a_limit_give_way_and_are_named(kind: str) -> None:
    world, hinge = pressed(**{kind: 0.5})
    with pytest.warns(UserWarning, match="contradict each other.*hinge") as told:
        report = world.step(500)
    assert len(told) == 1
    assert hinge.coordinates[0] == pytest.approx(0.1, abs=1e-3)
    assert report.contradiction[0] == {"joint": hinge.index, "bodies": [0]}
    assert pickle.loads(pickle.dumps(report)) == report
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert world.step(10).contradiction  # Named in every step, warned of once.


def test_motors_with_a_limit_contradict_nobody() -> None:
    world, hinge = pressed(position=0.5, limit=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = world.step(500)
    assert report.contradiction == [] and report.apart is None
    assert hinge.coordinates[0] == pytest.approx(0.1, abs=1e-4)


def test_position_motors_stop_at_the_ground() -> None:
    world = ds.World(step=0.001)
    world.add_body(ds.half_space(), motion="static", friction=0.5)
    box = world.add_body(ds.box([0.3, 0.1, 0.1]), mass=1, position=[0, 0, 0.1])
    press = world.add_joint("prismatic", None, box, axis=[0, 0, 1])
    press.set_motor(position=-1.0)
    with pytest.warns(UserWarning, match="contradict each other"):
        report = world.step(200)
    assert report.contradiction[0] == {"joint": press.index, "bodies": [box.index]} and report.apart is None
    assert box.position[2] > 0.09


def test_a_contact_shows_itself() -> None:
    world = ds.World()
    world.add_body(ds.half_space(), motion="static", name="floor")
    marble = world.add_body(ds.sphere(0.1), mass=1.0, position=[0, 0, 0.1])
    world.step()
    assert repr(marble.contacts[0]).startswith("<contact with <body 0 (floor), static")
