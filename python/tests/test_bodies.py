"""Bodies: adding, reading, changing, pushing, removing."""

from __future__ import annotations

import numpy as np
import pytest

import drystone as ds

TURN = [np.cos(0.3), 0.0, 0.0, np.sin(0.3)]


def test_what_is_given_is_read(floating: ds.World) -> None:
    body = floating.add_body(
        ds.box([0.1, 0.2, 0.3]),
        mass=2.0,
        position=[1, 2, 3],
        rotation=TURN,
        velocity=[4, 5, 6],
        angular_velocity=[7, 8, 9],
        friction=0.25,
        name="brick",
    )
    assert body.position == pytest.approx([1, 2, 3])
    assert body.rotation == pytest.approx(TURN)
    assert body.velocity == pytest.approx([4, 5, 6])
    assert body.angular_velocity == pytest.approx([7, 8, 9])
    assert (body.mass, body.friction, body.name, body.motion) == (2.0, 0.25, "brick", "dynamic")
    assert body.index == 0 and body.alive and body.world is floating
    assert floating["brick"] == body and floating[0] == body and floating.bodies == [body]
    assert len({body, floating[0]}) == 1
    assert "brick" in repr(body)


def test_inertia_of_a_box(floating: ds.World) -> None:
    body = floating.add_body(ds.box([0.1, 0.2, 0.3]), mass=3.0)
    expected = np.diag([0.04 + 0.09, 0.01 + 0.09, 0.01 + 0.04])
    assert body.inertia == pytest.approx(expected)


def test_mass_by_density(floating: ds.World) -> None:
    body = floating.add_body(ds.sphere(0.5), density=1000)
    assert body.mass == pytest.approx(1000 * 4 / 3 * np.pi * 0.125)


def test_several_colliders_have_a_common_centre(floating: ds.World) -> None:
    ends = [ds.Collider(ds.sphere(0.1), position=[x, 0, 0]) for x in (0.0, 1.0)]
    body = floating.add_body(colliders=ends, mass=2.0, position=[5, 0, 0])
    assert body.centre_of_mass == pytest.approx([0.5, 0, 0])
    own = 0.4 * 2.0 * 0.01
    assert np.diag(body.inertia) == pytest.approx([own, own + 2 * 0.25, own + 2 * 0.25])
    assert body.position == pytest.approx([5, 0, 0])
    assert len(body.shapes) == 2


def test_sensors_have_no_mass(floating: ds.World) -> None:
    feel = ds.Collider(ds.sphere(2.0), position=[1, 0, 0], sensor=True)
    body = floating.add_body(ds.sphere(0.1), colliders=[feel], mass=1.0)
    assert body.centre_of_mass == pytest.approx([0, 0, 0])


def test_inertia_can_be_given(floating: ds.World) -> None:
    body = floating.add_body(mass=2.0, inertia=[1, 2, 3], centre=[0.1, 0, 0])
    assert np.diag(body.inertia) == pytest.approx([1, 2, 3])
    tensor = np.array([[2.0, 0.1, 0], [0.1, 2.0, 0], [0, 0, 2.0]])
    body = floating.add_body(mass=2.0, inertia=tensor)
    assert body.inertia == pytest.approx(tensor)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"mass": -1.0}, "mass must be positive"),
        ({"mass": 1.0, "density": 1.0}, "give one of the two"),
        ({"mass": 1.0, "position": [np.nan, 0, 0]}, "position must be finite"),
        ({"mass": 1.0, "rotation": [2, 0, 0, 0]}, "unit quaternion"),
        ({"mass": 1.0, "friction": -0.1}, "friction must be finite and not negative"),
        ({"mass": 1.0, "motion": "flying"}, "motion must be 'dynamic'"),
        ({"mass": 1.0, "inertia": [1, 1, 5]}, "triangle inequality"),
        ({"mass": 1.0, "inertia": [1, 1]}, "three principal moments"),
        ({"mass": 1.0, "planar": [0, 2, 0]}, "unit vector"),
    ],
)
def test_bad_bodies_are_refused(floating: ds.World, given: dict[str, object], text: str) -> None:
    with pytest.raises(ds.InputError) as e:
        floating.add_body(ds.sphere(0.5), **given)  # type: ignore[arg-type]
    assert text in str(e.value)
    assert floating.body_count == 0


def test_a_bare_body_needs_inertia(floating: ds.World) -> None:
    with pytest.raises(ds.InputError, match="inertia: a body without solid shapes"):
        floating.add_body(mass=1.0)


def test_ground_is_not_dynamic(floating: ds.World) -> None:
    with pytest.raises(ds.InputError, match="half-space cannot belong to a dynamic body"):
        floating.add_body(ds.half_space(), mass=1.0, inertia=[1, 1, 1])


