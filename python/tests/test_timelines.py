"""What is all or nothing, and what follows from a state that was restored: batches, events, threads, runs."""

from __future__ import annotations

import copy
import pathlib
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import drystone as ds

loose: Any = ds  # For calls that type checkers refuse.


def balls(n: int = 2) -> ds.World:
    world = ds.World(gravity=[0, 0, 0])
    for k in range(n):
        world.add_body(ds.sphere(0.1), mass=1.0, position=[k, 0, 0], velocity=[0, 0.5, 0])
    return world


# Colliders


def test_what_a_body_says_counts_for_colliders_that_name_none() -> None:
    world = ds.World()
    own = ds.Collider(ds.sphere(0.1), position=[1, 0, 0], friction=0.9, material="felt", layers=4, mask=8)
    body = world.add_body(
        ds.sphere(0.1),
        colliders=[ds.Collider(ds.sphere(0.2)), copy.deepcopy(own), ds.Collider(ds.sphere(0.2), friction=0)],
        friction=0.5,
        material="steel",
        layers=2,
        mask=6,
    )
    assert [c.friction for c in body.colliders] == [0.5, 0.5, 0.9, 0.0]
    assert [c.material for c in body.colliders] == ["steel", "steel", "felt", "steel"]
    assert [(c.layers, c.mask) for c in body.colliders] == [(2, 6), (2, 6), (4, 8), (2, 6)]
    assert body.add_collider(ds.Collider(ds.sphere(0.3))).friction == 0.0


