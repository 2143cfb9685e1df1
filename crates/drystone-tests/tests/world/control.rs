//! Changes to living bodies between steps.

use drystone::{
    BodyDef, Collider, Filter, JointDef, MassProperties, Motion, Pose, Settings, Shape, Sleep, World,
    WorldError,
};
use glam::{DMat3, DQuat, DVec3};

fn floating() -> World {
    World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap()
}

fn floor(w: &mut World, mu: f64) {
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(mu)).unwrap();
}

fn cube(mass: f64) -> BodyDef {
    BodyDef::dynamic(Shape::cuboid(DVec3::splat(0.5)), mass)
}

/// A body whose centre of mass is 0.3 m beside the origin of its frame.
fn lopsided() -> BodyDef {
    let mass = MassProperties { centre: DVec3::X * 0.3, ..MassProperties::principal(2.0, DVec3::ONE) };
    cube(1.0).mass(mass)
}

#[test]
fn a_pose_is_that_of_the_frame_and_velocities_stay() {
    let mut w = floating();
    let id = w.add_body(lopsided().moving(DVec3::Y, DVec3::Z * 2.0)).unwrap();
    let q = DQuat::from_rotation_x(1.0);
    w.set_pose(id, DVec3::new(1.0, 2.0, 3.0), q).unwrap();
    let pose = w.pose(id).unwrap();
    assert!((pose.position - DVec3::new(1.0, 2.0, 3.0)).length() < 1e-15);
    assert!(pose.rotation.angle_between(q) < 1e-7);
    assert!((w.state().position[0] - DVec3::new(1.3, 2.0, 3.0)).length() < 1e-15, "the centre is elsewhere");
    assert_eq!(w.velocity(id).unwrap(), DVec3::Y);
    assert!((w.angular_velocity(id).unwrap() - DVec3::Z * 2.0).length() < 1e-15);
    let refused = w.set_pose(id, DVec3::NAN, q).unwrap_err().to_string();
    assert!(refused.starts_with("position must be finite"), "{refused}");
    let refused = w.set_pose(id, DVec3::ZERO, q * 2.0).unwrap_err().to_string();
    assert!(refused.contains("unit quaternion"), "{refused}");
}

#[test]
fn what_is_set_down_elsewhere_has_new_contacts() {
    let mut w = World::new(Settings::default()).unwrap();
    floor(&mut w, 0.5);
    let id = w.add_body(cube(1.0).at(DVec3::Z * 0.5).friction(0.5)).unwrap();
    (0..10).for_each(|_| drop(w.step().unwrap()));
    assert!(!w.contacts().is_empty());
    w.set_pose(id, DVec3::Z * 5.0, DQuat::IDENTITY).unwrap();
    assert!(w.contacts().is_empty() && w.state().multipliers.is_empty());
    w.step().unwrap();
    let fallen = w.velocity(id).unwrap().z;
    assert!(w.contacts().is_empty() && (fallen + 0.0981).abs() < 1e-4, "{fallen}");
    w.set_poses(&[(id, Pose::at(DVec3::new(3.0, 0.0, 0.5)))]).unwrap();
    w.set_velocity(id, DVec3::ZERO, DVec3::ZERO).unwrap();
    (0..10).for_each(|_| drop(w.step().unwrap()));
    assert!((w.position(id).unwrap() - DVec3::new(3.0, 0.0, 0.5)).length() < 1e-6);
}

#[test]
fn many_poses_are_set_all_or_none() {
    let mut w = floating();
    let a = w.add_body(cube(1.0)).unwrap();
    let b = w.add_body(cube(1.0).at(DVec3::X * 3.0)).unwrap();
    w.remove_body(b).unwrap();
    let poses = [(a, Pose::at(DVec3::Y)), (b, Pose::at(DVec3::Z))];
    assert_eq!(w.set_poses(&poses), Err(WorldError::NoBody(b)));
    assert_eq!(w.position(a).unwrap(), DVec3::ZERO);
    w.set_poses(&poses[..1]).unwrap();
    assert_eq!(w.position(a).unwrap(), DVec3::Y);
}

