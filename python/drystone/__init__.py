"""Rigid-body dynamics with joints, hard contacts and dry friction.

Every step comes with a certificate of how accurate it is. SI units, z up, quaternions are (w, x, y, z) (but for ``World.arrays.quaternions_xyzw``).

>>> import drystone as ds
>>> world = ds.World(step=0.01)
>>> floor = world.add_body(ds.half_space(), motion="static", friction=0.4)
>>> ball = world.add_body(ds.sphere(0.5), mass=1.0, position=[0, 0, 2], friction=0.4)
>>> report = world.step(200)
>>> print(f"{ball.position[2]:.3f} m, residual below 1e-4 m/s: {report.residual < 1e-4}")
0.500 m, residual below 1e-4 m/s: True
"""

import os as _os

from ._drystone import (
    Arrays,
    Body,
    BodyCollider,
    Collider,
    Contact,
    ContactEvent,
    Contacts,
    Drawing,
    Hit,
    Joint,
    JointEvent,
    Scene,
    SensorEvent,
    Shape,
    Solution,
    State,
    StepReport,
    World,
    __version__,
    box,
    capsule,
    check,
    cone,
    cylinder,
    devices,
    ellipsoid,
    half_space,
    rounded,
    set_threads,
    sphere,
    threads,
)
from ._drystone import _forked
from ._batch import Batch
from ._errors import Error, InputError, StepError
from ._run import load, run, scenes, solvers
from ._shapes import compound, height_field, hull, mesh
from ._solve import solve
from ._view import Recording, View, recording, view

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_forked)

__all__ = [
    "Arrays", "Batch", "Body", "BodyCollider", "Collider", "Contact", "ContactEvent", "Contacts", "Drawing", "Error", "Hit", "InputError", "Joint", "JointEvent",
    "Recording", "Scene", "SensorEvent", "Shape", "Solution", "State", "StepError", "StepReport", "View", "World", "__version__", "box", "capsule",
    "check", "compound", "cone", "cylinder", "devices", "ellipsoid", "half_space", "height_field", "hull", "load", "mesh", "recording", "rounded", "run",
    "scenes", "set_threads", "solve", "solvers", "sphere", "threads", "view",
]
