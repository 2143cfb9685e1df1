"""Worlds: settings, steps, hooks, states, errors."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import numpy as np
import pytest

import drystone as ds

G = 9.81


def test_version_is_the_engines() -> None:
    assert ds.__version__.count(".") == 2


def test_free_fall_is_that_of_the_scheme() -> None:
    world = ds.World(step=0.01)
    ball = world.add_body(ds.sphere(0.1), mass=1.0, velocity=[1, 0, 0])
    report = world.step(100)
    assert report.step == 100 and world.steps == 100
    assert world.time == pytest.approx(1.0)
    assert ball.velocity == pytest.approx([1, 0, -G])
    # Half-implicit: g h² n (n + 1) / 2.
    assert ball.position == pytest.approx([1, 0, -G * 0.01**2 * 100 * 101 / 2])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step", 0.002),
        ("gravity", (0.0, 0.0, -1.62)),
        ("model", "coulomb"),
        ("solver", "apgd"),
        ("tolerance", 1e-7),
        ("iterations", 123),
        ("budget_ms", 4.0),
        ("compliance", 0.0),
        ("substeps", 2),
        ("max_substeps", 16),
        ("integrator", "moreau:theta=0.5"),
        ("stabilisation", "scaled:K=0.3"),
        ("position_iterations", 7),
        ("envelope", 0.001),
        ("broadphase", "grid"),
        ("warm_start", False),
        ("sleep", "time=2"),
    ],
)
def test_settings_are_kept(name: str, value: object) -> None:
    world = ds.World(**{name: value})  # type: ignore[arg-type]
    told = world.settings[name]
    assert (tuple(told) if name == "gravity" else told) == value
    other = ds.World()
    other.configure(**{name: value})
    assert other.settings == world.settings


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"step": 0}, "step: must be above 0 s, got 0"),
        ({"step": "fast"}, "step: must be a number"),
        ({"tolerance": -1}, "tolerance: must not be below 0 m/s, got -1"),
        ({"solver": "pgss"}, "did you mean 'pgs'"),
        ({"model": "dry"}, "ccp"),
        ({"integrator": "rk4"}, "integrator"),
        ({"stabilisation": "pots"}, "did you mean 'post'"),
        ({"broadphase": "tree"}, "brute"),
        ({"compliance": 2}, "compliance: must be from 0 to 1"),
        ({"max_substeps": 3}, "power of two"),
        ({"gravity": [1, 2]}, "gravity: must be three numbers, got [1, 2]"),
        ({"tolerence": 1e-4}, "did you mean 'tolerance'"),
        ({"iterations": -1}, "iterations: must be a whole number"),
        ({"sleep": "speed=-1"}, "speed must be positive"),
        ({"budget_ms": -1.0}, "budget_ms: must be above 0 ms"),
    ],
)
def test_bad_settings_say_what_is_wrong(given: dict[str, object], text: str) -> None:
    with pytest.raises(ds.InputError, match=".") as e:
        ds.World(**given)  # type: ignore[arg-type]
    assert text in str(e.value)
    assert isinstance(e.value, ValueError) and isinstance(e.value, ds.Error)


def test_a_refused_change_changes_nothing() -> None:
    world = ds.World(step=0.005)
    with pytest.raises(ds.InputError):
        world.configure(step=0.001, tolerance=-1)
    assert world.settings["step"] == 0.005


def test_report_tells_of_the_step(ground: ds.World) -> None:
    ground.add_body(ds.box([0.5] * 3), mass=2.0, position=[0, 0, 0.5], friction=0.5)
    report = ground.step(5)
    assert report.status == "converged" and report.contacts == 4
    assert 0 <= report.residual < 1e-4
    assert report.certificate["residual_max"] == report.residual
    assert set(report.ms) >= {"solve", "broadphase", "narrowphase"}
    assert "4 contacts" in repr(report)


def test_no_steps_are_an_error(floating: ds.World) -> None:
    with pytest.raises(ds.InputError, match="at least 1"):
        floating.step(0)


def test_hooks_are_called_around_each_step(ground: ds.World) -> None:
    told: list[tuple[str, int]] = []

    @ground.before_step
    def before(world: ds.World) -> None:
        told.append(("before", world.steps))

    @ground.after_step
    def after(world: ds.World) -> None:
        told.append(("after", world.steps))

    ground.step(2)
    assert told == [("before", 0), ("after", 1), ("before", 1), ("after", 2)]
    ground.clear_hooks()
    ground.step()
    assert len(told) == 4
    assert callable(before) and callable(after)


def test_hooks_may_push(floating: ds.World) -> None:
    ball = floating.add_body(ds.sphere(0.1), mass=2.0)
    floating.before_step(lambda world: ball.apply_force([4, 0, 0]))
    floating.step(10)
    assert ball.velocity[0] == pytest.approx(4 / 2 * 0.1)


def test_an_error_in_a_hook_stops_the_steps(floating: ds.World) -> None:
    @floating.after_step
    def stop(world: ds.World) -> None:
        if world.steps == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        floating.step(10)
    assert floating.steps == 3


def test_states_restore_bit_for_bit(ground: ds.World) -> None:
    for k in range(4):
        ground.add_body(ds.box([0.2] * 3), mass=1.0, position=[0.01 * k, 0, 0.3 + 0.5 * k], friction=0.5)
    ground.step(20)
    state = ground.save_state()
    assert state.step == 20 and state.hash == ground.state_hash
    ground.step(30)
    end = ground.state_hash
    ground.restore(state)
    assert ground.steps == 20
    ground.step(30)
    assert ground.state_hash == end


def test_a_state_of_other_bodies_is_refused(ground: ds.World, floating: ds.World) -> None:
    with pytest.raises(ds.InputError, match="the state has 1 bodies, the world 0"):
        floating.restore(ground.save_state())


def test_energy_of_a_thrown_ball(floating: ds.World) -> None:
    floating.add_body(ds.sphere(0.5), mass=2.0, velocity=[3, 0, 0], angular_velocity=[0, 0, 4])
    kinetic, potential = floating.energy
    assert kinetic == pytest.approx(0.5 * 2 * 9 + 0.5 * (0.4 * 2 * 0.25) * 16)
    assert potential == 0
    assert floating.total_mass == 2.0


def test_sleepers_wake(ground: ds.World) -> None:
    ground.configure(sleep=True)
    box = ground.add_body(ds.box([0.5] * 3), mass=1.0, position=[0, 0, 0.5], friction=0.5)
    ground.step(100)
    assert ground.asleep == 1 and box.is_asleep
    box.apply_impulse([0, 0, 1])
    assert ground.asleep == 0


def test_python_runs_while_a_world_steps() -> None:
    world = ds.load("packing", n=600).world()
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    begun = time.monotonic()
    while time.monotonic() - begun < 0.4:
        world.step(5)
    done.set()
    thread.join()
    assert counted > 50


def test_threads_may_share_a_world(ground: ds.World) -> None:
    for k in range(20):
        ground.add_body(ds.sphere(0.1), mass=1.0, position=[0.3 * k, 0, 0.1], friction=0.5)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                ground.step()
                assert ground.positions.shape == (21, 3)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and ground.steps == 60


def test_worlds_are_given_back() -> None:
    world = ds.World()
    body = world.add_body(ds.sphere(1.0), mass=1.0)
    seen = weakref.ref(world)
    del world
    gc.collect()
    assert seen() is not None, "the body keeps it"
    del body
    gc.collect()
    assert seen() is None


def test_a_step_that_fails_is_an_error_and_changes_nothing() -> None:
    world = ds.World(compliance=0.0)
    a = world.add_body(ds.sphere(0.1), mass=1.0)
    b = world.add_body(ds.sphere(0.1), mass=1.0, position=[1, 0, 0])
    world.add_joint("distance", a, b, position=[0, 0, 0], position_b=[1, 0, 0], length=1.0)
    world.add_joint("distance", a, b, position=[0, 0, 0], position_b=[1, 0, 0], length=2.0)
    with pytest.raises(ds.StepError) as e:
        world.step()
    assert "joint" in str(e.value) and isinstance(e.value, RuntimeError)
    assert world.steps == 0


def test_bits_do_not_depend_on_python(ground: ds.World) -> None:
    """The same world, stepped one by one with hooks and in one go."""

    def build() -> ds.World:
        world = ds.World()
        world.add_body(ds.half_space(), motion="static", friction=0.5)
        rng = np.random.default_rng(1)
        for x in rng.uniform(0, 1, (30, 3)):
            world.add_body(ds.sphere(0.08), mass=1.0, position=x * 1.5 + [0, 0, 0.1], friction=0.5)
        return world

    one, many = build(), build()
    one.configure(tolerance=1e-5)
    many.configure(tolerance=1e-5)
    one.after_step(lambda w: None)
    for _ in range(40):
        one.step()
    many.step(40)
    assert one.state_hash == many.state_hash


def test_repr(ground: ds.World) -> None:
    assert repr(ground) == "<World at 0.000000 s: 1 bodies, 0 joints>"


def test_a_hook_takes_no_steps(floating: ds.World) -> None:
    floating.add_body(ds.sphere(0.1), mass=2.0)
    floating.after_step(lambda world: world.step() and None)
    with pytest.raises(ds.InputError, match="a step is under way"):
        floating.step()
    floating.clear_hooks()
    assert floating.step().step == 2