#[test]
fn impulses_change_both_momenta() {
    let mut w = floating();
    let id = w.add_body(lopsided().turned(DQuat::from_rotation_z(0.7))).unwrap();
    let centre = w.state().position[0];
    let (j, p) = (DVec3::new(1.0, -2.0, 0.5), DVec3::new(0.2, 0.4, -0.6));
    w.apply_impulse(id, j, Some(p)).unwrap();
    assert!((w.velocity(id).unwrap() - j / 2.0).length() < 1e-15);
    // The inertia is that of a ball: ω = (r × J) / I.
    assert!((w.angular_velocity(id).unwrap() - (p - centre).cross(j)).length() < 1e-15);
    w.apply_angular_impulse(id, -(p - centre).cross(j)).unwrap();
    assert!(w.angular_velocity(id).unwrap().length() < 1e-15);
    assert!(w.apply_impulse(id, DVec3::INFINITY, None).unwrap_err().to_string().contains("finite"));
    let wall = w.add_body(BodyDef::fixed(Shape::HalfSpace).at(DVec3::Z * -9.0)).unwrap();
    let refused = w.apply_impulse(wall, j, Some(p)).unwrap_err().to_string();
    assert!(refused.contains("body 1 is static"), "{refused}");
    assert_eq!(w.velocity(wall).unwrap(), DVec3::ZERO);
}

#[test]
fn planar_bodies_take_what_their_plane_allows() {
    let mut w = floating();
    let id = w.add_body(cube(2.0).planar(DVec3::Y)).unwrap();
    w.apply_impulse(id, DVec3::new(2.0, 5.0, 0.0), Some(DVec3::new(0.0, 0.0, 1.0))).unwrap();
    assert_eq!(w.velocity(id).unwrap(), DVec3::X);
    let omega = w.angular_velocity(id).unwrap();
    assert!(omega.x == 0.0 && omega.z == 0.0 && omega.y > 0.0, "{omega}");
    w.set_pose(id, DVec3::Y * 4.0, DQuat::from_rotation_y(0.3)).unwrap();
    (0..50).for_each(|_| drop(w.step().unwrap()));
    assert!((w.position(id).unwrap().y - 4.0).abs() < 1e-12, "it stays in the plane it was put into");
}

#[test]
fn a_new_mass_moves_no_shape() {
    let mut w = floating();
    let id = w.add_body(cube(1.0).at(DVec3::Z).moving(DVec3::ZERO, DVec3::Z * 3.0)).unwrap();
    let collider = w.colliders_of(id).unwrap()[0];
    let inertia = DMat3::from_diagonal(DVec3::new(2.0, 2.0, 3.0));
    w.set_mass(id, MassProperties { mass: 4.0, centre: DVec3::X * 0.25, inertia }).unwrap();
    assert_eq!(w.position(id).unwrap(), DVec3::Z);
    assert!((w.collider_pose(collider).unwrap().position - DVec3::Z).length() < 1e-15);
    assert!((w.velocity(id).unwrap() - DVec3::Y * 0.75).length() < 1e-15, "of the new centre");
    assert_eq!(w.mass(id).unwrap().mass, 4.0);
    w.apply_impulse(id, DVec3::X, None).unwrap();
    assert!((w.velocity(id).unwrap() - DVec3::new(0.25, 0.75, 0.0)).length() < 1e-15);
    let heavy = MassProperties::principal(-1.0, DVec3::ONE);
    assert!(w.set_mass(id, heavy).unwrap_err().to_string().contains("body 0: mass must be positive"));
}

/// A joint's frames are placed from the centre of mass: they have to stay where they are as it moves.
#[test]
fn a_new_centre_of_mass_moves_no_joint() {
    let mut w = World::new(Settings::default()).unwrap();
    let id = w.add_body(cube(1.0).at(DVec3::X)).unwrap();
    let hinge = w.add_joint(JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y)).unwrap();
    w.set_mass(id, MassProperties { centre: DVec3::X * -0.4, ..w.mass(id).unwrap() }).unwrap();
    let [a, b] = w.joint_frames(hinge).unwrap();
    assert!((a.position - b.position).length() < 1e-15, "{a:?} {b:?}");
    w.step().unwrap();
    assert!(w.joint_error().position < 1e-9);
}

#[test]
fn friction_can_change_on_the_way() {
    let mut w = World::new(Settings::default()).unwrap();
    floor(&mut w, 1.0);
    let id = w.add_body(cube(1.0).at(DVec3::Z * 0.5).moving(DVec3::X, DVec3::ZERO)).unwrap();
    (0..20).for_each(|_| drop(w.step().unwrap()));
    assert!((w.velocity(id).unwrap().x - 1.0).abs() < 1e-6, "ice");
    w.set_friction(id, 0.25).unwrap();
    (0..10).for_each(|_| drop(w.step().unwrap()));
    // √(1 · 0.25) = 0.5
    let slower = 1.0 - 0.5 * 9.81 * 0.1;
    assert!((w.velocity(id).unwrap().x - slower).abs() < 0.02, "{}", w.velocity(id).unwrap());
    assert!(w.set_friction(id, f64::NAN).unwrap_err().to_string().contains("mu must be finite"));
}