def test_vectors_have_three_numbers(floating: ds.World) -> None:
    with pytest.raises((TypeError, ValueError)):
        floating.add_body(ds.sphere(0.5), position=[1, 2])
    body = floating.add_body(ds.sphere(0.5), position=np.array([1.0, 2.0, 3.0]))
    assert body.position == pytest.approx([1, 2, 3])


def test_poses_can_be_set(floating: ds.World) -> None:
    body = floating.add_body(ds.box([0.1] * 3), mass=1.0, centre=[0.05, 0, 0], velocity=[1, 0, 0])
    body.position = [3, 0, 0]
    assert body.position == pytest.approx([3, 0, 0]) and body.velocity == pytest.approx([1, 0, 0])
    body.rotation = TURN
    assert body.rotation == pytest.approx(TURN) and body.position == pytest.approx([3, 0, 0])
    body.set_pose([0, 0, 1], [1, 0, 0, 0])
    assert body.position == pytest.approx([0, 0, 1])
    with pytest.raises(ds.InputError, match="unit quaternion"):
        body.rotation = [1, 1, 0, 0]


def test_velocities_can_be_set(floating: ds.World) -> None:
    body = floating.add_body(ds.sphere(0.5), mass=1.0, angular_velocity=[0, 0, 2])
    body.velocity = [1, 0, 0]
    assert body.velocity == pytest.approx([1, 0, 0]) and body.angular_velocity == pytest.approx([0, 0, 2])
    body.angular_velocity = [0, 3, 0]
    assert body.angular_velocity == pytest.approx([0, 3, 0])
    assert body.velocity_at([0, 0, 1]) == pytest.approx([1 + 3, 0, 0])


def test_forces_last_for_one_step(floating: ds.World) -> None:
    body = floating.add_body(ds.sphere(0.5), mass=2.0)
    body.apply_force([2, 0, 0])
    floating.step()
    assert body.velocity == pytest.approx([0.01, 0, 0])
    floating.step()
    assert body.velocity == pytest.approx([0.01, 0, 0])


def test_a_force_beside_the_centre_turns(floating: ds.World) -> None:
    body = floating.add_body(ds.sphere(0.5), mass=1.0)
    body.apply_force([0, 1, 0], point=[0.5, 0, 0])
    floating.step()
    assert body.angular_velocity == pytest.approx([0, 0, 0.5 * 0.01 / (0.4 * 0.25)])
    body.apply_torque([0, 0, -0.5])
    floating.step()
    assert body.angular_velocity == pytest.approx([0, 0, 0], abs=1e-12)


def test_impulses_act_at_once(floating: ds.World) -> None:
    body = floating.add_body(ds.sphere(0.5), mass=2.0)
    body.apply_impulse([1, 0, 0], point=[0, 0, 0.5])
    assert body.velocity == pytest.approx([0.5, 0, 0])
    assert body.angular_velocity == pytest.approx([0, 0.5 / (0.4 * 2 * 0.25), 0])
    body.apply_angular_impulse([0, -0.5, 0])
    assert body.angular_velocity == pytest.approx([0, 0, 0])


@pytest.mark.parametrize("method", ["apply_force", "apply_torque", "apply_impulse", "apply_angular_impulse"])
def test_pushes_must_be_finite(floating: ds.World, method: str) -> None:
    body = floating.add_body(ds.sphere(0.5), mass=2.0)
    with pytest.raises(ds.InputError, match="must be three finite numbers"):
        getattr(body, method)([np.inf, 0, 0])


@pytest.mark.parametrize("method", ["apply_force", "apply_impulse"])
def test_points_of_pushes_must_be_finite(floating: ds.World, method: str) -> None:
    body = floating.add_body(ds.sphere(0.5), mass=2.0)
    with pytest.raises(ds.InputError, match="point must be three finite numbers"):
        getattr(body, method)([1, 0, 0], [np.nan, 0, 0])
    for ask in (body.velocity_at, body.to_world, body.to_local):
        with pytest.raises(ds.InputError, match="point must be three finite numbers"):
            ask([0, np.inf, 0])
    floating.step()
    assert body.velocity == pytest.approx([0, 0, 0])


def test_mass_can_change(floating: ds.World) -> None:
    body = floating.add_body(ds.sphere(0.5), mass=2.0)
    inertia = body.inertia
    body.mass = 6.0
    assert body.inertia == pytest.approx(3 * inertia)
    body.set_mass_properties(1.0, inertia=[1, 1, 1], centre=[0.1, 0, 0])
    assert body.mass == 1.0 and body.centre_of_mass == pytest.approx([0.1, 0, 0])
    with pytest.raises(ds.InputError, match="mass must be positive"):
        body.mass = 0.0


