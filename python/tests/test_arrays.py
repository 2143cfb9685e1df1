"""States and contacts as arrays."""

from __future__ import annotations

import gc
import pickle
import threading
from collections.abc import Callable

import numpy as np
import pytest

import drystone as ds

COLUMNS = ["positions", "rotations", "velocities", "angular_velocities"]


@pytest.fixture
def some(floating: ds.World) -> ds.World:
    rng = np.random.default_rng(0)
    for k in range(5):
        q = rng.normal(size=4)
        floating.add_body(
            ds.box([0.1, 0.2, 0.3]),
            mass=1.0 + k,
            centre=[0.05 * k, 0, 0],
            position=[k, 0, 0],
            rotation=q / np.linalg.norm(q),
            velocity=rng.normal(size=3),
            angular_velocity=rng.normal(size=3),
        )
    return floating


@pytest.mark.parametrize("column", COLUMNS)
def test_rows_are_the_bodies(some: ds.World, column: str) -> None:
    singular = {"positions": "position", "rotations": "rotation", "velocities": "velocity"}
    name = singular.get(column, "angular_velocity")
    rows = getattr(some, column)
    assert rows.dtype == np.float64 and rows.shape == (5, 4 if column == "rotations" else 3)
    for body in some.bodies:
        assert rows[body.index] == pytest.approx(getattr(body, name), abs=1e-15)


@pytest.mark.parametrize("column", COLUMNS)
def test_rows_are_read_into_an_array(some: ds.World, column: str) -> None:
    out = np.full_like(getattr(some, column), 7.0)
    assert some.read(column, out) is out  # type: ignore[arg-type]
    assert np.array_equal(out, getattr(some, column))
    with pytest.raises(ds.InputError, match="out must have the shape"):
        some.read(column, np.zeros((4, 3)))  # type: ignore[arg-type]
    with pytest.raises(ds.InputError, match="contiguous"):
        some.read(column, np.zeros(out.shape, order="F"))  # type: ignore[arg-type]


@pytest.mark.parametrize("column", COLUMNS)
def test_what_is_set_is_read(some: ds.World, column: str) -> None:
    rows = getattr(some, column)
    others = {c: getattr(some, c) for c in COLUMNS if c != column}
    new = rows[::-1].copy()
    setattr(some, column, new)
    assert getattr(some, column) == pytest.approx(new)
    for name, before in others.items():
        assert getattr(some, name) == pytest.approx(before), name


def test_all_can_be_set_at_once(some: ds.World) -> None:
    given = {c: getattr(some, c)[::-1].copy() for c in COLUMNS}
    some.set_bodies(**given)
    for name, rows in given.items():
        assert getattr(some, name) == pytest.approx(rows)


def test_lists_will_do(some: ds.World) -> None:
    some.velocities = [[1, 2, 3]] * 5
    assert some.velocities == pytest.approx(np.tile([1.0, 2, 3], (5, 1)))


@pytest.mark.parametrize(
    ("column", "rows", "text"),
    [
        ("positions", np.zeros((4, 3)), "positions must have the shape (5, 3), got (4, 3)"),
        ("positions", np.zeros((5, 2)), "positions must have the shape (5, 3)"),
        ("positions", np.full((5, 3), np.nan), "position must be finite"),
        ("rotations", np.zeros((5, 4)), "unit quaternion"),
        ("velocities", np.full((5, 3), np.inf), "row 0: velocity must be finite"),
    ],
)
def test_bad_rows_are_refused(some: ds.World, column: str, rows: np.ndarray, text: str) -> None:
    before = some.state_hash
    with pytest.raises(ds.InputError) as e:
        setattr(some, column, rows)
    assert text in str(e.value)
    assert some.state_hash == before


def test_unknown_arrays_are_told(some: ds.World) -> None:
    with pytest.raises(ds.InputError, match="valid: positions"):
        some.read("speeds")  # type: ignore[arg-type]


def test_arrays_are_copies(some: ds.World) -> None:
    rows = some.positions
    rows += 1
    assert not np.array_equal(rows, some.positions)


def test_rows_of_removed_bodies_are_nan(some: ds.World) -> None:
    some[2].remove()
    assert some.alive.tolist() == [True, True, False, True, True]
    for column in COLUMNS:
        rows = getattr(some, column)
        assert np.isnan(rows[2]).all() and np.isfinite(rows[[0, 1, 3, 4]]).all()
    some.positions = np.where(np.isnan(some.positions), 0, some.positions + 1)
    assert some[3].position == pytest.approx([4, 1, 1])