#[test]
fn bodies_can_be_fixed_and_freed() {
    let mut w = World::new(Settings::default()).unwrap();
    let id = w.add_body(lopsided().at(DVec3::Z * 9.0)).unwrap();
    let place = w.position(id).unwrap();
    w.set_motion(id, Motion::Static).unwrap();
    (0..10).for_each(|_| drop(w.step().unwrap()));
    assert_eq!((w.position(id).unwrap(), w.velocity(id).unwrap()), (place, DVec3::ZERO));
    assert!((w.collider_pose(w.colliders_of(id).unwrap()[0]).unwrap().position - place).length() < 1e-15);
    w.set_motion(id, Motion::Dynamic).unwrap();
    assert!((w.position(id).unwrap() - place).length() < 1e-15);
    w.step().unwrap();
    assert!((w.velocity(id).unwrap().z + 0.0981).abs() < 1e-12);
    w.set_motion(id, Motion::Kinematic).unwrap();
    w.set_velocity(id, DVec3::X, DVec3::ZERO).unwrap();
    (0..100).for_each(|_| drop(w.step().unwrap()));
    assert!((w.position(id).unwrap().x - 1.0).abs() < 1e-9, "it goes on by its own velocity");
}

#[test]
fn what_cannot_move_freely_is_refused() {
    let mut w = World::new(Settings::default()).unwrap();
    let ground = w.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
    let told = w.set_motion(ground, Motion::Dynamic).unwrap_err().to_string();
    assert!(told.contains("half-space cannot belong to a dynamic body"), "{told}");
    let id = w.add_body(cube(1.0).at(DVec3::Z * 3.0)).unwrap();
    let hinge = w.add_joint(JointDef::ball(None, id, DVec3::Z * 4.0)).unwrap();
    let told = w.set_motion(id, Motion::Static).unwrap_err().to_string();
    assert!(told.contains("only dynamic body of ball joint 0"), "{told}");
    w.remove_joint(hinge).unwrap();
    w.set_motion(id, Motion::Static).unwrap();
}

#[test]
fn colliders_come_and_go_on_a_living_body() {
    let mut w = World::new(Settings::default()).unwrap();
    floor(&mut w, 0.5);
    let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 1.0).at(DVec3::Z * 0.5).friction(0.5);
    let id = w.add_body(ball).unwrap();
    let first = w.colliders_of(id).unwrap()[0];
    let foot = Collider::new(Shape::Sphere { radius: 0.2 }, 0.5).at(Pose::at(DVec3::NEG_Z * 0.6));
    let foot = w.add_collider(id, foot).unwrap();
    assert_eq!(w.colliders_of(id).unwrap(), [first, foot]);
    assert_eq!(w.collider_body(foot).unwrap(), id);
    w.set_pose(id, DVec3::Z * 0.8, DQuat::IDENTITY).unwrap();
    (0..20).for_each(|_| drop(w.step().unwrap()));
    assert!((w.position(id).unwrap().z - 0.8).abs() < 1e-4, "it stands on the new one");
    w.remove_collider(foot).unwrap();
    assert_eq!(w.collider(foot).err(), Some(WorldError::NoCollider(foot)));
    (0..100).for_each(|_| drop(w.step().unwrap()));
    assert!((w.position(id).unwrap().z - 0.5).abs() < 1e-4, "it has come down on the old one");
    let again = w.add_collider(id, Collider::new(Shape::Sphere { radius: 0.1 }, 0.0)).unwrap();
    assert_eq!((again.slot, again.generation), (foot.slot, foot.generation + 1), "the slot has a new name");
    w.set_collider_shape(first, Shape::Sphere { radius: 0.3 }).unwrap();
    (0..100).for_each(|_| drop(w.step().unwrap()));
    assert!((w.position(id).unwrap().z - 0.3).abs() < 1e-4, "it is smaller");
    let told = w.set_collider_shape(first, Shape::Sphere { radius: -1.0 }).unwrap_err().to_string();
    assert!(told.contains("radius must be positive"), "{told}");
    w.set_collider_filter(first, Filter { layers: 2, mask: 2 }).unwrap();
    (0..30).for_each(|_| drop(w.step().unwrap()));
    assert!(w.position(id).unwrap().z < 0.25, "the floor is in another layer");
}