def test_friction_can_change(ground: ds.World) -> None:
    body = ground.add_body(ds.box([0.5] * 3), mass=1.0, position=[0, 0, 0.5], velocity=[1, 0, 0])
    ground.step(20)
    assert body.velocity[0] == pytest.approx(1.0, abs=1e-6)
    body.friction = 0.5
    ground.step(10)
    assert body.velocity[0] == pytest.approx(1 - 0.5 * 9.81 * 0.1, abs=0.02)


def test_motion_can_change(floating: ds.World) -> None:
    floating.configure(gravity=[0, 0, -9.81])
    body = floating.add_body(ds.sphere(0.5), mass=1.0)
    body.motion = "static"
    floating.step(5)
    assert body.position == pytest.approx([0, 0, 0])
    body.motion = "kinematic"
    body.velocity = [1, 0, 0]
    floating.step(10)
    assert body.position == pytest.approx([0.1, 0, 0])
    body.motion = "dynamic"
    floating.step()
    assert body.velocity[2] == pytest.approx(-0.0981)
    with pytest.raises(ds.InputError, match="motion must be"):
        body.motion = "flying"  # type: ignore[assignment]


def test_removed_bodies_are_gone(floating: ds.World) -> None:
    a = floating.add_body(ds.sphere(0.5), mass=1.0)
    b = floating.add_body(ds.sphere(0.5), mass=1.0, position=[3, 0, 0])
    a.remove()
    assert not a.alive and floating.bodies == [b] and floating.body_count == 1
    with pytest.raises(ds.InputError, match=r"body 0 \(generation 0\) does not exist"):
        a.position
    with pytest.raises(KeyError):
        floating[0]
    c = floating.add_body(ds.sphere(0.5), mass=1.0)
    assert c.index == 0 and c != a and not a.alive
    floating.remove(b)
    assert floating.bodies == [c]
    assert "removed" in repr(a)


def test_bodies_of_other_worlds_are_refused(floating: ds.World, ground: ds.World) -> None:
    body = floating.add_body(ds.sphere(0.5), mass=1.0)
    with pytest.raises(ds.InputError, match="another world"):
        ground.remove(body)
    with pytest.raises(ds.InputError, match="another world"):
        ground.add_joint("ball", None, body)


def test_groups_and_layers(floating: ds.World) -> None:
    def meet(**given: int) -> int:
        world = ds.World(gravity=[0, 0, 0])
        for x in (0.0, 0.15):
            world.add_body(ds.sphere(0.1), mass=1.0, position=[x, 0, 0], **given)  # type: ignore[arg-type]
        return world.step().contacts

    assert meet() == 1
    assert meet(group=3) == 0
    assert meet(layers=2, mask=1) == 0
    assert meet(layers=2, mask=2) == 1


def test_pairs_can_be_kept_apart(floating: ds.World) -> None:
    a, b = (floating.add_body(ds.sphere(0.1), mass=1.0, position=[x, 0, 0]) for x in (0.0, 0.15))
    floating.set_collides(a, b, False)
    assert floating.step().contacts == 0
    floating.set_collides(a, b, True)
    assert floating.step().contacts == 1


def test_planar_bodies_stay(floating: ds.World) -> None:
    body = floating.add_body(ds.sphere(0.1), mass=1.0, planar=[0, 1, 0])
    body.apply_impulse([1, 1, 1])
    floating.step(10)
    assert body.position[1] == 0 and body.position[0] > 0


def test_materials_decide_for_pairs() -> None:
    world = ds.World()
    world.add_body(ds.half_space(), motion="static", material="steel")
    ball = world.add_body(ds.sphere(0.1), mass=1.0, position=[0, 0, 0.5], material="rubber")
    world.set_pair("steel", "rubber", friction=0.9, restitution=0.8)
    assert world.materials == ["steel", "rubber"]
    speeds = []
    for _ in range(60):
        world.step()
        speeds.append(ball.velocity[2])
    top = max(speeds)
    hit = np.sqrt(2 * 9.81 * 0.4)
    assert top == pytest.approx(0.8 * hit, rel=0.05)
    with pytest.raises(ds.InputError, match="restitution"):
        world.set_pair("steel", "rubber", friction=0.9, restitution=2.0)


def test_belts_carry(ground: ds.World) -> None:
    ground[0].set_surface_velocity([1, 0, 0])
    box = ground.add_body(ds.box([0.1] * 3), mass=1.0, position=[0, 0, 0.1], friction=0.5)
    ground.step(100)
    assert box.velocity[0] == pytest.approx(1.0, abs=1e-3)


def test_guides_lead(floating: ds.World) -> None:
    body = floating.add_body(ds.sphere(0.1), motion="kinematic")
    floating.set_guide(body, along=([1, 0, 0], {"ramp": {"from": 0.0, "to": 2.0, "start": 0.0, "end": 1.0}}))
    floating.step(50)
    assert body.position == pytest.approx([1, 0, 0])
    with pytest.raises(ds.InputError, match="function of time"):
        floating.set_guide(body, along=([1, 0, 0], {"zigzag": {}}))


