"""Many worlds side by side."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import drystone as ds


def bouncing(x: float) -> ds.World:
    world = ds.World()
    world.add_body(ds.half_space(), motion="static", friction=0.5)
    world.add_body(ds.box([0.1] * 3), mass=1.0, position=[0, 0, 0.3], velocity=[x, 0, 0], friction=0.5)
    return world


def test_a_batch_is_its_worlds_stepped_alone() -> None:
    speeds = np.linspace(0, 2, 9)
    alone = [bouncing(x) for x in speeds]
    for world in alone:
        world.step(40)
    for threads in (1, 2):
        batch = ds.Batch([bouncing(x) for x in speeds], threads=threads)
        batch.step(40)
        assert [w.state_hash for w in batch.worlds] == [w.state_hash for w in alone]
        assert batch.positions == pytest.approx(np.stack([w.positions for w in alone]))
        assert batch.velocities == pytest.approx(np.stack([w.velocities for w in alone]))
        assert batch.rotations.shape == (9, 2, 4) and batch.angular_velocities.shape == (9, 2, 3)
        assert batch.times == pytest.approx([0.4] * 9) and batch.threads == threads


def test_worlds_by_number() -> None:
    batch = ds.Batch([bouncing(x) for x in (0.0, 1.0)])
    assert len(batch) == 2 and batch[1].velocities[1, 0] == 1.0 and batch[-1] is batch[1]
    with pytest.raises(IndexError):
        batch[2]
    assert "2 worlds of 2 bodies" in repr(batch)


def test_states_in_bulk() -> None:
    batch = ds.Batch([bouncing(0.0) for _ in range(3)])
    x, v = batch.positions, batch.velocities
    x[:, 1] += np.arange(3)[:, None]
    v[:, 1] = [[1, 2, 3]] * 3
    batch.set_bodies(positions=x, velocities=v)
    assert batch.positions == pytest.approx(x) and batch.velocities == pytest.approx(v)
    assert batch[2][1].position == pytest.approx([2, 2, 2.3])
    with pytest.raises(ds.InputError, match=r"positions must have the shape \(3, 2, 3\)"):
        batch.set_bodies(positions=x[:2])


def test_reset() -> None:
    batch = ds.Batch([bouncing(x) for x in (0.0, 1.0)])
    start = batch.positions
    batch.step(20)
    moved = batch.positions
    batch.reset([1])
    assert batch.positions[0] == pytest.approx(moved[0]) and batch.positions[1] == pytest.approx(start[1])
    batch.reset()
    assert batch.positions == pytest.approx(start) and batch.times.tolist() == [0, 0]
    with pytest.raises(ds.InputError, match="there is no world 7"):
        batch.reset([7])


def test_motors_in_bulk() -> None:
    def arm() -> ds.World:
        world = ds.World(gravity=[0, 0, 0])
        body = world.add_body(ds.capsule(0.05, 0.4), mass=1.0, position=[0.4, 0, 0])
        world.add_joint("revolute", None, body, axis=[0, 1, 0])
        return world

    batch = ds.Batch([arm() for _ in range(4)])
    joints = batch[0].joints
    speeds = np.array([[0.0], [1.0], [2.0], [-1.0]])
    batch.command(joints, speeds)
    batch.step(10)
    assert batch.rates(joints) == pytest.approx(speeds, abs=1e-9)
    assert batch.coordinates([0]) == pytest.approx(0.1 * speeds, abs=1e-6)
    with pytest.raises(ds.InputError, match=r"values must have the shape \(4, 1\), got \(3, 1\)"):
        batch.command(joints, speeds[:3])
    with pytest.raises(ds.InputError, match="there is no joint 5"):
        batch.command([5], speeds)
    with pytest.raises(ds.InputError, match="kind must be"):
        batch.command(joints, speeds, kind="torque")  # type: ignore[arg-type]


def test_a_batch_of_a_scene() -> None:
    batch = ds.Batch.of("stack", 5, n=2)
    batch.step(3)
    assert len(batch) == 5 and len({w.state_hash for w in batch.worlds}) == 1


def test_unequal_worlds_are_refused() -> None:
    other = bouncing(0.0)
    other.add_body(ds.sphere(0.1), mass=1.0, position=[3, 0, 1])
    with pytest.raises(ds.InputError, match="world 1 has 3 bodies, world 0 has 2"):
        ds.Batch([bouncing(0.0), other])
    twice = bouncing(0.0)
    with pytest.raises(ds.InputError, match="world 1 is in the batch twice"):
        ds.Batch([twice, twice])
    with pytest.raises(ds.InputError, match="between 1 and 512"):
        ds.Batch([twice], threads=0)


def test_worlds_that_change_are_told() -> None:
    batch = ds.Batch([bouncing(0.0), bouncing(0.0)])
    batch[1].add_body(ds.sphere(0.1), mass=1.0, position=[3, 0, 1])
    with pytest.raises(ds.InputError, match="world 1 has 3 bodies, the batch 2"):
        batch.positions


def test_no_worlds_are_fine() -> None:
    batch = ds.Batch([])
    batch.step(3)
    assert batch.positions.shape == (0, 0, 3)


def test_others_may_step_the_worlds_of_a_batch() -> None:
    """Nobody waits for ever, and no step is lost: twenty rounds of three batches and a thread by itself, of the same worlds."""
    worlds = [ds.load("stack", n=3).world() for _ in range(24)]
    batches = [ds.Batch(worlds, threads=2), ds.Batch(worlds[::-1], threads=2), ds.Batch(worlds[8:16], threads=1)]
    errors: list[BaseException] = []

    def work(step: object) -> None:
        try:
            for _ in range(20):
                step()  # type: ignore[operator]
        except BaseException as e:
            errors.append(e)

    def alone() -> None:
        for world in worlds:
            world.step()
            assert world.positions.shape[0] == world.body_count

    jobs = [lambda: batches[0].step(2), lambda: batches[1].step(), lambda: batches[2].step(3), alone]
    threads = [threading.Thread(target=work, args=(job,), daemon=True) for job in jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=120)
    assert not any(t.is_alive() for t in threads), "they wait for each other"
    assert not errors
    assert [w.steps for w in worlds] == [20 * (2 + 1 + (3 if 8 <= k < 16 else 0) + 1) for k in range(24)]


def test_a_world_that_fails_does_not_stop_the_others() -> None:
    def rods(length: float) -> ds.World:
        world = ds.World(compliance=0.0, gravity=[0, 0, 0])
        a = world.add_body(ds.sphere(0.1), mass=1.0)
        b = world.add_body(ds.sphere(0.1), mass=1.0, position=[1, 0, 0])
        world.add_joint("distance", a, b, position=[0, 0, 0], position_b=[1, 0, 0], length=1.0)
        world.add_joint("distance", a, b, position=[0, 0, 0], position_b=[1, 0, 0], length=length)
        return world

    batch = ds.Batch([rods(1.0), rods(2.0), rods(1.0), rods(3.0)])
    with pytest.raises(ds.StepError) as e:
        batch.step(7)
    assert str(e.value).startswith("world 1: ")
    assert [w.steps for w in batch.worlds] == [7, 0, 7, 0]


def test_hooks_and_recordings_are_not_passed_over() -> None:
    worlds = [bouncing(0.0) for _ in range(3)]
    batch = ds.Batch(worlds)
    worlds[2].after_step(lambda w: None)
    with pytest.raises(ds.InputError, match="world 2 has hooks or is being recorded"):
        batch.step()
    worlds[2].clear_hooks()
    batch.step()
    assert batch.times == pytest.approx([0.01] * 3)