#[test]
fn colliders_are_put_elsewhere_on_a_living_body() {
    let mut w = World::new(Settings::default()).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5)).unwrap();
    let ball = BodyDef::dynamic(Shape::sphere(0.1), 1.0).at(DVec3::Z * 0.1).friction(0.5);
    let mut def = ball.named("ball");
    def.mass.centre = DVec3::X * 0.02;
    let id = w.add_body(def).unwrap();
    let own = w.colliders_of(id).unwrap()[0];
    assert_eq!(w.collider_place(own).unwrap(), Pose::IDENTITY);
    let place = Pose::new(DVec3::new(0.02, 0.0, -0.3), DQuat::from_rotation_x(0.5));
    w.set_collider_place(own, place).unwrap();
    let told = w.collider_place(own).unwrap();
    assert!((told.position - place.position).length() < 1e-15 && told.rotation == place.rotation, "{told:?}");
    let before = w.mass(id).unwrap();
    for _ in 0..100 {
        w.step().unwrap();
    }
    // It lies below the centre: pushed up to stand on it.
    assert!((w.collider_pose(own).unwrap().position.z - 0.1).abs() < 1e-3);
    assert_eq!(w.mass(id).unwrap(), before);
    for bad in [
        Pose::at(DVec3::NAN),
        Pose::at(DVec3::X * 1e300),
        Pose::new(DVec3::ZERO, DQuat::from_xyzw(1.0, 0.0, 0.0, 1.0)),
        Pose::new(DVec3::ZERO, DQuat::from_xyzw(f64::NAN, 0.0, 0.0, 1.0)),
    ] {
        let text = w.set_collider_place(own, bad).unwrap_err().to_string();
        assert!(text.contains("collider 1: its "), "{text}");
        let new = Collider { local: bad, ..Collider::new(Shape::sphere(0.1), 0.0) };
        assert!(w.add_collider(id, new.clone()).is_err());
        let mut def = BodyDef::dynamic(Shape::sphere(0.1), 1.0);
        def.colliders.push(new);
        assert!(w.add_body(def).unwrap_err().to_string().contains("collider 1: its "));
    }
    w.remove_collider(own).unwrap();
    assert_eq!(w.set_collider_place(own, Pose::IDENTITY), Err(WorldError::NoCollider(own)));
}

#[test]
fn ids_of_removed_bodies_colliders_are_dead() {
    let mut w = floating();
    let a = w.add_body(cube(1.0)).unwrap();
    let old = w.colliders_of(a).unwrap()[0];
    w.remove_body(a).unwrap();
    let b = w.add_body(cube(1.0)).unwrap();
    let new = w.colliders_of(b).unwrap()[0];
    assert_eq!((old.slot, old.generation + 1), (new.slot, new.generation));
    assert!(w.is_sensor(old).is_err() && !w.is_sensor(new).unwrap());
    assert!(w.set_collider_friction(old, 0.1).unwrap_err().to_string().contains("collider 0 (generation 0)"));
}

#[test]
fn changes_wake_who_sleeps() {
    let settings = Settings { sleep: Some(Sleep::default()), ..Settings::default() };
    let mut w = World::new(settings).unwrap();
    floor(&mut w, 0.5);
    let below = w.add_body(cube(1.0).at(DVec3::Z * 0.5).friction(0.5)).unwrap();
    let above = w.add_body(cube(1.0).at(DVec3::Z * 1.5).friction(0.5)).unwrap();
    (0..100).for_each(|_| drop(w.step().unwrap()));
    assert_eq!(w.asleep(), 2);
    w.set_pose(below, DVec3::X * 5.0 + DVec3::Z * 0.5, DQuat::IDENTITY).unwrap();
    assert_eq!(w.asleep(), 0);
    (0..10).for_each(|_| drop(w.step().unwrap()));
    assert!(w.position(above).unwrap().z < 1.48, "nothing carries it any more");
}

/// The same scene, one of them with changes that are taken back: nothing of them may be left.
#[test]
fn changes_that_are_taken_back_leave_no_bit() {
    let run = |meddle: bool| {
        let mut w = World::new(Settings::default()).unwrap();
        floor(&mut w, 0.4);
        let ids: Vec<_> = (0..4)
            .map(|k| w.add_body(cube(1.0).at(DVec3::Z * (0.5 + 1.1 * f64::from(k))).friction(0.4)).unwrap())
            .collect();
        for step in 0..60 {
            if meddle && step == 0 {
                let mass = w.mass(ids[1]).unwrap();
                w.set_mass(ids[1], MassProperties { mass: 9.0, ..mass }).unwrap();
                w.set_mass(ids[1], mass).unwrap();
                w.set_friction(ids[2], 0.9).unwrap();
                w.set_friction(ids[2], 0.4).unwrap();
                w.set_motion(ids[3], Motion::Static).unwrap();
                w.set_motion(ids[3], Motion::Dynamic).unwrap();
                let extra = w.add_collider(ids[0], Collider::sensor(Shape::Sphere { radius: 3.0 })).unwrap();
                w.remove_collider(extra).unwrap();
            }
            w.step().unwrap();
        }
        w.state().hash()
    };
    assert_eq!(run(true), run(false));
}