def test_colliders_come_and_go(ground: ds.World) -> None:
    ball = ground.add_body(ds.sphere(0.5), mass=1.0, position=[0, 0, 0.8], friction=0.5)
    foot = ball.add_collider(ds.Collider(ds.sphere(0.2), position=[0, 0, -0.6], friction=0.5))
    ground.step(20)
    assert ball.colliders[1] == foot and foot.alive and foot.body == ball
    assert ball.position[2] == pytest.approx(0.8, abs=1e-3)
    ball.remove_collider(1)
    ground.step(60)
    assert ball.position[2] == pytest.approx(0.5, abs=1e-3) and len(ball.colliders) == 1
    assert not foot.alive and "removed" in repr(foot)
    with pytest.raises(ds.InputError, match=r"collider 2 \(generation 0\) does not exist"):
        foot.friction
    with pytest.raises(ds.InputError, match="there is no collider 5, the body has 1"):
        ball.remove_collider(5)
    with pytest.raises(ds.InputError, match="there is no collider <collider 2, removed>"):
        ball.remove_collider(foot)
    again = ball.add_collider(ds.Collider(ds.sphere(0.2)))
    assert again.index == foot.index and again != foot
    again.remove()
    assert not again.alive and len(ball.colliders) == 1


def test_colliders_are_changed_on_a_living_body(ground: ds.World) -> None:
    brick = ground.add_body(ds.box([0.1] * 3), mass=1.0, centre=[0.02, 0, 0], position=[0, 0, 0.1], friction=0.5)
    (own,) = brick.colliders
    assert own.shape.kind == "box" and own.friction == 0.5 and own.material is None and not own.sensor
    assert own.position == pytest.approx([0, 0, 0]) and own.rotation == pytest.approx([1, 0, 0, 0])
    assert "a box of body 1" in repr(own)
    inertia = brick.inertia
    own.shape = ds.box([0.1, 0.1, 0.2])
    ground.step(100)
    assert brick.position[2] == pytest.approx(0.2, abs=1e-3)
    assert brick.inertia == pytest.approx(inertia)
    own.position = [0, 0, 0.1]
    assert own.position == pytest.approx([0, 0, 0.1])
    ground.step(100)
    assert brick.position[2] == pytest.approx(0.1, abs=1e-3)
    own.rotation = [np.sqrt(0.5), 0, np.sqrt(0.5), 0]
    ground.step(100)
    assert brick.position[2] == pytest.approx(0.0, abs=1e-3)
    own.friction = 0.25
    assert own.friction == 0.25 and brick.friction == 0.25
    own.material = "felt"
    assert own.material == "felt" and ground.materials == ["felt"]
    own.material = None
    assert own.material is None
    own.user_data = {"grip": 1}
    assert brick.colliders[0].user_data == {"grip": 1}
    own.set_filter(2, 4)
    assert (own.layers, own.mask) == (2, 4) and ground.step().contacts == 0
    own.set_filter(1, 0xFFFFFFFF)
    own.sensor = True
    assert own.sensor and ground.step().contacts == 0
    own.sensor = False
    assert not own.sensor


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("position", [np.nan, 0, 0], "its place must be finite"),
        ("position", [1e300, 0, 0], "its place must be within"),
        ("rotation", [1, 1, 0, 0], "its rotation must be a unit quaternion"),
        ("friction", -1.0, "friction must be finite and not negative"),
        ("shape", ds.half_space(), "cannot belong to a dynamic body"),
    ],
)
def test_bad_changes_of_colliders_are_refused(ground: ds.World, name: str, value: object, text: str) -> None:
    brick = ground.add_body(ds.box([0.1] * 3), mass=1.0, position=[0, 0, 0.1])
    (own,) = brick.colliders
    with pytest.raises(ds.InputError, match=text):
        setattr(own, name, value)
    assert own.position == pytest.approx([0, 0, 0]) and own.shape.kind == "box" and own.friction == 0
    if name in ("position", "rotation"):
        with pytest.raises(ds.InputError, match=text):
            brick.add_collider(ds.Collider(ds.sphere(0.1), **{name: value}))  # type: ignore[arg-type]
        with pytest.raises(ds.InputError, match=text):
            ground.add_body(colliders=[ds.Collider(ds.sphere(0.1), **{name: value})], mass=1.0, inertia=[1, 1, 1])  # type: ignore[arg-type]


def test_points_in_frames(floating: ds.World) -> None:
    body = floating.add_body(ds.sphere(0.5), mass=1.0, position=[1, 0, 0], rotation=[np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    assert body.to_world([1, 0, 0]) == pytest.approx([1, 1, 0])
    assert body.to_local(body.to_world([0.2, 0.3, 0.4])) == pytest.approx([0.2, 0.3, 0.4])
