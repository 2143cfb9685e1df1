"""Worlds as bytes, pickles and copies."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import operator
import pickle

import pytest

import drystone as ds


class Counted(ds.World):
    """A class of the user's own."""

    label: str


calls: list[float] = []


def note(world: ds.World) -> None:
    calls.append(world.time)


def heap(kind: type[ds.World] = ds.World) -> ds.World:
    world = kind(seed=3)
    world.add_body(ds.half_space(), motion="static", friction=0.4)
    for k in range(8):
        world.add_body(ds.sphere(0.1), mass=1.0, position=[0.03 * k, 0.0, 0.3 + 0.25 * k], friction=0.4)
    arm = world.add_body(ds.box([0.2, 0.02, 0.02]), mass=1.0, position=[3, 0, 1], name="arm")
    world.add_joint("revolute", None, arm, position=[2.8, 0, 1], axis=[0, 1, 0], name="hinge")
    world.step(50)
    return world


def finish(world: ds.World) -> str:
    world.step(100)
    return world.state_hash


def test_bytes_go_on_to_the_same_bits() -> None:
    world = heap()
    other = ds.World.load(world.save())
    assert other.state_hash == world.state_hash
    assert finish(other) == finish(world)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_go_on_to_the_same_bits(protocol: int) -> None:
    world = heap()
    other = pickle.loads(pickle.dumps(world, protocol))
    assert finish(other) == finish(world)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_go_their_own_way(copied: object) -> None:
    world = heap()
    other = copied(world)  # type: ignore[operator]
    before = world.state_hash
    finish(other)
    assert world.state_hash == before != other.state_hash


def test_bodies_and_joints_go_along() -> None:
    world = heap()
    hinge = world.joint("hinge")
    things = {"arm": world["arm"], "hinge": hinge, "world": world}
    other = pickle.loads(pickle.dumps(things))
    assert other["arm"].world is other["world"]
    assert other["arm"].name == "arm"
    assert other["hinge"].index == hinge.index
    assert other["arm"] == other["world"]["arm"]


def test_own_classes_keep_their_attributes_and_hooks() -> None:
    world = heap(Counted)
    assert isinstance(world, Counted)
    world.label = "first"
    world.after_step(note)
    other = copy.deepcopy(world)
    assert isinstance(other, Counted) and other.label == "first"
    calls.clear()
    other.step(2)
    assert len(calls) == 2


def test_other_processes_come_to_the_same() -> None:
    world = heap()
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        data = pool.submit(operator.methodcaller("save"), world).result(timeout=120)
    assert finish(ds.World.load(data)) == finish(world)


@pytest.mark.parametrize("data", [b"", b"something else", b"\x00" * 1000])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ds.InputError):
        ds.World.load(data)


def test_damage_is_told() -> None:
    data = bytearray(heap().save())
    data[len(data) // 2] ^= 1
    with pytest.raises(ds.InputError, match="damaged"):
        ds.World.load(bytes(data))


def test_dask_spreads_worlds() -> None:
    distributed = pytest.importorskip("distributed")
    world = heap()
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            data = client.submit(operator.methodcaller("save"), world).result(timeout=120)
    assert finish(ds.World.load(data)) == finish(world)