def test_masses(some: ds.World) -> None:
    some.add_body(ds.half_space(), motion="static", position=[0, 0, -9])
    assert some.masses.tolist() == [1, 2, 3, 4, 5, np.inf]


def test_forces_in_bulk(some: ds.World) -> None:
    before = some.velocities
    forces = np.arange(15.0).reshape(5, 3)
    some.apply_forces(forces)
    some.step()
    assert some.velocities - before == pytest.approx(forces / some.masses[:, None] * 0.01)
    with pytest.raises(ds.InputError, match="forces must have the shape"):
        some.apply_forces(forces[:2])
    with pytest.raises(ds.InputError, match="finite"):
        some.apply_forces(forces * np.nan)


def test_bodies_in_bulk(floating: ds.World) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-9, 9, (500, 3))
    rows = floating.add_bodies(ds.sphere(0.01), x, mass=2.0, velocities=-x, friction=0.3)
    assert rows.tolist() == list(range(500))
    assert np.array_equal(floating.positions, x) and np.array_equal(floating.velocities, -x)
    assert floating.total_mass == 1000
    with pytest.raises(ds.InputError, match="row 1: position must be finite"):
        floating.add_bodies(ds.sphere(0.01), np.array([[0, 0, 0], [np.nan, 0, 0]]), mass=1.0)
    assert floating.body_count == 500, "not the row before it, either"
    with pytest.raises(ds.InputError, match="rotations must have the shape"):
        floating.add_bodies(ds.sphere(0.01), x, mass=1.0, rotations=np.ones((3, 4)))


def test_contacts_carry_the_weight(ground: ds.World) -> None:
    for k in range(3):
        ground.add_body(ds.sphere(0.5), mass=2.0, position=[3 * k, 0, 0.5], friction=0.5)
    ground.step(10)
    c = ground.contacts
    assert len(c) == 3 and c.bodies.tolist() == [[1, 0], [2, 0], [3, 0]]
    assert c.normals == pytest.approx(np.tile([0.0, 0, 1], (3, 1)))
    assert c.points[:, 2] == pytest.approx(0, abs=1e-4) and np.abs(c.gaps).max() < 1e-4
    assert c.friction == pytest.approx([0.5] * 3)
    assert c.forces[:, 2] == pytest.approx([2 * 9.81] * 3, rel=1e-4)
    assert c.impulses == pytest.approx(c.forces * 0.01)
    assert ground.contact_forces[0] == pytest.approx([0, 0, -6 * 9.81], rel=1e-4, abs=1e-3)


# What the engine's own memory shows.

VIEWS = ["centres", "quaternions_xyzw", "velocities", "spins"]


@pytest.mark.parametrize("view", VIEWS)
def test_views_show_the_state_and_nobody_writes_there(some: ds.World, view: str) -> None:
    rows = getattr(some.arrays, view)
    assert rows.dtype == np.float64 and rows.shape == (5, 4 if view == "quaternions_xyzw" else 3)
    for body in some.bodies:
        turn = np.array([body.to_world(e) - body.position for e in np.eye(3)])
        expected = {
            "centres": body.to_world(body.centre_of_mass),
            "quaternions_xyzw": np.roll(body.rotation, -1),
            "velocities": body.velocity,
            "spins": turn @ body.angular_velocity,
        }[view]
        assert rows[body.index] == pytest.approx(expected, abs=1e-14)
    with pytest.raises(ValueError, match="read-only"):
        rows[0] = 0
    with pytest.raises(ValueError, match="WRITEABLE"):
        rows.flags.writeable = True


@pytest.mark.parametrize("view", VIEWS)
def test_views_copy_nothing_until_the_world_goes_on(some: ds.World, view: str) -> None:
    def place(rows: np.ndarray) -> int:
        return int(rows.__array_interface__["data"][0])

    rows = getattr(some.arrays, view)
    here = place(rows)
    # Questions change nothing.
    some.ray([0, 0, 0], [1, 0, 0]), some.energy, some.positions, some[1].velocity, repr(some), some.save()
    assert place(getattr(some.arrays, view)) == here
    del rows
    some.step()
    assert place(getattr(some.arrays, view)) == here, "nobody looks: the world goes on in the same memory"
    kept = getattr(some.arrays, view)
    before = kept.copy()
    some.step()
    assert place(kept) == here and np.array_equal(kept, before)
    assert place(getattr(some.arrays, view)) != here


