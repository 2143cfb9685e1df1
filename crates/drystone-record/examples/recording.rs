//! A recording: what a run was, moment by moment, in files that ParaView and h5py open; and back.
//!
//! Run with `cargo run --release -p drystone-record --example recording [FOLDER]`.

use std::time::Instant;

use drystone::{BodyDef, Settings, Shape, World};
use drystone_record::recording::{Every, Options, Recording, What, Writer};
use glam::DVec3;

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given =
        std::env::args().nth(1).filter(|a| !a.starts_with('-') && a.contains(std::path::MAIN_SEPARATOR));
    let folder = given.map_or_else(
        || std::env::temp_dir().join(format!("drystone-recording-{}", std::process::id())),
        Into::into,
    );
    let mut world = World::new(Settings::default())?;
    world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.5).named("floor"))?;
    for k in 0..10 {
        let at = DVec3::new(0.01 * f64::from(k % 3), 0.0, 0.2 + 0.25 * f64::from(k));
        world.add_body(
            BodyDef::dynamic(Shape::sphere(0.1), 1.0).at(at).friction(0.5).named(format!("ball {k}")),
        )?;
    }

    let options = Options {
        folder: folder.clone(),
        every: Every::Seconds(0.05),
        events: false,
        what: What { contacts: true, joints: true },
        double: false,
        compress: true,
        scene: "ten balls".into(),
        h: world.settings().h,
    };
    let mut writer = Writer::create(options)?;
    writer.begin(&world)?;
    for _ in 0..200 {
        let begun = Instant::now();
        let report = world.step()?;
        writer.step(&world, &report, begun.elapsed().as_secs_f64())?;
    }
    writer.finish()?;

    let recording = Recording::open(&folder)?;
    println!("{}: {} frames of {} steps", folder.display(), recording.len(), recording.steps().len());
    for k in (0..recording.len()).step_by(10) {
        let frame = recording.frame(k)?;
        let highest = frame.bodies.position.iter().map(|x| x[2]).fold(0.0, f64::max);
        println!(
            "{:5.2} s: {:2} contacts, highest ball {highest:.3} m",
            frame.time,
            frame.contacts.gap.len()
        );
    }
    let energy = recording.column("kinetic_j").ok_or("no such column")?;
    println!("kinetic energy at the end: {:.2e} J", energy.last().copied().unwrap_or(f64::NAN));
    assert!(recording.len() == 41 && recording.steps().len() == 200 && recording.losses().is_empty());
    if folder.starts_with(std::env::temp_dir()) {
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(())
}
