from __future__ import annotations

import pytest

import drystone as ds


@pytest.fixture
def floating() -> ds.World:
    """A world without gravity."""
    return ds.World(gravity=[0, 0, 0])


@pytest.fixture
def ground() -> ds.World:
    """A world with a floor, body 0."""
    world = ds.World()
    world.add_body(ds.half_space(), motion="static", friction=0.5, name="floor")
    return world