CHANGES: dict[str, Callable[[ds.World], object]] = {
    "step": lambda w: w.step(3),
    "hooks": lambda w: (w.before_step(lambda w: None), w.step(3)),
    "set": lambda w: setattr(w, "positions", w.positions + 1),
    "one": lambda w: setattr(w[1], "position", [9, 9, 9]),
    "velocity": lambda w: setattr(w[1], "velocity", [9, 9, 9]),
    "impulse": lambda w: w[1].apply_impulse([1, 2, 3]),
    "remove": lambda w: w[1].remove(),
    "add": lambda w: w.add_bodies(ds.sphere(0.1), np.arange(300.0).reshape(100, 3), mass=1.0),
    "restore": lambda w: w.restore(w.save_state()),
    "load": lambda w: w.__setstate__(ds.World().__getstate__()),
    "centre": lambda w: w[1].set_mass_properties(1.0, inertia=[1, 1, 1], centre=[0.3, 0, 0]),
    "batch": lambda w: ds.Batch([w]).step(5),
}


@pytest.mark.parametrize("change", CHANGES)
def test_views_stay_what_they_were(some: ds.World, change: str) -> None:
    some.step()
    kept = {v: getattr(some.arrays, v) for v in VIEWS}
    parts = {v: a[1:, :2] for v, a in kept.items()}
    before = {v: a.copy() for v, a in kept.items()}
    CHANGES[change](some)
    for view, rows in before.items():
        assert np.array_equal(kept[view], rows), view
        assert np.array_equal(parts[view], rows[1:, :2]), view
    fresh = {v: getattr(some.arrays, v) for v in VIEWS}
    if change not in ("remove", "restore"):
        assert any(fresh[v].shape != before[v].shape or not np.array_equal(fresh[v], before[v]) for v in VIEWS)


def test_views_outlive_their_world() -> None:
    world = ds.World()
    world.add_bodies(ds.sphere(0.1), np.arange(30_000.0).reshape(10_000, 3), mass=1.0)
    rows, part = world.arrays.centres, world.arrays.centres[5000:, 1]
    before = rows.copy()
    del world
    gc.collect()
    others = [np.full((10_000, 3), 7.0) for _ in range(20)]
    assert np.array_equal(rows, before) and np.array_equal(part, before[5000:, 1]) and len(others) == 20
    assert np.array_equal(pickle.loads(pickle.dumps(rows)), before)


def test_a_world_that_keeps_its_own_arrays_is_given_back() -> None:
    import weakref

    world = ds.World()
    ball = world.add_body(ds.sphere(0.1), mass=1.0)
    ball.user_data = world.arrays.centres
    seen = weakref.ref(world)
    del world, ball
    gc.collect()
    assert seen() is None


def test_views_are_whole_while_another_thread_steps() -> None:
    """All bodies fall alike: whoever looks sees all of them at one height."""
    world = ds.World()
    x = np.zeros((4000, 3))
    x[:, 0] = np.arange(4000)
    world.add_bodies(ds.sphere(0.1), x, mass=1.0)
    done, seen, torn = threading.Event(), set(), 0

    def fall() -> None:
        world.step(150)
        done.set()

    thread = threading.Thread(target=fall)
    thread.start()
    while not done.is_set():
        z = world.arrays.centres[:, 2]
        first = z.min(), z.max()
        torn += first[0] != first[1] or (z.min(), z.max()) != first
        seen.add(first[0])
    thread.join()
    assert torn == 0 and len(seen) >= 1
    assert np.ptp(world.arrays.centres[:, 2]) == 0


def test_an_empty_world_has_empty_views(floating: ds.World) -> None:
    assert all(getattr(floating.arrays, v).shape == (0, 4 if v == "quaternions_xyzw" else 3) for v in VIEWS)
    assert len(floating.contacts) == 0 and floating.contacts.forces.shape == (0, 3)
    assert "0 rows" in repr(floating.arrays)


def test_contacts_stay_what_they_were(ground: ds.World) -> None:
    ball = ground.add_body(ds.sphere(0.5), mass=2.0, position=[0, 0, 0.5], friction=0.5)
    ground.step(10)
    c = ground.contacts
    names = ["bodies", "points", "normals", "gaps", "friction", "impulses", "forces"]
    before = {name: np.array(getattr(c, name)) for name in names}
    assert not c.points.flags.writeable and c.bodies.dtype == np.uint32
    ball.apply_impulse([3, 0, 1])
    ground.step(10)
    ball.remove()
    ground.step()
    del ground
    gc.collect()
    for name, rows in before.items():
        assert np.array_equal(getattr(c, name), rows), name
    assert len(c) == 1 and c.forces[0, 2] == pytest.approx(2 * 9.81, rel=1e-4)