def test_a_misspelt_material_is_warned_of_in_either_order() -> None:
    world = ds.World()
    world.add_body(ds.sphere(0.1), mass=1.0, material="steal")
    with pytest.warns(UserWarning, match="material 'steal' is in no pair of set_pair; did you mean 'steel'"):
        world.set_pair("steel", "wood", friction=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = ds.World()
        other.add_body(ds.sphere(0.1), mass=1.0, material="rock1")
        other.set_pair("rock1", "rock2", friction=0.3)
        other.set_pair("felt", "wool", friction=0.3)


def test_texts_are_python_s() -> None:
    world = balls()
    with pytest.raises(ds.InputError, match="kinetic_friction must not be above friction .0.5., got 0.9"):
        world.set_pair("a", "b", friction=0.5, kinetic_friction=0.9)
    assert world.materials == []
    with pytest.raises(ds.InputError) as e:
        world.rotations = np.zeros((2, 4))
    assert str(e.value) == "row 0: rotation must be a unit quaternion, its length is 0"


def test_frames_go_by_number(tmp_path: pathlib.Path) -> None:
    world = balls()
    with ds.recording(world, tmp_path / "run", steps=1):
        world.step(2)
    run: Any = ds.Recording(tmp_path / "run")
    assert run[np.int64(-1)]["step"] == 2
    for k in (slice(0, 1), "x", 0.5):
        with pytest.raises(ds.InputError, match="a frame goes by its number, got"):
            run[k]


# Batches


def test_a_batch_is_set_as_a_whole() -> None:
    batch = ds.Batch([balls(), balls()])
    before = batch.positions
    x = before + 1.0
    x[1, 0] = np.nan
    with pytest.raises(ds.InputError, match="^world 1, row 0: position must be finite"):
        batch.set_bodies(positions=x)
    assert (batch.positions == before).all()


def test_a_batch_is_reset_as_a_whole() -> None:
    batch = ds.Batch([balls(), balls()])
    batch.step(5)
    batch[1][0].colliders[0].shape = ds.sphere(0.3)
    with pytest.raises(ds.InputError, match="^world 1: the state is of other bodies"):
        batch.reset()
    assert batch[0].steps == 5
    batch.reset([0])
    assert [w.steps for w in batch.worlds] == [0, 5]


def test_a_batch_is_commanded_as_a_whole() -> None:
    def arm(kind: Any) -> ds.World:
        world = ds.World(gravity=[0, 0, 0])
        body = world.add_body(ds.sphere(0.1), mass=1.0)
        world.add_joint(kind, None, body)
        return world

    batch = ds.Batch([arm("revolute"), arm("fixed")])
    with pytest.raises(ds.InputError, match="^world 1: fixed joint 0 has no free coordinate"):
        batch.command([0], [[1.0], [1.0]])
    batch.step()
    assert batch[0][0].angular_velocity.tolist() == [0, 0, 0]


# States


def test_a_state_is_of_shapes_of_its_size() -> None:
    def block(half: float) -> ds.World:
        world = ds.World()
        world.add_body(ds.box([half] * 3), mass=1.0)
        return world

    with pytest.raises(ds.InputError, match="other shapes .kind or size."):
        block(0.5).restore(block(0.1).save_state())


def dropped() -> ds.World:
    world = ds.World()
    world.add_body(ds.half_space(), motion="static", friction=0.5)
    gate = ds.Collider(ds.box([1, 1, 0.6]), sensor=True)
    world.add_body(colliders=[gate], motion="static")
    world.add_body(ds.sphere(0.1), mass=1.0, position=[0, 0, 0.5], friction=0.5)
    world.record_events()
    return world


def told(world: ds.World) -> tuple[list[str], list[str]]:
    return [e.phase for e in world.contact_events], [e.phase for e in world.sensor_events]


def test_events_follow_from_the_state_restored() -> None:
    world = dropped()
    start = world.save_state()
    world.step(100)
    rest = world.save_state()
    assert told(world)[0][-1] == "persist"
    world.restore(start)
    assert told(world) == ([], [])
    world.step()
    assert told(world) == ([], ["begin"])
    world.restore(rest)
    assert told(world) == ([], [])
    world.step()
    assert told(world) == (["persist"], ["persist"])
    # It flies off: what touched in the state ends.
    world.restore(rest)
    world[2].velocity = [0, 0, 5]
    world.step(3)
    assert told(world)[0] == ["end"]
    end = world.contact_events[0]
    assert end.point == pytest.approx([0, 0, 0], abs=0.1) and end.normal == pytest.approx([0, 0, 1])


def test_events_of_copies_go_on() -> None:
    world = dropped()
    world.step(100)
    for other in (copy.deepcopy(world), ds.World.load(world.save())):
        assert told(other) == ([], [])
        other.step()
        assert told(other) == (["persist"], ["persist"])


def test_a_batch_forgets_events() -> None:
    batch = ds.Batch([dropped()])
    world = batch[0]
    world.step(100)
    batch.reset()
    assert told(world) == ([], [])
    world.step()
    assert told(world) == ([], ["begin"])


def test_the_same_step_number_is_no_same_past() -> None:
    world = dropped()
    world.step(40)
    state = world.save_state()
    assert "begin" in told(world)[1]
    world.restore(state)
    assert told(world) == ([], [])


# Threads and runs


def test_threads_wait_for_each_other_s_steps() -> None:
    world = balls()
    errors: list[BaseException] = []
    seen: list[int] = []
    world.after_step(lambda w: seen.append(w.steps))

    def work() -> None:
        try:
            for _ in range(20):
                world.step(2)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not errors and world.steps == 120 and seen == list(range(1, 121))


def test_a_hook_takes_no_steps() -> None:
    world = balls()
    world.after_step(lambda w: w.step())
    with pytest.raises(ds.InputError, match="its hooks cannot take another"):
        world.step()
    world.clear_hooks()
    assert world.step().step == 2


def test_a_run_whose_callback_goes_back_ends() -> None:
    states: list[ds.State] = []

    def back(world: ds.World) -> None:
        states.append(world.save_state())
        world.restore(states[0])

    result = ds.run("stack", n=2, steps=50, callback=back, progress=False)
    assert result["status"] == "ok" and len(states) == 50


# Contact problems


@pytest.mark.parametrize("solver", ["auto", "ipm", "apgd", "nsgs-ac"])
@pytest.mark.parametrize("w", [[[1, 2, 0], [2, 1, 0], [0, 0, 1]], [[1e-300, 0, 0], [0, 1e-300, 0], [0, 0, 1e-300]]])
def test_what_runs_off_is_told_of(solver: str, w: list[list[float]]) -> None:
    s = ds.solve({"W": w, "q": [-1, 0.2, 0.1], "mu": [0.5]}, solver=solver, iterations=200)
    assert not s.solved and np.isfinite(s.r).all() and np.isfinite(s.u).all()


def test_kinds_that_there_are_not() -> None:
    problem = {"W": np.eye(3), "q": [-1, 0, 0], "mu": [0.5]}
    with pytest.raises(ds.InputError, match="unknown kind 'zz'"):
        loose.solve(problem, kind="zz")
    assert ds.solve(problem, kind="fc").solved
