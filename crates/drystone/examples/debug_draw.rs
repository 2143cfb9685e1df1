//! Debug drawing: what the world knows, as lines, into an SVG picture that any browser shows.
//!
//! Run with `cargo run --release --example debug_draw [FILE.svg]`.

use std::fmt::Write;

use drystone::debug::{Colour, DebugDraw, DebugOptions};
use drystone::{BodyDef, JointDef, Settings, Shape, World};
use glam::DVec3;

/// Seen from the front: x to the right, z up, 100 pixels a metre.
#[derive(Default)]
struct Svg {
    body: String,
    lines: usize,
}

impl DebugDraw for Svg {
    fn line(&mut self, from: DVec3, to: DVec3, Colour([r, g, b, _]): Colour) {
        let [x1, x2] = [from, to].map(|p| 250.0 + 100.0 * p.x + 20.0 * p.y);
        let [y1, y2] = [from, to].map(|p| 300.0 - 100.0 * p.z - 20.0 * p.y);
        let [r, g, b] = [r, g, b].map(|c| (255.0 * c) as u8);
        let line = format!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="rgb({r},{g},{b})"/>"#
        );
        let _ = writeln!(self.body, "{line}");
        self.lines += 1;
    }
}

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new(Settings::default())?;
    world.add_body(
        BodyDef::fixed(Shape::cuboid(DVec3::new(2.0, 0.5, 0.05))).at(DVec3::Z * -0.05).friction(0.5),
    )?;
    for k in 0..4 {
        let at = DVec3::new(0.02 * f64::from(k), 0.0, 0.2 + 0.4 * f64::from(k));
        world.add_body(BodyDef::dynamic(Shape::cuboid(DVec3::splat(0.2)), 2.0).at(at).friction(0.5))?;
    }
    let ball = BodyDef::dynamic(Shape::sphere(0.2), 5.0).at(DVec3::new(1.3, 0.0, 1.4));
    let ball = world.add_body(ball)?;
    world.add_joint(JointDef::revolute(None, ball, DVec3::new(1.3, 0.0, 2.4), DVec3::Y))?;
    for _ in 0..50 {
        world.step()?;
    }
    let mut svg = Svg::default();
    let what = DebugOptions { forces: Some(5e-3), ..DebugOptions::default() };
    world.debug_draw(&mut svg, &what);
    println!("{} lines: {} contacts, their forces, a joint, six bodies", svg.lines, world.contacts().len());
    assert!(svg.lines > 6 * 12);
    if let Some(path) = std::env::args().nth(1).filter(|p| p.ends_with(".svg")) {
        let head = r#"<svg xmlns="http://www.w3.org/2000/svg" width="500" height="350">"#;
        std::fs::write(&path, format!("{head}\n{}</svg>\n", svg.body))?;
        println!("{path}");
    }
    Ok(())
}
