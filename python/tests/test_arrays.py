"""States and contacts as arrays."""

from __future__ import annotations

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
    some.velocities = [[1, 2, 3]] * 5  # type: ignore[assignment]
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
