//! Every check notices what it is there for.

use drystone::{BodyDef, BodyId, Settings, Shape, World};
use glam::DVec3;

use super::check::{self, Check, Outcome};
use super::energy::Watch;
use super::place::{add, floor};
use super::{Region, Twin};

/// A ball of radius 0.5 m on a floor, its centre this high.
fn ball(height: f64) -> (World, BodyId) {
    let mut world = World::new(Settings::default()).unwrap();
    floor(&mut world, 0.5).unwrap();
    let ball = BodyDef::dynamic(Shape::sphere(0.5), 2.0).friction(0.5).at(DVec3::Z * height);
    let id = add(&mut world, ball).unwrap();
    (world, id)
}

#[test]
fn energy_out_of_nowhere_is_seen() {
    let (mut world, id) = ball(3.0);
    let mut watch = Watch::new(&world, &[id]);
    for _ in 0..100 {
        world.step().unwrap();
        assert_eq!(watch.observe(&world), None);
    }
    assert!(watch.worst() < 0.0);
    // 2 kg fell by 2.5 m, so 49 J were lost: at this speed there are 2 J more than at the start.
    let v = (2.0f64 * (2.5 * 9.81 + 1.0)).sqrt();
    world.set_velocity(id, DVec3::X * v, DVec3::ZERO).unwrap();
    assert!(watch.observe(&world).is_some() && watch.worst() > 1.0);
    // Other bodies' energy does not count.
    let (mut world, _) = ball(3.0);
    let other = BodyDef::dynamic(Shape::sphere(0.5), 1.0).at(DVec3::X * 9.0);
    let other = add(&mut world, other).unwrap();
    let mut watch = Watch::new(&world, &[other]);
    world.set_velocity(BodyId { slot: 1, generation: 0 }, DVec3::X * 1e3, DVec3::ZERO).unwrap();
    assert_eq!(watch.observe(&world), None);
}

#[test]
fn springs_hold_energy() {
    let mut world = World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
    let mass = BodyDef::dynamic(Shape::sphere(0.1), 1.0).at(DVec3::X * 2.0);
    let id = add(&mut world, mass).unwrap();
    let spring =
        drystone::JointDef::spring_between((None, DVec3::ZERO), (Some(id), DVec3::ZERO), 1.0, 50.0, 0.0);
    world.add_joint(spring).unwrap();
    let mut watch = Watch::new(&world, &[id]);
    let mut fastest = 0.0f64;
    for _ in 0..100 {
        world.step().unwrap();
        fastest = fastest.max(world.energy().kinetic);
        assert_eq!(watch.observe(&world), None);
    }
    assert!(fastest > 10.0, "25 J go into motion: {fastest}");
}

#[test]
fn overlaps_are_measured_by_the_inner_radius() {
    for (height, deep) in [(0.5, false), (0.49, false), (0.47, true)] {
        let (mut world, _) = ball(height);
        let mut outcome = Outcome::new(1);
        check::check_overlaps(&mut world, true, 1, &mut outcome);
        assert_eq!(outcome.failed(Check::Overlap), deep, "{height}: {outcome:?}");
        assert!((outcome.worst_overlap - (0.5 - height) / 0.5).abs() < 1e-9);
        let mut outcome = Outcome::new(1);
        check::check_overlaps(&mut world, false, 1, &mut outcome);
        assert!(outcome.failures.is_empty());
    }
}

#[test]
fn a_report_that_embellishes_is_caught() {
    let (mut world, _) = ball(0.5);
    world.keep_solutions(true);
    let mut report = world.step().unwrap();
    let mut outcome = Outcome::new(1);
    check::check_certificate(&world, &report, &mut outcome);
    assert_eq!((outcome.certified, outcome.failures.len()), (1, 0), "{outcome:?}");
    report.certificate.residual_max += 1e-6;
    check::check_certificate(&world, &report, &mut outcome);
    assert!(outcome.failed(Check::Certificate));
}

#[test]
fn who_leaves_is_named() {
    let (mut world, id) = ball(0.6);
    let region = Region::above_floor();
    assert_eq!(check::first_outside(&world, &[id], |p| region.contains(p)), None);
    let mut state = world.state().clone();
    state.position[id.slot as usize].z = -0.1;
    world.restore(state).unwrap();
    let found = check::first_outside(&world, &[id], |p| region.contains(p));
    assert_eq!(found.map(|(body, _)| body), Some(id));
}

#[test]
fn twins_that_part_are_noticed() {
    let (mut world, id) = ball(3.0);
    let (other, there) = ball(3.0);
    let mut twin = Twin { world: other, bodies: vec![(id, there)], tolerance: 0.0 };
    world.step().unwrap();
    assert_eq!(check::keeps_up(&world, &mut twin), Ok(()));
    let nudged = world.velocity(id).unwrap() + DVec3::X * 1e-12;
    world.set_velocity(id, nudged, DVec3::ZERO).unwrap();
    world.step().unwrap();
    assert!(check::keeps_up(&world, &mut twin).is_err());
    twin.tolerance = 1e-9;
    world.step().unwrap();
    assert_eq!(check::keeps_up(&world, &mut twin), Ok(()));
}
